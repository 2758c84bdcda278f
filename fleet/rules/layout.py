"""From one layout of the key space to the next, in one write of the map. Pure: rule R7.

Ranges that stay are not touched: their record, epoch and target stay as they are. Those that leave go to `retiring`.
New ones begin with the member that holds most of their hashes today. There is one reshard at a time: a new layout is
made when nothing retires any more and every range has an active record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import NamedTuple

from fleet.records.record import MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.handover import is_free
from shards.keyrange import SPACE, KeyRange, PartitionKey, equal_boundaries, range_of, ranges_from
from shards.versions import at_least, comparable

__all__ = ["LayoutError", "Point", "Wanted", "boundaries_for", "is_settled", "next_layout", "relaid", "told"]

Point = tuple[int, float]
"""A hash that was observed, and its weight: objects, or cost."""


class LayoutError(ValueError):
    """A layout that was asked for and cannot be. The text is a sentence that says what would be right."""


class Wanted(NamedTuple):
    """What the config asks for. version: of the config."""

    shards: int
    key: PartitionKey
    version: str


@dataclass(frozen=True, slots=True)
class Heir:
    """Who holds most of a new range's hashes today. part: of the range, 0 to 1."""

    member: str = ""
    part: float = 0.0


def is_settled(shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> bool:
    """Whether no reshard is under way: nothing retires, and every range of the layout has an active record. One of
    another protocol could not be retired: what overlaps it would have no owner."""
    layout = set(shard_map.ranges)
    if shard_map.retiring or any(r.status is ShardStatus.ACTIVE and r.range not in layout for r in shards.values()):
        return False
    return all((r := shards.get(each)) and r.status is ShardStatus.ACTIVE and not r.foreign for each in layout)


def next_layout(
    shard_map: ShardMap, wanted: Wanted, shards: Mapping[KeyRange, ShardRecord], points: Sequence[Point] = ()
) -> ShardMap | None:
    """The map that follows the config, None when this one does, or the config is older than the one it follows (R16).

    points: observed hashes under the key that is wanted, with their weights. While a reshard is under way, the next one
    waits; the version that is recorded is of the config whose layout is in force.
    """
    if is_older(wanted.version, shard_map.config_version):
        return None
    if (wanted.shards, wanted.key) == (base_count(shard_map), shard_map.partition_key):
        if wanted.version == shard_map.config_version and not shard_map.config_refused:
            return None
        return replace(shard_map, config_version=wanted.version, base_count=wanted.shards, config_refused="")
    if not is_settled(shard_map, shards):
        return None
    boundaries = boundaries_for(wanted.shards, wanted.key, points)
    new = relaid(shard_map, boundaries, wanted.key, shards)
    return replace(new, config_version=wanted.version, base_count=wanted.shards, config_refused="")


def is_older(version: str, than: str) -> bool:
    """Of two versions of a config; none is older than any. One that somebody made up in the map is no version."""
    return comparable(than) and not (comparable(version) and at_least(version, than))


def base_count(shard_map: ShardMap) -> int:
    return shard_map.base_count or len(shard_map.boundaries)


def relaid(
    shard_map: ShardMap, boundaries: tuple[int, ...], key: PartitionKey, shards: Mapping[KeyRange, ShardRecord]
) -> ShardMap:
    """The same map with another layout. Raises ValueError for boundaries that are none."""
    before, after = set(shard_map.ranges), ranges_from(boundaries, key)
    heirs = heirs_of(boundaries, shard_map, shards)
    targets = tuple(
        (shard_map.target_of(each) or "") if each in before else heir.member
        for each, heir in zip(after, heirs, strict=True)
    )
    return replace(
        shard_map,
        partition_key=key,
        boundaries=boundaries,
        targets=targets,
        retiring=(shard_map.retiring | before) - set(after),
    )


def heirs_of(
    boundaries: Sequence[int], shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]
) -> tuple[Heir, ...]:
    """Per new range, who holds most of its hashes; of several, who inherits least so far. Under another key the same
    hashes are other objects: there it keeps every member's part of the whole as it is."""
    old = shard_map.ranges
    holders = [_holder(each, target, shard_map, shards) for each, target in zip(old, shard_map.targets, strict=True)]
    found, inherited = [], Counter[str]()
    for each in ranges_from(tuple(boundaries)):
        held: dict[str, int] = {}
        for i in range(range_of(each.first, shard_map.boundaries), range_of(each.last, shard_map.boundaries) + 1):
            width = min(each.last, old[i].last) - max(each.first, old[i].first) + 1
            held[holders[i]] = held.get(holders[i], 0) + width
        held.pop("", None)
        best = min(held, key=lambda name: (-held[name], inherited[name], name), default="")
        inherited[best] += 1
        found.append(Heir(best, held.get(best, 0) / (each.last - each.first + 1)))
    return tuple(found)


