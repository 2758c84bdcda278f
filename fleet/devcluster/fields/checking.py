"""Whether an applied object fits its type. Semantics and words: typed/validate.go of structured-merge-diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet.devcluster.fields.elements import ElementError, item_element, show
from fleet.devcluster.fields.gotext import go_text
from fleet.devcluster.kinds.structure import Structure


def misfits(value: Mapping[str, Any], node: Structure, path: str = "") -> Iterator[str]:
    """One sentence per error, each with its path."""
    if not node.schema:
        return
    for name, inner in value.items():
        here = f"{path}.{name}"
        below = node.field(name)
        if below is None:
            if not node.properties:
                continue
            yield f"{here}: field not declared in schema"
            return
        yield from _misfits(inner, below, here)


def _misfits(value: Any, node: Structure, path: str) -> Iterator[str]:
    kind = node.type
    if value is None or not kind:
        if isinstance(value, dict):
            yield from misfits(value, node, path)
        return
    if kind == "object":
        if not isinstance(value, dict):
            yield f"{path}: expected map, got &{{{go_text(value)}}}"
            return
        yield from misfits(value, node, path)
    elif kind == "array":
        if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{go_text(value)}}}"
            return
        yield from _item_misfits(value, node, path)
    else:
        yield from _scalar_misfits(value, node, path)


def _item_misfits(items: list[Any], node: Structure, path: str) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(items):
        if node.list_type == "atomic":
            yield from _misfits(item, node.items, f"{path}[{index}]")
            continue
        try:
            element = item_element(item, node)
        except ElementError as error:
            yield f"{path}: element {index}: {error}"
            return
        shown = show((element,))
        if element in seen:
            yield f"{path}: duplicate entries for key {shown}"
        seen.add(element)
        yield from _misfits(item, node.items, f"{path}{shown}")


def _scalar_misfits(value: Any, node: Structure, path: str) -> Iterator[str]:
    kind = node.type
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in ("integer", "number"):
        if not number:
            yield f"{path}: expected numeric (int or float), got {_go_type(value)}"
    elif kind == "boolean":
        if not isinstance(value, bool):
            yield f"{path}: expected boolean, got &{{{go_text(value)}}}"
    elif node.schema.get("format") in (None, "", "byte"):
        if not isinstance(value, str):
            yield f"{path}: expected string, got &value.valueUnstructured{{Value:{go_text(value)}}}"
    elif isinstance(value, dict | list):
        yield f"{path}: expected any scalar, got &{{{go_text(value)}}}"


def together(errors: list[str]) -> str:
    """All errors as one text."""
    return errors[0] if len(errors) == 1 else "\n".join(["errors:", *("  " + each for each in errors)])


def _go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"
