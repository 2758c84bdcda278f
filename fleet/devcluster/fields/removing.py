"""An object without some of its fields. Semantics: typed/remove.go of structured-merge-diff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.fields.elements import ElementError, item_element
from fleet.devcluster.fields.sets import FieldSet, is_member
from fleet.devcluster.kinds.structure import ANYTHING, Structure


def removed(value: Mapping[str, Any], fields: FieldSet, node: Structure) -> dict[str, Any] | None:
    """The object without these paths; what stays is shared. None where nothing stays."""
    result: dict[str, Any] = {}
    for name, inner in value.items():
        below = fields.get("f:" + name)
        if below is None:
            result[name] = inner
        elif not is_member(below):
            result[name] = _rest(inner, below, node.field(name) or ANYTHING)
    return result or None


def _rest(value: Any, fields: FieldSet, node: Structure) -> Any:
    if isinstance(value, dict):
        return None if node.atomic or not value else removed(value, fields, node)
    if isinstance(value, list):
        if node.list_type == "atomic" or not value:
            return None
        kept = []
        for item in value:
            below = fields.get(_element(item, node))
            if below is None:
                kept.append(item)
            elif not is_member(below):
                kept.append(_rest(item, below, node.items))
        return kept or None
    return value


def _element(item: Any, node: Structure) -> str:
    try:
        return item_element(item, node)
    except ElementError:
        return ""
