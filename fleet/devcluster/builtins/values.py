"""How the real server writes what it stores: its Go types keep, leave out or add empty fields. Pure.

A field that holds its zero value is left out where its type says so; a struct that is no pointer is always there, and
so is a scalar that is not tagged omitempty; some missing lists and times are written as null. From the schemas'
defaults and kinds/values.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.kinds.catalogue import Values, schemas, values
from shards.objects import Object

_PREFIX = "#/components/schemas/"
_ONE, _LIST, _MAP = "one", "list", "map"
_NOTHING = Values("")


class Shape:
    """One struct type. Its fields are looked at when it is first used: types refer to themselves."""

    __slots__ = ("_always", "_collections", "_inner", "_known", "_left_out", "_name", "_nulls", "_structs")

    def __init__(self, name: str) -> None:
        self._name = name
        self._known = False

    def settle(self, body: Object) -> Object:
        """Makes an object look as its Go type would write it, in place."""
        if not self._known:
            self._read()
        dropped: list[str] | None = None
        for name, item in body.items():
            inner = self._inner.get(name)
            if inner is not None and (item or inner[0] is _ONE):
                _settle_inside(inner, item)
            elif not item and (name in self._left_out or (name in self._collections and item is not None)):
                dropped = [name] if dropped is None else [*dropped, name]
        for name in dropped or ():
            del body[name]
        for name, zero in self._always:
            if name not in body:
                body[name] = zero
        for name, shape in self._structs:
            if name not in body:
                body[name] = shape.settle({})
        for name in self._nulls:
            body.setdefault(name)
        return body

    def stored(self, body: Object) -> None:
        """What storage makes of an object's own lists, in place: an empty one comes back as none."""
        if not self._known:
            self._read()
        for name in self._nulls:
            if not body.get(name):
                body[name] = None

    def empty(self, field: str) -> Object | None:
        """A field as it is written when nothing was set in it; None where it is left out."""
        if not self._known:
            self._read()
        shapes = [shape for name, shape in self._structs if name == field]
        return shapes[0].settle({}) if shapes else None

    def _read(self) -> None:
        schema, facts = schemas()[self._name], values().get(self._name, _NOTHING)
        fields: Mapping[str, Any] = schema.get("properties", {})
        self._left_out = frozenset(facts.left_out)
        self._nulls = facts.null
        self._inner: dict[str, tuple[str, Shape]] = {}
        collections, always, structs = [], [], []
        for name, field in fields.items():
            inner = _inner(field)
            if inner is not None:
                self._inner[name] = inner
            if field.get("type") in ("array", "object") and name not in facts.null:
                collections.append(name)
            default = field.get("default")
            if isinstance(default, str | bool | int) and (default or name not in self._left_out):
                always.append((name, default))
            elif default is not None and inner is not None and inner[0] is _ONE:
                structs.append((name, inner[1]))
        self._collections = frozenset(collections)
        self._always, self._structs = tuple(always), tuple(structs)
        self._known = True


_SHAPES: dict[str, Shape] = {}
_ROOTS: dict[str, Shape] = {}


def shape_of(name: str) -> Shape:
    """Of a built-in kind by the name of its schema. `metadata` is left alone: see metadata.py."""
    found = _ROOTS.get(name)
    if found is None:
        found = _ROOTS[name] = _Root(name)
    return found


class _Root(Shape):
    __slots__ = ()

    def _read(self) -> None:
        super()._read()
        self._inner.pop("metadata", None)
        self._structs = tuple(each for each in self._structs if each[0] != "metadata")


def _named(name: str) -> Shape:
    found = _SHAPES.get(name)
    if found is None:
        found = _SHAPES[name] = Shape(name)
    return found


def _inner(field: Mapping[str, Any]) -> tuple[str, Shape] | None:
    """What is inside a field; None where no struct is."""
    wrapped = field.get("allOf")
    target = wrapped[0] if wrapped else field
    reference = target.get("$ref")
    if reference is not None:
        name = reference.removeprefix(_PREFIX)
        return (_ONE, _named(name)) if "properties" in schemas()[name] else None
    for key, how in (("items", _LIST), ("additionalProperties", _MAP)):
        if isinstance(field.get(key), Mapping):
            found = _inner(field[key])
            if found is not None and found[0] is _ONE:
                return how, found[1]
    return None


def _settle_inside(inner: tuple[str, Shape], item: Any) -> None:
    how, shape = inner
    if how is _ONE:
        if isinstance(item, dict):
            shape.settle(item)
    elif item:
        for each in item if how is _LIST else item.values():
            if isinstance(each, dict):
                shape.settle(each)