def _holder(each: KeyRange, target: str, shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> str:
    record = shards.get(each)
    if record is not None and record.holder is not None and not is_free(record, shard_map):
        return record.holder.member
    return target


# -- boundaries ------------------------------------------------------------------------------------------------------


def namespace_points(members: Iterable[MemberRecord]) -> list[Point]:
    """What living members report of the namespaces of their objects."""
    return [point for member in members if member.holder is not None for point in member.spread]


def boundaries_for(count: int, key: PartitionKey, points: Sequence[Point] = ()) -> tuple[int, ...]:
    """First hashes of `count` ranges: of one width, but for namespaces, which are few and of any size: weighted."""
    if key is not PartitionKey.NAMESPACE or not points:
        return equal_boundaries(count)
    return weighted_boundaries(count, points)


def weighted_boundaries(count: int, points: Sequence[Point]) -> tuple[int, ...]:
    """Ranges of nearly one weight. A hash is never divided, so one that is heavy gets a range of its own; where there
    are fewer hashes than ranges, the widest ranges are halved until the count is right."""
    weights: dict[int, float] = {}
    for value, weight in points:
        if weight > 0:
            weights[value] = weights.get(value, 0.0) + weight
    if not weights:
        return equal_boundaries(count)
    hashes = sorted(weights)
    before = [0.0, *accumulate(weights[value] for value in hashes)]
    chosen = {0}
    for i in range(1, count):
        want = before[-1] * i / count
        j = bisect_left(before, want)
        nearest = j if j == 0 or before[j] - want <= want - before[j - 1] else j - 1
        if 0 < nearest < len(hashes):
            chosen.add(hashes[nearest])
    return _filled(chosen, count)


def _filled(chosen: set[int], count: int) -> tuple[int, ...]:
    """As many boundaries as asked for: halves the widest ranges."""
    found = set(chosen)
    widest = [(start - end, start) for start, end in pairwise([*sorted(chosen), SPACE])]
    heapify(widest)
    while len(found) < count:
        negative, start = heappop(widest)
        middle, end = start - negative // 2, start - negative
        found.add(middle)
        heappush(widest, (start - middle, start))
        heappush(widest, (middle - end, middle))
    return tuple(sorted(found))


# -- sentences -------------------------------------------------------------------------------------------------------


def told(before: ShardMap, after: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> list[str]:
    """What the next layout changes, in one sentence per range that leaves or is new, and one for those that stay."""
    old, new = before.ranges, after.ranges
    staying = set(old) & set(new)
    lines = []
    for each, target in zip(old, before.targets, strict=True):
        if each not in staying:
            holder = _holder(each, target, before, shards)
            ending = f"{holder} holds it today and gives it up" if holder else "nobody holds it today"
            lines.append(f"{each.short} leaves the layout; {ending}")
    heirs = heirs_of(after.boundaries, before, shards)
    for each, heir in zip(new, heirs, strict=True):
        if each not in staying:
            beginning = _beginning(heir, each.key is before.partition_key)
            lines.append(f"{each.short} is new, {_origin(each, before, old)}; {beginning}")
    if staying:
        lines.append(f"{len(staying)} of {len(old)} ranges stay as they are")
    return lines


def _origin(each: KeyRange, before: ShardMap, old: Sequence[KeyRange]) -> str:
    if each.key is not before.partition_key:
        return f"under the key {each.key}"
    first, last = range_of(each.first, before.boundaries), range_of(each.last, before.boundaries)
    if first == last:
        return f"a part of {old[first].short}"
    return f"made of {last - first + 1} ranges from {old[first].short} to {old[last].short}"


def _beginning(heir: Heir, same_key: bool) -> str:
    if not heir.member:
        return "the planner places it"
    return f"it begins on {heir.member}" + (f", which holds {heir.part:.0%} of it today" if same_key else "")
