"""What the recorder's verdict says about kills: who owned what when, and for how long nobody did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from chaos.target import Kill
from fleet.devcluster.evidence.verdict import OwnershipSpan, Verdict


def member_of(span: OwnershipSpan) -> str:
    """Name of the member that held the range in that span."""
    return span.holder.rpartition("@")[0]


def lost_spans(verdict: Verdict, kill: Kill) -> list[OwnershipSpan]:
    """What the dead worker held when it was killed."""
    return [
        span
        for spans in verdict.timeline.values()
        for span in spans
        if member_of(span) == kill.member
        and span.claimed_at <= kill.at
        and (span.ended_at is None or span.ended_at > kill.at)
    ]


def owned_ranges(verdict: Verdict, kills: Iterable[Kill]) -> Counter[str]:
    """How many ranges each living member holds. What a dead incarnation still holds by its Lease counts for nobody."""
    dead = {(span.range, span.epoch) for kill in kills for span in lost_spans(verdict, kill)}
    ownerless = {gap.range for gap in verdict.gaps if gap.ended_at is None}
    last = (spans[-1] for spans in verdict.timeline.values() if spans)
    return Counter(
        member_of(span)
        for span in last
        if span.ended_at is None and span.range not in ownerless and (span.range, span.epoch) not in dead
    )


def takeover_seconds(verdict: Verdict, kill: Kill, now: float) -> dict[str, float]:
    """Per range that the dead worker held: from the kill to the next claim; until now where there was none yet."""
    return {span.range: _next_claim(verdict, span, now) - kill.at for span in lost_spans(verdict, kill)}


def _next_claim(verdict: Verdict, lost: OwnershipSpan, now: float) -> float:
    return next(_claims_after(verdict.timeline[lost.range], lost), now)


def _claims_after(spans: Iterable[OwnershipSpan], lost: OwnershipSpan) -> Iterator[float]:
    return (span.claimed_at for span in spans if span.claimed_seq > lost.claimed_seq)
