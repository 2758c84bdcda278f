"""The merge of an applied object into the live one. Semantics: typed/merge.go of structured-merge-diff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.fields.elements import item_element
from fleet.devcluster.kinds.structure import ANYTHING, Structure


def merged(live: Mapping[str, Any], applied: Mapping[str, Any], node: Structure) -> dict[str, Any]:
    """Both objects' fields, the applied ones first. Neither is changed; the result shares parts with both.

    The items of lists of type set and map must have been checked (see checking.py).
    """
    result = dict(live)
    for name, value in applied.items():
        if name in result:
            result[name] = _both(result[name], value, node.field(name) or ANYTHING)
        else:
            result[name] = value
    return result


def _both(live: Any, applied: Any, node: Structure) -> Any:
    if isinstance(applied, dict) and isinstance(live, dict):
        return merged(live, applied, node) if (live or applied) and not node.atomic else applied
    if isinstance(live, list) and node.list_type != "atomic" and (isinstance(applied, list) or applied is None):
        return _items(live, applied or [], node) if live or applied else applied
    if isinstance(live, dict) and live and applied is None and not node.atomic and node.type in ("object", ""):
        return live
    return applied


def _items(live: list[Any], applied: list[Any], node: Structure) -> list[Any]:
    """The union in an order that keeps that of the applied list, and of the live one where nothing else is said."""
    old = [(item_element(item, node), item) for item in live]
    new = {item_element(item, node): item for item in applied}
    known: dict[str, Any] = {}
    for element, item in old:
        known[element] = None if element in known else item
    wanted = list(new)
    shared = [element for element in wanted if element in known]
    result: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        done.add(element)
        mine = known.get(element)
        result.append(new[element] if mine is None else _both(mine, new[element], node.items))
        if shared and shared[0] == element:
            shared.pop(0)

    left = right = 0
    while left < len(old) or right < len(wanted):
        if left < len(old) and right < len(wanted):
            element = old[left][0]
            if element == wanted[right]:
                take(element)
                left, right = left + 1, right + 1
                continue
            if element in new and shared and shared[0] != element:
                left += 1
                continue
        if left < len(old):
            element, item = old[left]
            if element not in new:
                result.append(item)
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(wanted):
            take(wanted[right])
            right += 1
    return result
