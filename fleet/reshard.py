"""The life of a range's shard record: opened, active, retired, lost and back. Pure: rules R7 to R9 and R14.

A range leaves the layout through `retiring` and one retire write; it enters by an activation whose reads happen in a
fixed order. Workers never create shard records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fleet.coordination import MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.handover import is_free
from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the map should say about its ranges' records, and which records need a write.

    opening: ranges that were never opened: the map must say so before their record is created. lost, retiring: for the
    next map. activate: ranges of the layout without a usable record, whose activation may be tried, `opening` included.
    retire: ranges in `retiring` whose record may get its retire write now.
    """

    opening: frozenset[KeyRange]
    lost: dict[KeyRange, int]
    retiring: frozenset[KeyRange]
    activate: tuple[KeyRange, ...]
    retire: tuple[KeyRange, ...]


def upkeep(
    shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord], members: Iterable[MemberRecord], next_version: int
) -> Upkeep:
    """One look at map and records. next_version: of the map that a newly lost range would be marked in."""
    layout = shard_map.ranges
    strays = {
        record.range
        for record in shards.values()
        if record.status is not ShardStatus.RETIRED and record.range not in layout
    }
    retiring = shard_map.retiring | strays
    lost = dict(shard_map.lost)
    for each in layout:
        record = shards.get(each)
        if each in shard_map.opened and (record is None or is_mangled(record)):
            lost.setdefault(each, next_version)
        elif record is not None and not is_mangled(record):
            lost.pop(each, None)
    live = [member for member in members if member.holder is not None]
    activate = []
    for each in layout:
        record = shards.get(each)
        if record is not None and record.status is ShardStatus.ACTIVE and not is_mangled(record):
            continue
        if any(each.overlaps(other) for other in retiring):
            continue
        if each in shard_map.lost and not echoed(shard_map.lost[each], live):
            continue
        if each in shard_map.opened and record is None and each not in shard_map.lost:
            continue
        activate.append(each)
    opening = frozenset(each for each in activate if shards.get(each) is None and each not in shard_map.opened)
    retire = tuple(each for each in sorted(shard_map.retiring) if may_retire(shards.get(each), shard_map, each, live))
    return Upkeep(opening, lost, frozenset(retiring), tuple(activate), retire)


def echoed(since_version: int, live: Iterable[MemberRecord]) -> bool:
    """Whether every live member follows a map at least as new: none can still act on what that map took away."""
    return all(member.seen_map >= since_version for member in live)


def is_mangled(record: ShardRecord) -> bool:
    """An active record whose holder was emptied or overwritten by hand: it names nobody, and no release says so."""
    return (
        record.status is ShardStatus.ACTIVE
        and record.holder is None
        and not (not record.holder_text and record.released == record.epoch)
    )


def may_retire(record: ShardRecord | None, shard_map: ShardMap, wanted: KeyRange, live: Iterable[MemberRecord]) -> bool:
    """R8: a range is retired when free. A missing record of an opened range is not free until all have noticed."""
    if record is None:
        return wanted not in shard_map.opened or (wanted in shard_map.lost and echoed(shard_map.lost[wanted], live))
    return record.status is ShardStatus.RETIRED or is_free(record, shard_map)


def retired(shard_map: ShardMap, wanted: KeyRange, record: ShardRecord | None) -> ShardRecord:
    """The retire write. Also for a range that was never opened: it makes an old coordinator's activation conflict."""
    epoch = max(record.epoch if record else 0, shard_map.shard_epochs.get(wanted, 0)) + 1
    return ShardRecord(
        range=wanted,
        partition_key=shard_map.partition_key,
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
    others: Iterable[ShardRecord],
    live_members: Iterable[MemberRecord],
    *,
    just_opened: bool,
) -> ShardRecord | None:
    """R9: the record to write over `first_read.version`, or None when the range must not be activated now.

    The arguments are quorum reads made in this order: the range's record, then the map, then all records. just_opened:
    the map write that first marked the range opened is part of this very operation, after the first read. A range that
    was opened before and is missing, or was mangled by hand, needs the lost mark in the map and every member's echo.
    """
    if wanted not in live_map.ranges or any(wanted.overlaps(other) for other in live_map.retiring):
        return None
    records = list(others)
    if any(r.range != wanted and r.range.overlaps(wanted) and r.status is ShardStatus.ACTIVE for r in records):
        return None
    missing = first_read is None or is_mangled(first_read)
    if missing:
        if wanted not in live_map.opened:
            return None
        seen_by_all = wanted in live_map.lost and echoed(live_map.lost[wanted], live_members)
        if not (just_opened and first_read is None) and not seen_by_all:
            return None
    elif first_read is not None and (first_read.status is ShardStatus.ACTIVE or not is_free(first_read, live_map)):
        return None
    epoch = max(first_read.epoch if first_read else 0, live_map.shard_epochs.get(wanted, 0)) + 1
    return ShardRecord(
        range=wanted,
        partition_key=live_map.partition_key,
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


def rebuilt(draft: ShardMap, shards: Iterable[ShardRecord], highest_seen: int) -> ShardMap:
    """R14: a map after somebody deleted it, from the shard records: what was active is opened; strays retire.

    draft: an empty map with the configured layout. Holders become targets where their range is in the layout.
    """
    records = [record for record in shards if record.partition_key is draft.partition_key]
    active = [record for record in records if record.status is ShardStatus.ACTIVE]
    first_hashes = sorted(record.range.first for record in active)
    if _covers(active):
        draft = replace(draft, boundaries=tuple(first_hashes))
    holders = {record.range: record.holder.member for record in active if record.holder is not None}
    layout = draft.ranges
    return replace(
        draft,
        version=highest_seen + 1,
        targets=tuple(holders.get(each, "") for each in layout),
        opened=frozenset(record.range for record in active),
        retiring=frozenset(record.range for record in active if record.range not in layout),
        shard_epochs={record.range: record.epoch for record in records},
    )


def _covers(active: Iterable[ShardRecord]) -> bool:
    """Whether the records' ranges are exactly one layout: no gap, no overlap."""
    expected = 0
    for record in sorted(active, key=lambda record: record.range):
        if record.range.first != expected:
            return False
        expected = record.range.last + 1
    return expected == 1 << 64
