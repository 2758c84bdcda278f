"""RFC 6902 as the real server's library reads it (evanphx/json-patch v4): laxer in places, and without words.

Every refusal is one: the server answers 422 and does not say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

OPERATIONS_LIMIT = 10_000


class PatchRefused(ValueError):
    """The patch does not apply to this object. str: why, for people; clients are not told."""


def apply_operations(document: Any, operations: Sequence[dict[str, Any]]) -> Any:
    """The document after all operations. It is changed in place. Raises PatchRefused."""
    for operation in operations:
        document = _operate(document, operation)
    return document


def _operate(document: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchRefused("missing path")
    value = operation.get("value")
    if kind == "replace" and path == "":
        return value
    if kind == "test" and path == "":
        _test(document, value)
        return document
    if kind == "add":
        _add(*_place(document, path), value)
    elif kind == "remove":
        _remove(*_place(document, path))
    elif kind == "replace":
        container, key = _place(document, path)
        if isinstance(container, list):
            container[_index(container, key)] = value
        else:
            container[key] = value
    elif kind == "test":
        container, key = _place(document, path)
        _test(_get(container, key), value)
    elif kind in ("move", "copy"):
        container, key = _place(document, operation.get("from"))
        found = _get(container, key)
        if kind == "move":
            _remove(container, key)
        else:
            found = msgspec.json.decode(msgspec.json.encode(found))
        _add(*_place(document, path), found)
    else:
        raise PatchRefused(f"unexpected kind: {kind}")
    return document


def _place(document: Any, path: Any) -> tuple[Any, str]:
    """The container that a path leads to, and the key in it. What stands before the first slash is ignored."""
    tokens = path.split("/") if isinstance(path, str) else []
    if len(tokens) < 2:
        raise PatchRefused(f"doc is missing path: {path}")
    for token in tokens[1:-1]:
        document = _get(document, _decoded(token))
        if not isinstance(document, dict | list):
            raise PatchRefused(f"doc is missing path: {path}")
    return document, _decoded(tokens[-1])


def _decoded(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _get(container: Any, key: str) -> Any:
    """An absent field of an object is null."""
    return container[_index(container, key)] if isinstance(container, list) else container.get(key)


def _index(container: list[Any], key: str) -> int:
    try:
        index = int(key)
    except ValueError:
        raise PatchRefused(f"value was not a proper array index: {key}") from None
    size = len(container)
    if not -size <= index < size:
        raise PatchRefused(f"unable to access invalid index: {key}")
    return index % size


def _add(container: Any, key: str, value: Any) -> None:
    if not isinstance(container, list):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        size = len(container) + 1
        container.insert(_index([None] * size, key), value)


def _remove(container: Any, key: str) -> None:
    if isinstance(container, list):
        del container[_index(container, key)]
    elif key in container:
        del container[key]
    else:
        raise PatchRefused(f"unable to remove nonexistent key: {key}")


def _test(found: Any, wanted: Any) -> None:
    if found is not wanted and msgspec.json.encode(found, order="sorted") != msgspec.json.encode(
        wanted, order="sorted"
    ):
        raise PatchRefused("testing value failed")
