"""The life of a range's shard record: opened, active, retired, lost and back. Pure: rules R7 to R9 and R14.

A range leaves the layout through `retiring` and one retire write; it enters by an activation whose reads happen in a
fixed order. Workers never create shard records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fleet.records.record import MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.handover import is_free
from fleet.rules.survey import Survey, layout_records, outside
from shards.keyrange import SPACE, KeyRange, range_of


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the map should say about its ranges' records, and which records need a write.

    opening: ranges that the map does not call opened yet: it must, before or as soon as they have an active record.
    lost, retiring: for the next map. activate: ranges of the layout without a usable record, whose activation may be
    tried. retire: ranges in `retiring` whose record may get its retire write now.
    """

    opening: frozenset[KeyRange]
    lost: dict[KeyRange, int]
    retiring: frozenset[KeyRange]
    activate: tuple[KeyRange, ...]
    retire: tuple[KeyRange, ...]


def upkeep(survey: Survey, members: Sequence[MemberRecord], next_version: int) -> Upkeep:
    """One look at map and records. next_version: of the map that a newly lost range would be marked in."""
    shard_map, found = survey.map, survey.find(_state)
    lost = {each: shard_map.lost.get(each, next_version) for each in found.missing}
    activate = tuple(
        each
        for each in found.unusable
        if each not in lost or (each in shard_map.lost and echoed(shard_map.lost[each], members))
    )
    retire = tuple(
        each for each in sorted(shard_map.retiring) if may_retire(survey.shards.get(each), shard_map, each, members)
    )
    return Upkeep(found.unopened.union(activate) - shard_map.opened, lost, found.retiring, activate, retire)


class _State(NamedTuple):
    """What the records say about ranges, whatever the members do.

    retiring: by the map, and strays. missing: of those and of the layout. unusable: of the layout, whose records are no
    active ones, and which nothing that retires overlaps. unopened: with active records, and not called opened yet.
    """

    retiring: frozenset[KeyRange]
    missing: tuple[KeyRange, ...]
    unusable: tuple[KeyRange, ...]
    unopened: frozenset[KeyRange]


def _state(survey: Survey) -> _State:
    shard_map, shards, layout = survey.map, survey.shards, survey.map.ranges
    retiring = shard_map.retiring | strays(layout, survey.find(outside))
    blocked = blocked_by(retiring, shard_map)
    active = {r.range for r in survey.find(layout_records) if r is not None and r.status is ShardStatus.ACTIVE}
    return _State(
        retiring,
        tuple(each for each in (*layout, *sorted(retiring)) if _is_missing(shards.get(each), each in shard_map.opened)),
        tuple(each for each in layout if each not in blocked and not (each in active and not is_mangled(shards[each]))),
        frozenset(active - shard_map.opened),
    )


def strays(layout: Iterable[KeyRange], records: Iterable[ShardRecord]) -> frozenset[KeyRange]:
    """Ranges outside the layout whose records are not retired."""
    inside = frozenset(layout)
    return frozenset(r.range for r in records if r.status is not ShardStatus.RETIRED and r.range not in inside)


def clear_ranges(shard_map: ShardMap, records: Iterable[ShardRecord]) -> frozenset[KeyRange]:
    """Ranges of the layout of which no part is in a range that retires, or has an active record outside (R7, R9)."""
    layout = shard_map.ranges
    return frozenset(layout) - blocked_by(shard_map.retiring | strays(layout, records), shard_map)


def blocked_by(leaving: Iterable[KeyRange], shard_map: ShardMap) -> frozenset[KeyRange]:
    """The ranges of the layout that overlap any of those."""
    layout, boundaries = shard_map.ranges, shard_map.boundaries
    found: set[KeyRange] = set()
    for other in leaving:
        if other.key is not shard_map.partition_key:
            return frozenset(layout)
        found.update(layout[range_of(other.first, boundaries) : range_of(other.last, boundaries) + 1])
    return frozenset(found)


def _is_missing(record: ShardRecord | None, opened: bool) -> bool:
    """R14: gone after it was opened, or of no use to anybody. A range that was never opened is not missing yet."""
    return opened if record is None else is_mangled(record)


def echoed(since_version: int, members: Iterable[MemberRecord]) -> bool:
    """Whether every live member follows a map at least as new: none can still act on what that map took away."""
    return all(member.seen_map >= since_version for member in members if member.holder is not None)


def has_let_go(held: Iterable[KeyRange], shard_map: ShardMap) -> bool:
    """Whether who holds these may repeat the map: they overlap nothing that it marks lost.

    A range of the layout may overlap one outside it: it was opened when that one had been retired, and somebody has
    edited the retired record since. To retire that again takes nothing from anybody.
    """
    if not shard_map.lost:
        return True
    layout = frozenset(shard_map.ranges)
    return not any(
        each.overlaps(lost) and (lost in layout or each not in layout) for each in held for lost in shard_map.lost
    )


def is_mangled(record: ShardRecord) -> bool:
    """A record that no fleet writes: it names nobody and no release says so, or it is retired and names somebody."""
    if record.foreign or record.holder is not None:
        return not record.foreign and record.status is ShardStatus.RETIRED
    return record.holder_text != "" or record.released != record.epoch


def may_retire(
    record: ShardRecord | None, shard_map: ShardMap, wanted: KeyRange, members: Iterable[MemberRecord]
) -> bool:
    """R8: a range is retired when free. A missing record of an opened range is not free until all have noticed; nor is
    one that a hand retired while it was held."""
    if record is not None and record.status is ShardStatus.RETIRED and not is_mangled(record):
        return True
    if _is_missing(record, wanted in shard_map.opened):
        return wanted in shard_map.lost and echoed(shard_map.lost[wanted], members)
    return record is None or is_free(record, shard_map)


