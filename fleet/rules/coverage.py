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
    doubtful: some owner looks silent, and a live read would say whether it is.
    """

    gaps: tuple[Gap, ...] = ()
    seen_at: float = float("-inf")
    doubtful: bool = False
    watch: MemberWatch = field(default_factory=MemberWatch)
    _deadlines: dict[Holder, float] = field(default_factory=dict)
    """Of those that records named at the last look."""

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
        floors = shard_map.floors if shard_map else {}
        as_of = min(confirmed_at, now)
        living: list[Claim] = []
        ended: list[Claim] = []
        for record in shards:
            if record.status is ShardStatus.ACTIVE and record.holder is not None:
                until = self._until(record.holder, members, floors)
                claim = Claim(record.range, record.holder, until, record.partition_key)
                (living if until >= as_of else ended).append(claim)
        # A holder that was fenced, or began anew, has owned nothing since its deadline, or since now.
        ended = [each._replace(until=min(now, self._deadlines.get(each.holder, now))) for each in ended]
        self._deadlines = {each.holder: each.until for each in (*living, *ended)}
        self.doubtful = any(claim.until < now for claim in living)
        key = shard_map.partition_key if shard_map else _usual_key(living)
        self.gaps = tuple(_gaps(_of(key, living), _of(key, ended), self.gaps, now))
        self.seen_at = max(self.seen_at, confirmed_at)
        return living

    def _until(self, holder: Holder, members: Mapping[str, MemberRecord], floors: Mapping[str, int]) -> float:
        """Reading up to which it may act, by what was seen; minus infinity where it may not."""
        member, seen = members.get(holder.member), self.watch.sightings.get(holder.member)
        if member is None or seen is None or member.holder is None or member.epoch != holder.epoch:
            return float("-inf")
        alive = holder.epoch >= floors.get(holder.member, 0)
        return acting_until(seen.since, seen.lease_seconds) if alive else float("-inf")

    def longest(self, now: float) -> float:
        """Seconds for which the hash that has waited longest has had no owner; 0 where all have one."""
        return max((now - gap.since for gap in self.gaps), default=0.0)

    @property
    def share(self) -> float:
        """Part of the hash space without an owner, 0 to 1."""
        return sum(each.last - each.first + 1 for each, _ in self.gaps) / SPACE


def _usual_key(claims: Iterable[Claim]) -> PartitionKey:
    [(key, _)] = Counter(claim.partition_key for claim in claims).most_common(1) or [(PartitionKey.UID, 0)]
    return key


def _of(key: PartitionKey, claims: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.partition_key is key]


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


def _gaps(living: Sequence[Claim], ended: Sequence[Claim], before: Sequence[Gap], now: float) -> Iterator[Gap]:
    """What no living claim covers, dated back where it was a gap before; neighbours of one age are one.

    What a former owner left has been unowned since that one's end, anything else since this look.
    """
    owned, left, unowned = _Sweep(living), _Sweep(ended), _Sweep(before)
    stretches = [each.range for each in (*living, *ended)] + [each.range for each in before]
    edges = {edge for each in stretches for edge in (each.first, each.last + 1)}
    gap: Gap | None = None
    for at, end in pairwise(sorted(edges | {0, SPACE})):
        last_owners, known, is_owned = left.at(at), unowned.at(at), owned.at(at)
        if is_owned:
            continue
        since = min([max((claim.until for claim in last_owners), default=now), *(each.since for each in known)])
        if gap is not None and gap.range.last + 1 == at and gap.since == since:
            gap = Gap(KeyRange(gap.range.first, end - 1), since)
            continue
        if gap is not None:
            yield gap
        gap = Gap(KeyRange(at, end - 1), since)
    if gap is not None:
        yield gap
