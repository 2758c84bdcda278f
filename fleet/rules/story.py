"""What happened between two looks of one office, as a story for people. Pure.

Steps of ranges are told by the workers that make them, and fences by the registrar; what is told here shows in the
records alone: who came and went, what people ordered, and how a reshard goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleet.records.controls import Controls, Order
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardMap
from fleet.rules.look import Look


def story(before: Look, after: Look) -> Iterator[Happening]:
    """In no particular order. Looks of two offices have no story: nobody knows what happened between them."""
    if before.members is not after.members:
        for name in sorted(before.members.keys() | after.members.keys()):
            yield from _of_member(name, before.members.get(name), after.members.get(name))
    yield from _of_controls(before.controls, after.controls)
    yield from _of_layout(before.map, after.map)


def _of_member(name: str, before: MemberRecord | None, after: MemberRecord | None) -> Iterator[Happening]:
    if after is None:
        yield Happening("MemberForgotten", f"the Lease of member {name} was removed", Kind.MEMBER, name)
    elif after.holder is not None and (before is None or before.holder is None):
        yield Happening("MemberJoined", f"member {name} joined at epoch {after.epoch}", Kind.MEMBER, name)
    elif before is None:
        return
    elif after.holder is not None and before.epoch < after.epoch:
        yield Happening("MemberJoined", f"member {name} began anew at epoch {after.epoch}", Kind.MEMBER, name)
    elif after.holder is not None and after.leaving and not before.leaving:
        yield Happening("MemberLeaves", f"member {name} hands over what it has, and leaves", Kind.MEMBER, name)
    elif before.holder is not None and after.holder is None and after.leaving:
        yield Happening("MemberLeft", f"member {name} left for good", Kind.MEMBER, name)


def _of_controls(before: Controls, after: Controls) -> Iterator[Happening]:
    if after.frozen is not None and before.frozen is None:
        yield Happening("Frozen", f"nothing moves by choice any more{_told(after.frozen)}", Kind.MAP)
    if before.frozen is not None and after.frozen is None:
        yield Happening("Unfrozen", "shards may move by choice again", Kind.MAP)
    for name in sorted(after.drained.keys() - before.drained.keys()):
        yield Happening("Drained", f"{name} gives its shards away{_told(after.drained[name])}", Kind.MAP)
    for name in sorted(before.drained.keys() - after.drained.keys()):
        yield Happening("Undrained", f"{name} may have shards again", Kind.MAP)


def _told(order: Order) -> str:
    by, why = order.by and f", by order of {order.by}", order.why and f": {order.why}"
    return f"{by}{why}"


def _of_layout(before: ShardMap, after: ShardMap) -> Iterator[Happening]:
    if before.boundaries != after.boundaries or before.partition_key is not after.partition_key:
        key = "" if before.partition_key is after.partition_key else f", partitioned by {after.partition_key}"
        yield Happening(
            "ReshardBegun", f"{len(before.boundaries)} shards become {len(after.boundaries)}{key}", Kind.MAP
        )
    if before.retiring and not after.retiring:
        yield Happening("ReshardDone", f"the layout of {len(after.boundaries)} shards is in force alone", Kind.MAP)
