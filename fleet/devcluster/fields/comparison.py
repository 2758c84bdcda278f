"""What a write changed: the paths that appeared, vanished or got another value.

Semantics: typed/compare.go of structured-merge-diff. Unlike there, equal parts are skipped as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from fleet.devcluster.fields.elements import ElementError, item_element
from fleet.devcluster.fields.sets import MEMBER, SELF, FieldSet, difference, ordered, union
from fleet.devcluster.kinds.structure import ANYTHING, Structure
from fleet.devcluster.schemas.values import same

ABSENT: Final = object()
"""No value, in contrast to null."""


class Comparison(msgspec.Struct):
    """No path is in more than one of the sets."""

    added: FieldSet = {}
    removed: FieldSet = {}
    modified: FieldSet = {}

    @property
    def changed(self) -> FieldSet:
        """What got a new value."""
        return union(self.modified, self.added)

    def without(self, fields: FieldSet) -> Comparison:
        """Leaves these paths, and all below them, out."""
        if not fields:
            return self
        return Comparison(
            difference(self.added, fields, recursive=True),
            difference(self.removed, fields, recursive=True),
            difference(self.modified, fields, recursive=True),
        )


_FEW: Final = 32
"""Keys of a map whose elements are remembered."""
_NO_ZEROS: Final[Mapping[str, Any]] = {}


def compare(old: Mapping[str, Any], new: Mapping[str, Any], node: Structure) -> Comparison:
    """Of two objects of one type."""
    found = Comparison()
    if node.read is not None:
        old, new = node.read(old) if old else old, node.read(new)
    _both(old, new, node, found)
    return found


def created(new: Mapping[str, Any], node: Structure, unowned: FieldSet, *, existed: bool = True) -> FieldSet:
    """What `compare` finds as added where there was an empty object: ordered, and without these elements (all leaves,
    or leaves below one level). existed: False where there was none at all.
    """
    found: FieldSet = {}
    zeros = node.zeros if existed else _NO_ZEROS
    for name in sorted(new):
        value, element = new[name], "f:" + name
        skipped = unowned.get(element) if unowned else None
        if skipped is not None and not skipped:
            continue
        if value.__class__ is str and name not in zeros:
            found[element] = MEMBER
            continue
        zero = zeros.get(name, ABSENT)
        field = node.field(name) or ANYTHING
        if value is None and existed and not field.schema.get("nullable"):
            # A list or a time that Go shows as null when it is not set.
            continue
        if skipped is None:
            _place(found, element, value, zero, field)
        elif below := created(value, field, skipped):
            found[element] = below
    return found


@lru_cache(maxsize=1024)
def _keys(names: tuple[str, ...]) -> FieldSet:
    """Of a new map of scalars. Objects of one kind often have the same labels and keys."""
    return {SELF: MEMBER, **{"f:" + name: MEMBER for name in sorted(names)}}


def _place(found: FieldSet, element: str, value: Any, zero: Any, node: Structure) -> None:
    """Adds a value and what is below it, unless it is what Go shows anyway."""
    if isinstance(value, dict):
        if value and not node.atomic:
            if zero is ABSENT and node.of_scalars and len(value) <= _FEW:
                found[element] = _keys(tuple(value))
                return
            below = created(value, node, MEMBER, existed=zero is not ABSENT)
            if zero is ABSENT:
                found[element] = {SELF: MEMBER, **below} if below else MEMBER
            elif below:
                found[element] = below
            return
    elif isinstance(value, list) and value and node.list_type != "atomic":
        inner = Comparison()
        _items([], value, node, inner)
        below = ordered(inner.added)
        found[element] = {SELF: MEMBER, **below} if zero is ABSENT else below
        return
    if zero is ABSENT or zero != value or type(zero) is not type(value):
        found[element] = MEMBER


def _both(old: Mapping[str, Any], new: Mapping[str, Any], node: Structure, into: Comparison) -> None:
    """Of two objects that exist: Go shows some fields that are not set."""
    zeros, gone = node.zeros, len(old)
    for name, value in new.items():
        before = old.get(name, ABSENT)
        if before is ABSENT:
            before = zeros.get(name, ABSENT)
        else:
            gone -= 1
        if before is value or (before == value and _alike(before, value, node)):
            continue
        if value.__class__ is str and (before is ABSENT or before.__class__ is str):
            changed = into.added if before is ABSENT else into.modified
            changed["f:" + name] = MEMBER
        else:
            _value("f:" + name, before, value, node.field(name) or ANYTHING, into)
    if not gone:
        return
    for name, value in old.items():
        if name not in new:
            after = zeros.get(name, ABSENT)
            if after is ABSENT or after != value:
                _value("f:" + name, value, after, node.field(name) or ANYTHING, into)


def _fields(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, node: Structure, into: Comparison) -> None:
    """Of two objects, one of which may not exist: None."""
    if old is not None and new is not None:
        _both(old, new, node, into)
        return
    for name, value in (new or {}).items():
        _value("f:" + name, ABSENT, value, node.field(name) or ANYTHING, into)
    for name, value in (old or {}).items():
        _value("f:" + name, value, ABSENT, node.field(name) or ANYTHING, into)


def _alike(old: Any, new: Any, node: Structure) -> bool:
    """Whether equal values are the same JSON, 1 not being true. node: of the values or what they are in.

    The content of a list or an object of a built-in type is of the declared types.
    """
    if old.__class__ is not new.__class__:
        return False
    return bool(node.schemas) or not isinstance(old, dict | list) or same(old, new)


def _kind(value: Any, node: Structure) -> str:
    """map and list where their parts are owned one by one, leaf for what is owned as a whole, "" for no value."""
    if isinstance(value, dict):
        return "leaf" if node.atomic else "map"
    if isinstance(value, list):
        return "leaf" if node.list_type == "atomic" else "list"
    return "" if value is None or value is ABSENT else "leaf"


def _value(element: str, old: Any, new: Any, node: Structure, into: Comparison) -> None:
    """Of two values that differ; at most one of them is absent."""
    if old.__class__ is dict and new.__class__ is dict and not node.atomic:
        inner = Comparison()
        _both(old, new, node, inner)
        _nest(element, old, new, inner, into)
        return
    before, after = _kind(old, node), _kind(new, node)
    kind = after or before
    if before and after and before != after:
        inner = Comparison()
        _parts(old if before != "leaf" else None, None, before, node, inner)
        _parts(None, new if after != "leaf" else None, after, node, inner)
        _nest(element, old, new, inner, into)
        into.modified[element] = MEMBER
    elif kind != "leaf" and ((before and old) or (after and new)):
        inner = Comparison()
        _parts(old if before else None, new if after else None, kind, node, inner)
        _nest(element, old, new, inner, into)
    elif old is ABSENT:
        into.added[element] = MEMBER
    elif new is ABSENT:
        into.removed[element] = MEMBER
    elif old != new or not _alike(old, new, node):
        into.modified[element] = MEMBER


def _parts(old: Any, new: Any, kind: str, node: Structure, into: Comparison) -> None:
    """Of two containers of one kind; None: it does not exist."""
    if kind == "map":
        _fields(old, new, node, into)
    elif kind == "list":
        _items(old or [], new or [], node, into)


def _nest(element: str, old: Any, new: Any, inner: Comparison, into: Comparison) -> None:
    """Hangs the comparison of a container's content into that of its parent."""
    if old is ABSENT:
        into.added[element] = {SELF: MEMBER, **inner.added} if inner.added else MEMBER
    elif inner.added:
        into.added[element] = inner.added
    if new is ABSENT:
        into.removed[element] = {SELF: MEMBER, **inner.removed} if inner.removed else MEMBER
    elif inner.removed:
        into.removed[element] = inner.removed
    if inner.modified:
        into.modified[element] = inner.modified


def _items(old: list[Any], new: list[Any], node: Structure, into: Comparison) -> None:
    before, after = _by_element(old, node), _by_element(new, node)
    for element in {**before, **after}:
        was, now = before.get(element, []), after.get(element, [])
        if len(was) < 2 and len(now) < 2:
            first, second = was[0] if was else ABSENT, now[0] if now else ABSENT
            if first is ABSENT or second is ABSENT or first != second or not _alike(first, second, node):
                _value(element, first, second, node.items, into)
            continue
        if len(was) > 1 and len(now) > 1:
            if was != now:
                into.modified[element] = MEMBER
        elif len(was) > 1:
            if now:
                _value(element, ABSENT, now[0], node.items, into)
            into.removed[element] = MEMBER
        else:
            if was:
                _value(element, was[0], ABSENT, node.items, into)
            into.added[element] = MEMBER


def _by_element(items: list[Any], node: Structure) -> dict[str, list[Any]]:
    """Items by their element; duplicates together, and those that have no place left out."""
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            found.setdefault(item_element(item, node), []).append(item)
        except ElementError:
            continue
    return found