def retired(shard_map: ShardMap, wanted: KeyRange, record: ShardRecord | None) -> ShardRecord:
    """The retire write. Also for a range that was never opened: it makes an old coordinator's activation conflict."""
    epoch = _next_epoch(shard_map, wanted, record)
    return ShardRecord(
        range=wanted,
        status=ShardStatus.RETIRED,
        epoch=epoch,
        released=epoch,
        last_holder=record.last_holder if record else None,
        version=record.version if record else "",
        uid=record.uid if record else "",
    )


def activated(
    wanted: KeyRange,
    first_read: ShardRecord | None,
    live_map: ShardMap,
    clear: frozenset[KeyRange],
    members: Iterable[MemberRecord],
    *,
    just_opened: bool,
) -> ShardRecord | None:
    """R9: the record to write over `first_read.version`, or None when the range must not be activated now.

    The arguments are quorum reads made in this order: the range's record, then the map, then all records. clear: see
    `clear_ranges`, of these. just_opened: the map write that first marked the range opened is part of this very
    operation, after the first read. A range that was opened before and is missing, or was mangled by hand, needs the
    lost mark in the map and every member's echo.
    """
    if wanted not in clear:
        return None
    if first_read is None or is_mangled(first_read):
        if wanted not in live_map.opened:
            return None
        seen_by_all = wanted in live_map.lost and echoed(live_map.lost[wanted], members)
        if not (just_opened and first_read is None) and not seen_by_all:
            return None
    elif first_read.status is ShardStatus.ACTIVE or not is_free(first_read, live_map):
        return None
    epoch = _next_epoch(live_map, wanted, first_read)
    return ShardRecord(
        range=wanted,
        status=ShardStatus.ACTIVE,
        epoch=epoch,
        released=epoch,
        last_holder=first_read.last_holder if first_read else None,
        version=first_read.version if first_read else "",
        uid=first_read.uid if first_read else "",
    )


def remembered_epochs(shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> dict[KeyRange, int]:
    """Highest epoch per range, as the map should remember it for the day somebody deletes the record."""
    known = dict(shard_map.shard_epochs)
    for each, record in shards.items():
        known[each] = max(known.get(each, 0), record.epoch)
    return known


def with_memory(draft: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> ShardMap:
    """The map with what it should remember of ranges, in as little as that takes.

    Of ranges that are in no list and have no record (theirs was collected) one number stays, the highest epoch of all:
    a map is one object of limited size, and a fleet may be cut in many ways in its life. Such a range begins like one
    that never was opened, but above that epoch. Safe once R15 let its record go: no activation of it is on its way.
    """
    epochs = remembered_epochs(draft, shards)
    needed = {*draft.ranges, *draft.retiring, *draft.lost, *shards}
    gone = [epoch for each, epoch in epochs.items() if each not in needed]
    return replace(
        draft,
        opened=draft.opened & needed,
        shard_epochs={each: epoch for each, epoch in epochs.items() if each in needed},
        forgotten_ranges=max([draft.forgotten_ranges, *gone]),
    )


def _next_epoch(shard_map: ShardMap, wanted: KeyRange, record: ShardRecord | None) -> int:
    """Above all that anybody may remember of the range."""
    known = shard_map.shard_epochs.get(wanted, 0), shard_map.forgotten_ranges, record.epoch if record else 0
    return max(known) + 1


REBUILT_STEP = 1_000_000
"""More maps than a coordinator writes between two renewals of a member: what the members last repeated can lag."""


def rebuilt(last: ShardMap | None, empty: ShardMap, shards: Iterable[ShardRecord], highest_seen: int) -> ShardMap:
    """R14: a map after somebody deleted it, from the shard records. Active records outside the layout retire.

    last: the last map that this coordinator knows, whose layout stays. empty: one with the configured layout, which
    counts where the active records are no layout by themselves. highest_seen: the highest version that the coordinator
    or any member has seen; a member that still follows the old map must not seem to follow the new one. Every range of
    the layout counts as opened: one without a record may have an owner that has not noticed. Holders become targets.
    """
    draft = empty if last is None else replace(last, coordinator_epoch=empty.coordinator_epoch)
    records = {record.range: record for record in shards}
    active = {each: record for each, record in records.items() if record.status is ShardStatus.ACTIVE}
    if last is None and _covers(active):
        boundaries = tuple(sorted(each.first for each in active))
        # Whether it is the layout of the config, one that was cut since, or the middle of a reshard, no record says. So
        # it is taken for one of its own count: where that is another than the config's, the config's is made again.
        draft = replace(
            draft,
            partition_key=next(iter(active)).key,
            boundaries=boundaries,
            targets=("",) * len(active),
            base_count=len(active),
        )
    layout = draft.ranges
    holders = {each: record.holder.member for each, record in active.items() if record.holder is not None}
    return replace(
        draft,
        version=highest_seen + REBUILT_STEP,
        targets=tuple(holders.get(each, target) for each, target in zip(layout, draft.targets, strict=True)),
        opened=draft.opened | active.keys() | frozenset(layout),
        retiring=(draft.retiring | active.keys()) - frozenset(layout),
        shard_epochs=remembered_epochs(draft, records),
        forgotten=max([draft.forgotten, *(each.last_holder.epoch for each in records.values() if each.last_holder)]),
    )


def _covers(ranges: Iterable[KeyRange]) -> bool:
    """Whether the ranges are exactly one layout: one key, no gap, no overlap."""
    found, expected = sorted(ranges), 0
    for each in found:
        if each.first != expected or each.key is not found[0].key:
            return False
        expected = each.last + 1
    return expected == SPACE
