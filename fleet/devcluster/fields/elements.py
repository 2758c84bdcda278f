"""Path elements: how FieldsV1 names a field, an item of a list, and a value of a set.

`f:name` a field or a key of a map, `k:{"name":"a"}` the item with these key fields, `v:"a"` a value of a set,
`i:3` a position. Source: fieldpath/serialize-pe.go of structured-merge-diff.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fleet.devcluster.kinds.structure import Structure

_PREFIXES: Final = {"f": 1, "k": 2, "v": 3, "i": 4}


class ElementError(ValueError):
    """An item of a list that has no place in it, or an element that cannot be read. str: the real server's words."""


def item_element(item: Any, node: Structure) -> str:
    """The element of an item of a list of type set or map. Raises ElementError."""
    if node.list_type == "map":
        return _keyed(item, node)
    if isinstance(item, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return "v:" + msgspec.json.encode(item).decode()


def _keyed(item: Any, node: Structure) -> str:
    if item is None:
        raise ElementError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ElementError("associative list with keys may not have non-map elements")
    found = {}
    for name in sorted(node.map_keys):
        if name in item:
            found[name] = item[name]
            continue
        field = node.items.properties.get(name)
        default = None if field is None else field.schema.get("default")
        if default is not None:
            found[name] = default
    if not found:
        names = " ".join(f'"{name}"' for name in node.map_keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}] (and doesn't have default "
            "values for any key fields)"
        )
    return "k:" + msgspec.json.encode(found).decode()


def order_of(element: str) -> tuple[int, Any]:
    """Sort key: fields, keyed items, values, positions; each by its content."""
    if element.startswith("f:") or element == ".":
        return (1, element)
    kind, _, content = element.partition(":")
    rank = _PREFIXES.get(kind, 5)
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return (rank, ((9, content),))
    if isinstance(value, Mapping):
        return (rank, tuple(part for name in sorted(value) for part in ((3, name), _rank(value[name]))))
    return (rank, (_rank(value),))


def _rank(value: Any) -> tuple[int, Any]:
    """Numbers before texts before truth values, as structured-merge-diff orders values."""
    if isinstance(value, bool):
        return (4, value)
    if isinstance(value, int | float):
        return (2, value)
    return (3, value) if isinstance(value, str) else (9, str(value))


def show(path: tuple[str, ...]) -> str:
    """A path for people: .spec.containers[name="a"].image."""
    return "".join(_shown(element) for element in path)


def _shown(element: str) -> str:
    kind, _, content = element.partition(":")
    if kind == "f":
        return "." + content
    if kind == "i":
        return f"[{content}]"
    value = msgspec.json.decode(content)
    if kind == "v":
        return f"[={_text(value)}]"
    return "[" + ",".join(f"{name}={_text(value[name])}" for name in sorted(value)) + "]"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def check_element(element: str) -> bool:
    """Whether the element is understood; unknown kinds are dropped by the server. Raises ElementError."""
    if len(element) < 2 or element[1] != ":":
        raise ElementError(f"missing colon: {element}" if len(element) > 1 else f"not long enough: {element}")
    kind, content = element[0], element[2:]
    if kind not in _PREFIXES:
        return False
    if kind == "f":
        return True
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise ElementError(f"parsing value as json: {error}") from None
    if kind == "k" and not isinstance(value, dict):
        raise ElementError(f"parsing key as json: {content}")
    return True
