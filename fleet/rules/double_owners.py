"""Whether two could act on one key: the same question put to records, to members' reports and to workers. Pure.

It must never be so (P1), and no rule rests on this: it is the alarm for the day on which one of them was broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fleet.records.record import MemberRecord, ShardRecord, ShardStatus
from fleet.rules.coverage import Claim
from fleet.rules.handover import Phase
from shards.keyrange import KeyRange, PartitionKey

KEPT_SECONDS = 120.0
"""How long a finding counts after it was last seen, so that nobody who looks every minute can miss it."""


class Double(NamedTuple):
    """One finding. what: a sentence for the log. keys: what tells it from others."""

    keys: tuple[str, str, str]
    what: str


class _Said(NamedTuple):
    """A range that a member said it holds, and the version of its record that said so."""

    range: KeyRange
    member: MemberRecord


@dataclass(slots=True)
class DoubleOwners:
    """What one observer has found. found: when each was last seen, by its keys.

    What people or slow watches can cause for a moment counts only when it is still so at the next look (of workers), or
    when both members have renewed meanwhile (of their reports).
    """

    found: dict[tuple[str, str, str], float] = field(default_factory=dict)
    _reported: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    """Versions of the two records in which an overlap of reports was first seen."""
    _doubted: frozenset[tuple[str, str, str]] = frozenset()

    def look(
        self,
        claims: Sequence[Claim],
        members: Mapping[str, MemberRecord],
        shards: Mapping[KeyRange, ShardRecord],
        workers: Iterable[Mapping[str, Any]],
        now: float,
    ) -> list[Double]:
        """What was not known before. claims: the living ones. workers: what they say of themselves (`Worker.status`),
        asked after the records were read."""
        self.found = {keys: seen for keys, seen in self.found.items() if now - seen <= KEPT_SECONDS}
        everything = [*_of_records(claims), *self._of_reports(members), *self._of_workers(workers, shards)]
        new = [each for each in everything if each.keys not in self.found]
        self.found |= {each.keys: now for each in everything}
        return new

    def _of_reports(self, members: Mapping[str, MemberRecord]) -> Iterator[Double]:
        said = [
            _Said(KeyRange.parse(text), member)
            for member in members.values()
            if member.holder is not None
            for text in member.loads
            if _is_range(text)
        ]
        before, self._reported = self._reported, {}
        for one, other in _overlapping(sorted(said, key=lambda each: each.range)):
            if one.member.name == other.member.name:
                continue
            one, other = sorted((one, other), key=lambda each: each.member.name)
            keys = ("report", f"{one.member.name} {one.range}", f"{other.member.name} {other.range}")
            versions = one.member.version, other.member.version
            first = self._reported[keys] = before.get(keys, versions)
            if first[0] != versions[0] and first[1] != versions[1]:
                yield Double(
                    keys, f"{one.member.name} says it holds {one.range}, and {other.member.name} {other.range}"
                )

    def _of_workers(
        self, workers: Iterable[Mapping[str, Any]], shards: Mapping[KeyRange, ShardRecord]
    ) -> Iterator[Double]:
        doubted = {each.keys: each for worker in workers for each in _foreign(worker, shards)}
        yield from (each for keys, each in doubted.items() if keys in self._doubted)
        self._doubted = frozenset(doubted)


def _of_records(claims: Sequence[Claim]) -> Iterator[Double]:
    """Living claims whose ranges overlap, or are cut by two partition keys (R7)."""
    by_key: dict[PartitionKey, list[Claim]] = {}
    for claim in sorted(claims, key=lambda each: each.range):
        by_key.setdefault(claim.partition_key, []).append(claim)
    first, *others = by_key.values() or [[]]
    pairs = [(first[0], each[0]) for each in others]
    for each in by_key.values():
        pairs += _overlapping(each)
    for one, other in pairs:
        keys = ("record", f"{one.holder} {one.range}", f"{other.holder} {other.range}")
        yield Double(keys, f"{one.holder} holds {one.range}, and {other.holder} holds {other.range}")


def _foreign(worker: Mapping[str, Any], shards: Mapping[KeyRange, ShardRecord]) -> Iterator[Double]:
    """Ranges that a worker works on under an epoch that is over, as its Lease says."""
    member = str(worker.get("member", ""))
    for text, told in (worker.get("shards") or {}).items():
        if told.get("phase") != Phase.OWNED or not told.get("open") or not _is_range(text):
            continue
        epoch, record = told.get("epoch", 0), shards.get(KeyRange.parse(text))
        if record is None or record.epoch < epoch:
            continue  # the reader is behind the worker; a Lease that was deleted is nobody else's
        holder = record.holder
        if holder is not None and holder.member == member and record.epoch == epoch:
            continue
        if record.epoch > epoch or record.status is not ShardStatus.ACTIVE or holder is not None:
            whose = str(holder) if holder is not None else "nobody"
            yield Double(
                ("worker", f"{member} {text}", str(epoch)),
                f"{member} works on {text} at epoch {epoch}, but its Lease is at epoch {record.epoch}, held by {whose}",
            )


def _overlapping(ordered: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs whose ranges have a hash in common. ordered: by range."""
    reaching: list[Any] = []
    for each in ordered:
        reaching = [one for one in reaching if one.range.last >= each.range.first]
        yield from ((one, each) for one in reaching)
        reaching.append(each)


def _is_range(text: str) -> bool:
    try:
        KeyRange.parse(text)
    except ValueError:
        return False
    return True
