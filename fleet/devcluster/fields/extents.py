"""All paths of a value: what an apply claims. Semantics: typed/tofieldset.go of structured-merge-diff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.fields.elements import ElementError, item_element
from fleet.devcluster.fields.sets import MEMBER, SELF, FieldSet, is_member, node_of
from fleet.devcluster.kinds.structure import ANYTHING, Structure


def fields_of(value: Mapping[str, Any], node: Structure) -> FieldSet:
    """Of an object: leaves, keys of maps, items of lists; not the structs that lead there."""
    found: FieldSet = {}
    for name, inner in value.items():
        declared = name in node.properties
        below = _below(inner, node.field(name) or ANYTHING)
        member = below is MEMBER or not declared or inner is None or inner == {}
        made = node_of(below, member=member)
        if made is not None:
            found["f:" + name] = made
    return found


def _below(value: Any, node: Structure) -> FieldSet:
    """The paths below a value; MEMBER itself for a leaf."""
    if isinstance(value, dict):
        if node.atomic:
            return MEMBER
        return fields_of(value, node) or {} if value else {}
    if isinstance(value, list):
        return MEMBER if node.list_type == "atomic" else _items(value, node)
    if value is None and node.type in ("object", "array"):
        return {}
    return MEMBER


def _items(items: list[Any], node: Structure) -> FieldSet:
    found: FieldSet = {}
    twice = set()
    for item in items:
        try:
            element = item_element(item, node)
        except ElementError:
            continue
        if element in found:
            twice.add(element)
        below = _below(item, node.items)
        found[element] = {SELF: MEMBER, **below} if below else MEMBER
    for element in twice:
        found[element] = MEMBER
    return found


def with_named_fields(fields: FieldSet, node: Structure) -> FieldSet:
    """The set with every declared field on the way to a member as a member too."""
    result: FieldSet = {}
    for element, inner in fields.items():
        if element == SELF or not inner:
            result[element] = inner
            continue
        name = element[2:]
        if element.startswith("f:"):
            below = node.field(name) or ANYTHING
            member = is_member(inner) or name in node.properties
        else:
            below, member = node.items, is_member(inner)
        children = with_named_fields(inner, below)
        if member and SELF not in children:
            children = {SELF: MEMBER, **children}
        result[element] = children
    return result
