"""Sets of field paths, in the form in which the API shows them (FieldsV1).

A set is a tree of dictionaries. Its keys are path elements (see elements.py); a node is a member of the set when it is
empty, or when it holds "." beside its children. Sets are never changed in place: results share what did not change.
Semantics: fieldpath/set.go of structured-merge-diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fleet.devcluster.fields.elements import order_of

FieldSet = dict[str, Any]
"""Element to node; a node is again such a dictionary."""

SELF: Final = "."
MEMBER: Final[FieldSet] = {}
"""A member without children. Shared: never written to."""

_BEYOND_FIELDS: Final = "f;"
"""Sorts behind "." and all names of fields, and before the other elements, whose order is that of their content."""


def is_member(node: FieldSet) -> bool:
    """Whether the path that leads to a node belongs to the set."""
    return not node or SELF in node


def node_of(children: FieldSet, *, member: bool) -> FieldSet | None:
    """The node over these children (none of which is "."); None where nothing is left."""
    if member:
        return {SELF: MEMBER, **children} if children else MEMBER
    return children or None


def children_of(node: FieldSet) -> FieldSet:
    """A node without its own membership."""
    if SELF not in node:
        return node
    return {element: child for element, child in node.items() if element != SELF}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in either; `left` itself where it has them all."""
    if not left or not right:
        return left or right
    result: FieldSet | None = None
    for element, node in right.items():
        mine = left.get(element)
        both = node if mine is None else mine if element == SELF else _joined(mine, node)
        if both is not mine:
            if result is None:
                result = dict(left)
            result[element] = both
    return left if result is None else result


def _joined(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or not (left or right):
        return left
    if left and right:
        return union(left, right)
    children = left or right
    return children if SELF in children else {SELF: MEMBER, **children}


def difference(left: FieldSet, right: FieldSet, *, recursive: bool = False) -> FieldSet:
    """Paths of `left` that are not in `right`. recursive: nor below one that is."""
    result: FieldSet | None = None
    for element, node in right.items():
        mine = left.get(element)
        if mine is None or element == SELF:
            continue
        rest = _without(mine, node, recursive=recursive)
        if rest is mine:
            continue
        if result is None:
            result = dict(left)
        if rest is None:
            del result[element]
        else:
            result[element] = rest
    return left if result is None else result


def _without(mine: FieldSet, node: FieldSet, *, recursive: bool) -> FieldSet | None:
    gone = is_member(node)
    if gone and recursive:
        return None
    if not mine:
        return None if gone else mine
    children = difference(mine, node, recursive=recursive) if node else mine
    if not gone:
        if children is mine:
            return mine
        return MEMBER if len(children) == 1 and SELF in children else children or None
    return node_of(children_of(children), member=False)


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in both."""
    result: FieldSet = {}
    for element, node in right.items():
        mine = left.get(element)
        if mine is None or element == SELF:
            continue
        both = node_of(intersection(mine, node), member=is_member(mine) and is_member(node))
        if both is not None:
            result[element] = both
    return result


def paths_of(fields: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All members, as tuples of elements: those of a level before those below it."""
    elements = sorted((element for element in fields if element != SELF), key=order_of)
    for element in elements:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in elements:
        if fields[element]:
            yield from paths_of(fields[element], (*prefix, element))


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its elements in the order in which the API shows them."""
    elements = sorted(fields)
    if elements and elements[-1] >= _BEYOND_FIELDS:
        elements.sort(key=order_of)
    return {element: ordered(fields[element]) if fields[element] else MEMBER for element in elements}
