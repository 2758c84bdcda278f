"""Strategic merge patches: merges that know which lists are maps and which are sets.

Semantics: strategicpatch/patch.go of apimachinery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fleet.devcluster.fields.gotext import go_text
from fleet.devcluster.kinds.structure import ANYTHING, Structure

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"

BAD_DELETION: Final = "invalid patch format of primitive list"
BAD_RETAIN: Final = "invalid patch format of retainKeys"
BAD_ORDER: Final = "invalid patch format of setElementOrder list"
NO_LIST_OF_LISTS: Final = "lists of lists are not supported"


class StrategicError(ValueError):
    """The patch makes no sense. code: the HTTP status that it gets."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


def merge_strategically(original: dict[str, Any] | None, patch: dict[str, Any], node: Structure) -> dict[str, Any]:
    """The merged object. Both arguments are changed and belong to the result. Raises StrategicError."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    if original is None:
        original = {}
    _retain_keys(original, patch)
    _set_orders(original, patch, node)
    for name, value in patch.items():
        deletes = name.startswith(_DELETE_FROM)
        if deletes:
            name = _after_slash(name, _DELETE_FROM, BAD_DELETION)
        if value is None:
            original.pop(name, None)
            continue
        if name not in original or not _alike(original[name], value):
            if not deletes:
                _take(original, name, value)
            continue
        below = node.field(name) or ANYTHING
        mine = original[name]
        if isinstance(value, dict):
            original[name] = value if "replace" in below.strategies else merge_strategically(mine, value, below)
        elif isinstance(value, list):
            if "merge" in below.strategies or deletes:
                original[name] = _merged_list(mine, value, below, deletes=deletes)
            else:
                original[name] = value
        else:
            original[name] = value
    return original


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown(directive, patch)


def _unknown(directive: Any, patch: dict[str, Any]) -> StrategicError:
    shown = directive if isinstance(directive, str) else f"%!s({_go_type(directive)}={go_text(directive)})"
    return StrategicError(f"unknown patch type: {shown} in map: {go_text(patch)}")


def _alike(left: Any, right: Any) -> bool:
    """Of one JSON type."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    return type(left) is type(right)


def _take(original: dict[str, Any], name: str, value: Any) -> None:
    """A value that nothing is merged into: without nulls and directives."""
    kept, keep = _undirected(_without_nulls(value))
    if keep:
        original[name] = kept
    else:
        original.pop(name, None)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _undirected(value: Any) -> tuple[Any, bool]:
    """A value without the parts that are directives, and whether it is none itself."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return None, False
        pairs = [(name, *_undirected(inner)) for name, inner in value.items()]
        return {name: inner for name, inner, keep in pairs if keep}, True
    if isinstance(value, list):
        return [inner for inner, keep in map(_undirected, value) if keep], True
    return value, True


def _retain_keys(original: dict[str, Any], patch: dict[str, Any]) -> None:
    if _RETAIN not in patch:
        return
    wanted = patch.pop(_RETAIN)
    if not isinstance(wanted, list):
        raise StrategicError(BAD_RETAIN, 400)
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE_FROM, _ORDER)) and name not in wanted:
            raise StrategicError(BAD_RETAIN, 400)
    for name in [name for name in original if name not in wanted]:
        del original[name]


def _after_slash(name: str, prefix: str, why: str) -> str:
    head, slash, tail = name.partition("/")
    if not slash or head != prefix:
        raise StrategicError(why, 400)
    return tail


def _set_orders(original: dict[str, Any], patch: dict[str, Any], node: Structure) -> None:
    """Merges the lists whose order the patch gives, and takes them out of the patch."""
    for key in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(key)
        if not isinstance(order, list):
            raise StrategicError(f"expected a []interface {{}}, but received a {_go_type(order)}")
        name = _after_slash(key, _ORDER, BAD_ORDER)
        below = node.field(name) or ANYTHING
        mine, theirs = original.get(name), patch.pop(name, None)
        for each in (mine, theirs):
            if each is not None and not isinstance(each, list):
                raise StrategicError(f"expected a []interface {{}}, but received a {_go_type(each)}")
        _check_order(theirs or [], order, below.merge_key)
        if name not in original and theirs is None:
            continue
        if theirs is None:
            merged = mine or []
        elif mine is None:
            merged = theirs
        elif "merge" in below.strategies:
            merged = _merged_list(list(mine), theirs, below, deletes=False)
        else:
            merged = theirs
        original[name] = _arranged(merged, order, mine or [], below.merge_key)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Every item of the patch is in the order, in that order."""
    if not patch or not order:
        return
    items = [item for item in patch if not (isinstance(item, dict) and _DIRECTIVE in item)]
    position = 0
    for wanted in order:
        if position < len(items) and _identity(items[position], key) == _identity(wanted, key):
            position += 1
    if position < len(items):
        raise StrategicError(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
        )


