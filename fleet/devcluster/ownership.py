"""Who owned which range of one fleet when, read off the Lease writes of a journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from fleet.coordination import Holder, MemberRecord, ProtocolMismatch, ShardRecord, ShardStatus
from fleet.devcluster.journal import Entry
from fleet.devcluster.verdict import Gap, OwnershipSpan
from fleet.lease_records import member_record_from_lease, shard_record_from_lease
from shards.keyrange import KeyRange, PartitionKey, key_hash

LeaseKey = tuple[PartitionKey, KeyRange]

_hash = lru_cache(maxsize=100_000)(key_hash)
"""A key is written many times, and each time compared with every range."""


class Ownership:
    """The members and shards as of the last entry, and how they came to be so.

    Invariants: `_open` holds the span of each range that has a holder; `_gaps` the time since which one has no live
    owner. A gap ends with the next claim by a live member.
    """

    def __init__(self, fleet: str = "") -> None:
        """fleet: what spans and gaps are marked with."""
        self.fleet = fleet
        self.members: dict[str, MemberRecord] = {}
        self.shards: dict[LeaseKey, ShardRecord] = {}
        self.spans: dict[str, list[OwnershipSpan]] = {}
        self.gaps: list[Gap] = []
        self.takeovers = 0
        self.member_writes = 0
        self.lease_writes: Counter[str] = Counter()
        self.released: dict[Holder, set[LeaseKey]] = {}
        self._names: dict[tuple[str, str], LeaseKey | str] = {}
        self._open: dict[LeaseKey, OwnershipSpan] = {}
        self._gaps: dict[LeaseKey, tuple[str, float]] = {}
        self._overlapping: set[frozenset[tuple[LeaseKey, Holder]]] = set()

    def follow(self, entry: Entry) -> Iterator[str]:
        """Takes in a successful write of a Lease; yields each overlap that begins with it."""
        if entry.removed:
            self._removed(entry)
        else:
            obj = entry.decoded()
            if obj is None:
                return
            try:
                shard, member = shard_record_from_lease(obj), member_record_from_lease(obj)
            except ProtocolMismatch:
                return
            where = entry.namespace, entry.name
            if shard is not None:
                key = shard.partition_key, shard.range
                self._names[where] = key
                self._shard_written(entry, key, shard)
            elif member is not None:
                self._names[where] = member.name
                self._member_written(entry, member)
        yield from self._new_overlaps()

    def alive(self, holder: Holder) -> bool:
        """Whether that incarnation holds its member Lease. Unknown members (a partial journal) count as alive."""
        record = self.members.get(holder.member)
        return record is None or (record.epoch == holder.epoch and record.holder is not None)

    def named(self, namespace: str, name: str) -> LeaseKey | str | None:
        """The range, or the member, whose Lease has that name."""
        return self._names.get((namespace, name))

    def has_member(self, name: str) -> bool:
        return name in self.members

    def has_had_range(self, covered: str) -> bool:
        """covered: str(KeyRange)."""
        return covered in self.lease_writes

    def holds(self, holder: Holder, namespace: str, name: str, uid: str) -> bool:
        """Whether that incarnation holds the active range into which the key falls."""
        return any(
            record.holder == holder and record.status is ShardStatus.ACTIVE
            for _, record in self.covering(namespace, name, uid)
        )

    def covering(self, namespace: str, name: str, uid: str) -> Iterator[tuple[LeaseKey, ShardRecord]]:
        """The shard records into whose ranges the key falls, under whatever partition key."""
        for where, record in self.shards.items():
            if _hash(where[0], namespace, name, uid) in where[1]:
                yield where, record

    def has_released(self, holder: Holder, namespace: str, name: str, uid: str) -> bool:
        """Whether that incarnation released a range into which the key falls, and did not claim it again."""
        released = self.released.get(holder, ())
        return any(_hash(key, namespace, name, uid) in covered for key, covered in released)

    def all_gaps(self) -> list[Gap]:
        """Closed ones, then those that last."""
        lasting = [Gap(str(key[1]), cause, began, None, self.fleet) for key, (cause, began) in self._gaps.items()]
        return [*self.gaps, *lasting]

    def _shard_written(self, entry: Entry, key: LeaseKey, new: ShardRecord) -> None:
        old = self.shards.get(key)
        self.shards[key] = new
        self.lease_writes[str(key[1])] += 1
        before = old.holder if old else None
        if new.holder != before or (old and new.holder and new.epoch != old.epoch):
            if before is not None:
                self._end(entry, key, _ending(new, before))
                if new.holder is not None:
                    self.takeovers += 1
            if new.holder is not None:
                self._claimed(entry, key, new, before)
        if new.holder is None and before is not None and new.released == new.epoch and new.last_holder == before:
            self.released.setdefault(before, set()).add(key)
        if new.holder is None and new.status is ShardStatus.ACTIVE and key not in self._gaps:
            self._gaps[key] = ("release" if before else "activation", entry.time)
        if new.status is ShardStatus.RETIRED:
            self._gaps.pop(key, None)

    def _claimed(self, entry: Entry, key: LeaseKey, new: ShardRecord, before: Holder | None) -> None:
        holder = new.holder
        if holder is None:
            raise ValueError("a claim names its holder")
        span = OwnershipSpan(
            str(key[1]),
            str(holder),
            new.epoch,
            entry.seq,
            entry.time,
            over=str(before) if before else "",
            fleet=self.fleet,
        )
        self._open[key] = span
        self.spans.setdefault(span.range, []).append(span)
        self.released.get(holder, set()).discard(key)
        if self.alive(holder) and key in self._gaps:
            cause, began = self._gaps.pop(key)
            self.gaps.append(Gap(span.range, cause, began, entry.time, self.fleet))

    def _member_written(self, entry: Entry, new: MemberRecord) -> None:
        self.members[new.name] = new
        self.member_writes += 1
        for key, record in self.shards.items():
            holder = record.holder
            if holder is not None and holder.member == new.name and not self.alive(holder):
                self._gaps.setdefault(key, ("death", entry.time))

    def _removed(self, entry: Entry) -> None:
        known = self._names.pop((entry.namespace, entry.name), None)
        if isinstance(known, str):
            self.members.pop(known, None)
        elif known is not None:
            record = self.shards.pop(known, None)
            if record is not None and record.holder is not None:
                self._end(entry, known, "deletion")
                self._gaps.setdefault(known, ("deletion", entry.time))
            else:
                self._gaps.pop(known, None)

    def _end(self, entry: Entry, key: LeaseKey, how: str) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span.ended_seq, span.ended_at, span.ended_by = entry.seq, entry.time, how

    def _new_overlaps(self) -> Iterator[str]:
        held = [
            (key, record.holder)
            for key, record in self.shards.items()
            if record.holder is not None and record.status is ShardStatus.ACTIVE and self.alive(record.holder)
        ]
        held.sort(key=lambda each: each[0][1])
        now: set[frozenset[tuple[LeaseKey, Holder]]] = set()
        for index, one in enumerate(held):
            for other in held[index + 1 :]:
                same_key = one[0][0] == other[0][0]
                if same_key and other[0][1].first > one[0][1].last and len({key for (key, _), _ in held}) == 1:
                    break
                if one[1] != other[1] and (not same_key or one[0][1].overlaps(other[0][1])):
                    now.add(frozenset((one, other)))
        for pair in now - self._overlapping:
            shown = sorted(f"{holder} holds {covered} by {key}" for (key, covered), holder in pair)
            yield " while ".join(shown)
        self._overlapping = now


def _ending(new: ShardRecord, before: Holder) -> str:
    if new.holder is not None:
        return "takeover"
    return "release" if new.released == new.epoch and new.last_holder == before else "retire"
