"""Who owns the number in a scale, by way of the field of the object behind it. Pure.

The real server keeps owners of a scale in terms of autoscaling/v1 while it handles a request, and tells them from
those of the object by their identity; so an update through the scale has no time, and the owner of a number that stays
is split in two. (apimachinery pkg/util/managedfields/scalehandler.go)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fleet.devcluster.fields.ledger import Entries, Holder, Holding, Ledger, entries_of, read
from fleet.devcluster.fields.manager import UPDATE
from fleet.devcluster.fields.sets import MEMBER, FieldSet, difference

SCALE_VERSION: Final = "autoscaling/v1"
_NUMBER: Final[FieldSet] = {"f:spec": {"f:replicas": MEMBER}}

Paths = Callable[[str], tuple[str, ...] | None]
"""Where the number of an object is in a version of its API; None for a version that is not served, () for one without
a scale."""


def owners_of_scale(entries: Entries | None, paths: Paths) -> Ledger:
    """The owners of the number, as owners of a scale. Raises LedgerError."""
    found: Ledger = {}
    for holder, held in read(entries).items():
        path = paths(held.api_version)
        if path and _holds(held.fields, path):
            version = SCALE_VERSION if holder.operation == UPDATE else ""
            owner = Holder(holder.name, holder.operation, version, holder.subresource)
            found[owner] = Holding(_NUMBER, SCALE_VERSION, held.time)
    return found


def owners_of_object(entries: Entries | None, scale: Ledger, paths: Paths, api_version: str) -> Entries:
    """The entries of the object after a write of its scale. scale: its owners after the write. Raises LedgerError."""
    before = read(entries)
    rest = dict(scale)
    kept: Ledger = {}
    for holder, held in before.items():
        path = paths(held.api_version)
        if path is None:
            continue
        kept[holder] = held
        if path and _holds(held.fields, path) and rest.pop(holder, None) is None:
            others = difference(held.fields, _at(path))
            kept[holder] = Holding(others, held.api_version, held.time)
            if not others:
                del kept[holder]
    path = paths(api_version) or ()
    for holder, held in rest.items():
        if not _holds(held.fields, ("spec", "replicas")):
            continue
        since = before[holder].time if holder in before else ""
        kept[holder] = Holding(_at(path), api_version, since)
    return entries_of(kept)


def _holds(fields: FieldSet, path: tuple[str, ...]) -> bool:
    node: FieldSet | None = fields
    for name in path:
        node = None if node is None else node.get(f"f:{name}")
    return node is not None


def _at(path: tuple[str, ...]) -> FieldSet:
    node = MEMBER
    for name in reversed(path):
        node = {f"f:{name}": node}
    return node
