"""Patches: RFC 7386 (merge) and RFC 6902 (JSON patch)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.resources import ResourceType
from shards.objects import Object

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


_GO_MAP = "Go value of type map[string]interface {}"


class PatchError(ValueError):
    """The patch is malformed or does not apply to this object."""


class PatchTestFailed(PatchError):
    """A `test` operation did not hold, or a path does not exist."""


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. The target is not changed; the result may share parts with both."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def _pointer(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise PatchError(f"invalid JSON pointer: {path!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _index(container: list[Any], token: str, *, end: bool) -> int:
    if token == "-" and end:
        return len(container)
    if not token.isdigit() or int(token) > len(container) - (0 if end else 1):
        raise PatchTestFailed(f"Unable to access invalid index: {token}: invalid index referenced")
    return int(token)


def _get(document: Any, path: Sequence[str]) -> Any:
    for token in path:
        if isinstance(document, list):
            document = document[_index(document, token, end=False)]
        elif isinstance(document, dict) and token in document:
            document = document[token]
        else:
            raise PatchTestFailed(f"key {token!r} does not exist: missing value")
    return document


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent, token = _get(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        parent.insert(_index(parent, token, end=True), value)
    elif isinstance(parent, dict):
        parent[token] = value
    else:
        raise PatchTestFailed(f"add operation does not apply: doc is missing path: {'/'.join(('', *path))}")
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise PatchError("cannot remove the whole document")
    parent, token = _get(document, path[:-1]), path[-1]
    _get(parent, [token])
    if isinstance(parent, list):
        del parent[_index(parent, token, end=False)]
    else:
        del parent[token]
    return document


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    """An absent member of an object is added: the server's library is laxer than the RFC."""
    if not path:
        return value
    parent, token = _get(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        parent[_index(parent, token, end=False)] = value
    elif isinstance(parent, dict):
        parent[token] = value
    else:
        raise PatchTestFailed(f"replace operation does not apply: doc is missing path: {'/'.join(('', *path))}")
    return document


def apply_json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902 on a copy of the target. Raises PatchError, PatchTestFailed."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise PatchError("a JSON patch is an array of operations")
    document = copy.deepcopy(target)
    for operation in operations:
        document = _operate(document, operation)
    return document


def _operate(document: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation.get("op"), _pointer(operation.get("path"))
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"operation {kind} without a value")
    if kind == "add":
        return _add(document, path, copy.deepcopy(operation["value"]))
    if kind == "remove":
        return _remove(document, path)
    if kind == "replace":
        return _replace(document, path, copy.deepcopy(operation["value"]))
    if kind == "test":
        if _get(document, path) != operation["value"]:
            raise PatchTestFailed(f"testing value {operation.get('path')} failed: test failed")
        return document
    if kind in ("move", "copy"):
        source = _pointer(operation.get("from"))
        value = copy.deepcopy(_get(document, source))
        return _add(_remove(document, source) if kind == "move" else document, path, value)
    raise PatchError(f"Unexpected kind: {kind}")


def change_of(kind: ResourceType, content_type: str, body: bytes | None) -> Callable[[Object], Any]:
    """The function that a PATCH request applies to the object. Raises StatusError 400, 415."""
    if content_type not in (MERGE_PATCH, JSON_PATCH):
        raise statuses.unsupported_patch(content_type, (JSON_PATCH, MERGE_PATCH))
    try:
        patch = msgspec.json.decode(body or b"")
    except msgspec.DecodeError:
        raise statuses.bad_request("invalid JSON patch") from None
    if content_type == MERGE_PATCH:
        if not isinstance(patch, dict):
            raise statuses.bad_request(f"error decoding patch: json: cannot unmarshal {_go_type(patch)} into {_GO_MAP}")
        return lambda old: merge(old, patch)

    def change(old: Object) -> Any:
        try:
            return apply_json_patch(old, patch)
        except PatchTestFailed as error:
            raise statuses.refused_patch(str(error)) from None
        except PatchError as error:
            raise statuses.bad_request(str(error)) from None

    return change


def _go_type(value: Any) -> str:
    """How Go's JSON decoder calls a value."""
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    return "bool" if isinstance(value, bool) else "number"