def _identity(item: Any, key: str) -> Any:
    if not key:
        return item
    if not isinstance(item, dict):
        raise StrategicError(f"expected a map[string]interface {{}}, but received a {_go_type(item)}")
    if key not in item:
        raise StrategicError(f"map: {go_text(item)} does not contain declared merge key: {key}")
    return item[key]


def _merged_list(original: list[Any], patch: list[Any], node: Structure, *, deletes: bool) -> list[Any]:
    if not original and not patch:
        return original
    if not _of_maps(original, patch):
        if deletes:
            return [item for item in original if item not in patch]
        merged = list(dict.fromkeys([*original, *patch]))
        return _arranged(merged, patch, original, "")
    key = node.merge_key
    if not key:
        raise StrategicError("cannot merge lists without merge key for ")
    original, patch = _specials(original, patch, key)
    before = list(original)
    for item in patch:
        wanted = _identity(item, key)
        found = next((index for index, each in enumerate(original) if _identity(each, key) == wanted), None)
        if found is None:
            original.append(item)
        else:
            original[found] = merge_strategically(original[found], item, node.items)
    return _arranged(original, patch, before, key)


def _of_maps(original: list[Any], patch: list[Any]) -> bool:
    """Whether the items are objects. Raises StrategicError where they are of several types."""
    items = [*original, *patch]
    if isinstance(items[0], list):
        raise StrategicError(NO_LIST_OF_LISTS, 422)
    if any(not _alike(items[0], item) for item in items):
        raise StrategicError(f"list element types are not identical: {go_text([original, patch])}")
    return isinstance(items[0], dict)


def _specials(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carries the directives among the items out."""
    plain, replace, kept = [], False, list(original)
    for item in patch:
        directive = item.get(_DIRECTIVE)
        if _DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            gone = _identity(item, key)
            kept = [each for each in kept if _identity(each, key) != gone]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise StrategicError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown(directive, item)
    return (plain, []) if replace else (kept, plain)


def _arranged(merged: list[Any], order: list[Any], server: list[Any], key: str) -> list[Any]:
    """The items that `order` names in its order, among those that only the server has in theirs."""
    wanted = [_identity(item, key) for item in order]
    known = [_identity(item, key) for item in server]
    mine = [item for item in merged if _identity(item, key) in wanted]
    rest = [item for item in merged if _identity(item, key) not in wanted]
    mine.sort(key=_position(wanted, key))
    rest.sort(key=_position(known, key))
    result = []
    while mine and rest:
        left, right = _identity(rest[0], key), _identity(mine[0], key)
        first = left in known and right in known and known.index(left) < known.index(right)
        result.append(rest.pop(0) if first else mine.pop(0))
    return [*result, *mine, *rest]


def _position(order: list[Any], key: str) -> Callable[[Any], int]:
    def position(item: Any) -> int:
        identity = _identity(item, key)
        return order.index(identity) if identity in order else len(order)

    return position


def _go_type(value: Any) -> str:
    """How Go calls a decoded value."""
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "float64" if isinstance(value, float) else "string"
