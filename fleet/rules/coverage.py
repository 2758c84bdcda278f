"""Which part of the hash space has a living owner, and since when some of it has none. Pure.

The ground truth that alarms rest on: it is read off shard and member records, whatever the layout, the plan or the
coordinator say. An owner lives while its member record names a holder at the very epoch that owns, no floor is above
it, and it has renewed within its deadline, as far as a confirmed view shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.membership import MemberWatch, acting_until
from shards.keyrange import SPACE, KeyRange, PartitionKey


class Claim(NamedTuple):
    """A range that a record gives to a member. until: reading up to which the member may act, by all that was seen."""

    range: KeyRange
    holder: Holder
    until: float
    partition_key: PartitionKey


class Gap(NamedTuple):
    """A stretch of hashes that nobody has owned since then."""

    range: KeyRange
    since: float


R = TypeVar("R", Claim, Gap)


@dataclass(slots=True)
class Coverage:
    """What one observer has seen so far. Times are readings of its own boot clock.

    gaps: in order, without overlaps. seen_at: when the last look was confirmed; minus infinity before the first.
    """

    gaps: tuple[Gap, ...] = ()
    seen_at: float = float("-inf")
    watch: MemberWatch = field(default_factory=MemberWatch)

    def observe(
        self,
        shard_map: ShardMap | None,
        shards: Iterable[ShardRecord],
        members: Mapping[str, MemberRecord],
        *,
        confirmed_at: float,
        now: float,
    ) -> list[Claim]:
        """One look; call it on every change, and every few seconds. Returns the living claims.

        shard_map: the last one that could be read. confirmed_at: reading at which the records were known to be current:
        nobody is silent beyond it, or an observer that sees nothing would call everybody dead.
        """
        self.watch.observe(members, now)
        claims = list(_claims(shards, members, shard_map.floors if shard_map else {}, self.watch))
        as_of = min(confirmed_at, now)
        living = [claim for claim in claims if claim.until >= as_of]
        key = shard_map.partition_key if shard_map else _usual_key(claims)
        in_force = [claim for claim in claims if claim.partition_key is key]
        self.gaps = tuple(_gaps(in_force, self.gaps, as_of, now))
        self.seen_at = max(self.seen_at, confirmed_at)
        return living

    def longest(self, now: float) -> float:
        """Seconds for which the hash that has waited longest has had no owner; 0 where all have one."""
        return max((now - gap.since for gap in self.gaps), default=0.0)

    @property
    def share(self) -> float:
        """Part of the hash space without an owner, 0 to 1."""
        return sum(each.last - each.first + 1 for each, _ in self.gaps) / SPACE


def double_owners(claims: Iterable[Claim]) -> list[tuple[Claim, Claim]]:
    """Pairs of living claims that may hold one key: ranges that overlap, or are cut by two partition keys (R7)."""
    by_key: dict[PartitionKey, list[Claim]] = {}
    for claim in sorted(claims, key=lambda each: each.range):
        by_key.setdefault(claim.partition_key, []).append(claim)
    first, *others = by_key.values() or [[]]
    found = [(first[0], claims[0]) for claims in others]
    for each in by_key.values():
        found += _overlapping(each)
    return found


def _overlapping(ordered: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    reaching: list[Claim] = []
    for claim in ordered:
        reaching = [each for each in reaching if each.range.last >= claim.range.first]
        yield from ((each, claim) for each in reaching)
        reaching.append(claim)


def _usual_key(claims: Iterable[Claim]) -> PartitionKey:
    [(key, _)] = Counter(claim.partition_key for claim in claims).most_common(1) or [(PartitionKey.UID, 0)]
    return key


def _claims(
    shards: Iterable[ShardRecord], members: Mapping[str, MemberRecord], floors: Mapping[str, int], watch: MemberWatch
) -> Iterator[Claim]:
    for record in shards:
        holder = record.holder
        if record.status is not ShardStatus.ACTIVE or holder is None or holder.epoch < floors.get(holder.member, 0):
            continue
        member, seen = members.get(holder.member), watch.sightings.get(holder.member)
        if member is not None and seen is not None and member.holder is not None and member.epoch == holder.epoch:
            yield Claim(record.range, holder, acting_until(seen.since, seen.lease_seconds), record.partition_key)


class _Sweep(Generic[R]):
    """Those of some stretches that cover a hash, asked for in rising order."""

    def __init__(self, stretches: Iterable[R]) -> None:
        self._rest: list[R] = sorted(stretches, key=lambda each: each.range, reverse=True)
        self._here: list[R] = []

    def at(self, value: int) -> list[R]:
        while self._rest and self._rest[-1].range.first <= value:
            self._here.append(self._rest.pop())
        self._here = [each for each in self._here if each.range.last >= value]
        return self._here


def _gaps(claims: Sequence[Claim], before: Sequence[Gap], as_of: float, now: float) -> Iterator[Gap]:
    """What no claim that lives at `as_of` covers, dated back where it was a gap before; neighbours of one age are one.

    What its owner's silence alone leaves has been unowned since its owner's deadline, anything else since this look.
    """
    owned, left = _Sweep(claims), _Sweep(before)
    stretches = [each.range for each in claims] + [each.range for each in before]
    edges = {edge for each in stretches for edge in (each.first, each.last + 1)}
    gap: Gap | None = None
    for at, end in pairwise(sorted(edges | {0, SPACE})):
        here = owned.at(at)
        known = [each.since for each in left.at(at)]
        if any(claim.until >= as_of for claim in here):
            continue
        since = min([max((claim.until for claim in here), default=now), *known])
        if gap is not None and gap.range.last + 1 == at and gap.since == since:
            gap = Gap(KeyRange(gap.range.first, end - 1), since)
            continue
        if gap is not None:
            yield gap
        gap = Gap(KeyRange(at, end - 1), since)
    if gap is not None:
        yield gap
