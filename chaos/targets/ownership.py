"""What the recorder's verdict says about ownership: who had what when, and for how long nobody did. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from chaos.targets.target import End
from fleet.devcluster.evidence.verdict import OwnershipSpan, Verdict
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import LEASES
from shards.api.useragent import UserAgent
from shards.keyrange import SPACE, KeyRange


def member_of(span: OwnershipSpan) -> str:
    """Name of the member that held the range in that span."""
    return span.holder.rpartition("@")[0]


def lost_spans(verdict: Verdict, end: End) -> list[OwnershipSpan]:
    """What the dead worker held when it was killed."""
    return [
        span
        for spans in verdict.timeline.values()
        for span in spans
        if member_of(span) == end.member
        and span.claimed_at <= end.at
        and (span.ended_at is None or span.ended_at > end.at)
    ]


def owned_share(verdict: Verdict, ends: Iterable[End]) -> float:
    """The part of all hashes whose range has a living owner: 1.0 when nothing is left alone, whatever the ranges."""
    return sum(_size(KeyRange.parse(each)) for each in _owned(verdict, ends)) / SPACE


def owned_ranges(verdict: Verdict, ends: Iterable[End]) -> Counter[str]:
    """How many ranges each living member holds. What a dead incarnation still holds by its Lease counts for nobody."""
    return Counter(member_of(span) for span in _owned(verdict, ends).values())


def owned_spans(verdict: Verdict, ends: Iterable[End]) -> list[OwnershipSpan]:
    """The present ones of living owners."""
    return list(_owned(verdict, ends).values())


def _owned(verdict: Verdict, ends: Iterable[End]) -> dict[str, OwnershipSpan]:
    ended: dict[str, float] = {}
    for end in ends:
        ended[end.member] = max(end.at, ended.get(end.member, -math.inf))
    ownerless = {gap.range for gap in verdict.gaps if gap.ended_at is None}
    last = (spans[-1] for spans in verdict.timeline.values() if spans)
    return {
        span.range: span
        for span in last
        if span.ended_at is None
        and span.range not in ownerless
        and span.claimed_at > ended.get(member_of(span), -math.inf)
    }


def takeover_seconds(verdict: Verdict, end: End, now: float) -> dict[str, float]:
    """Per range that the dead worker held: from the kill to the next claim; until now where there was none yet."""
    return {span.range: _next_claim(verdict, span, now) - end.at for span in lost_spans(verdict, end)}


def late_writes(verdict: Verdict, entries: Iterable[Entry]) -> Iterator[float]:
    """Of each accepted write for a range that its author did not own any more: seconds since the next one's claim."""
    tenures: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for spans in verdict.timeline.values():
        for span, after in zip_longest(spans, spans[1:]):
            others_from = math.inf if after is None or after.holder == span.holder else after.claimed_at
            tenures[span.range, span.holder].append((span.claimed_at, others_from))
    for entry in entries:
        agent = UserAgent.parse(entry.user_agent) if entry.write and entry.succeeded else None
        if agent is None or entry.resource == str(LEASES):
            continue
        held = tenures.get((agent.range, f"{agent.member}@{agent.epoch}"), [])
        others_from = next((until for since, until in reversed(held) if since <= entry.time), math.inf)
        if entry.time > others_from:
            yield entry.time - others_from


def _next_claim(verdict: Verdict, lost: OwnershipSpan, now: float) -> float:
    again = next(_claims_after(verdict.timeline[lost.range], lost), now)
    # A range that was cut is not claimed again, but all of its keys are.
    return min(again, _covered_at(verdict, lost, now)) if lost.ended_by == "retire" else again


def _covered_at(verdict: Verdict, lost: OwnershipSpan, now: float) -> float:
    """When other ranges had been claimed that hold all of its keys; now where they are not yet."""
    keys = KeyRange.parse(lost.range)
    missing = [(keys.first, keys.last)]
    claims = (span for spans in verdict.timeline.values() for span in spans if span.claimed_seq > lost.claimed_seq)
    for span in sorted(claims, key=lambda claim: claim.claimed_seq):
        claimed = KeyRange.parse(span.range)
        if claimed.key == keys.key and span.range != lost.range:
            missing = [part for each in missing for part in _without(each, claimed)]
            if not missing:
                return span.claimed_at
    return now


def _without(part: tuple[int, int], claimed: KeyRange) -> list[tuple[int, int]]:
    """What is left of some hashes, both ends included."""
    first, last = part
    left = [(first, min(last, claimed.first - 1)), (max(first, claimed.last + 1), last)]
    return [(low, high) for low, high in left if low <= high]


def _claims_after(spans: Iterable[OwnershipSpan], lost: OwnershipSpan) -> Iterator[float]:
    return (span.claimed_at for span in spans if span.claimed_seq > lost.claimed_seq)


def _size(keys: KeyRange) -> int:
    return keys.last - keys.first + 1
