"""How each range stood, from claim to claim: the recording tells of Leases, the workers' notes of what they did."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from chaos.reports.hearing import Hearing
from chaos.reports.story import IDLE, Kind, Lapse, Phase, Row
from chaos.running.journal import Harm
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan, Verdict
from shards.keyrange import KeyRange

LAPSES_KEPT = 10

_WHY = {
    "release": "was released, and not claimed yet",
    "activation": "is new, and not claimed yet",
    "deletion": "its record was deleted",
    "death": "its holder was declared dead",
}


class Standing:
    """zero: the recording's time of the start. began, ended: what is shown, in seconds since then."""

    def __init__(self, heard: Hearing, harms: Iterable[Harm], *, zero: float, began: float, ended: float) -> None:
        self._heard, self._zero, self._began, self._ended = heard, zero, began, ended
        self._harms: dict[str, list[Harm]] = defaultdict(list)
        for harm in harms:
            if harm.member:
                self._harms[harm.member].append(harm)

    def rows(self, verdict: Verdict) -> tuple[Row, ...]:
        """In the order of their hashes."""
        gaps: dict[str, list[Gap]] = defaultdict(list)
        for gap in verdict.gaps:
            gaps[gap.range].append(gap)
        found = []
        for covered in sorted(verdict.timeline.keys() | gaps.keys(), key=_order):
            phases = tuple(self._shown(self._phases(verdict.timeline.get(covered, []), gaps[covered])))
            if phases:
                found.append(Row(covered, _short(covered), phases))
        return tuple(found)

    def _phases(self, spans: Sequence[OwnershipSpan], gaps: Sequence[Gap]) -> list[Phase]:
        """In the recording's time."""
        found: list[Phase] = []
        end = self._zero + self._ended
        deaths = sorted(gap.began_at for gap in gaps if gap.cause == "death")
        for span in spans:
            found += self._held(span, min(span.ended_at if span.ended_at is not None else end, end), deaths)
        claims = sorted(span.claimed_at for span in spans)
        for gap in gaps:
            if gap.cause == "death" or self._at_start(gap):
                continue  # a dead holder still has the Lease: that is told with the span
            after = bisect_left(claims, gap.began_at)
            until = claims[after] if after < len(claims) else end
            found.append(Phase(Kind.UNOWNED, gap.began_at, until, why=_WHY.get(gap.cause, gap.cause)))
        return sorted(found, key=lambda phase: phase.began)

    def _at_start(self, gap: Gap) -> bool:
        """Whether it was over before the experiment began: a fleet that starts has no owners yet."""
        return gap.cause == "activation" and gap.ended_at is not None and gap.ended_at <= self._zero

    def _held(self, span: OwnershipSpan, until: float, deaths: Sequence[float]) -> Iterator[Phase]:
        member, _, _ = span.holder.rpartition("@")
        since = span.claimed_at
        turn = (span.range, member, span.epoch)
        died, why = self._death(member, span, until, deaths)
        alive = min(until, died)
        opened = self._heard.opened.get(turn, alive if member in self._heard.noting else since)
        draining = self._heard.draining.get(turn, until)
        steps = ((Kind.OPENING, since, opened), (Kind.OWNED, opened, draining), (Kind.DRAINING, draining, until))
        for kind, first, last in steps:
            for frozen, begin, finish in self._thawed(member, max(first, since), min(last, alive)):
                reason = f"{member} stood still" if frozen else ""
                yield Phase(Kind.FROZEN if frozen else kind, begin, finish, member, span.epoch, reason)
        if died < until:
            yield Phase(Kind.DEAD, died, until, member, span.epoch, why)

    def _death(self, member: str, span: OwnershipSpan, until: float, deaths: Sequence[float]) -> tuple[float, str]:
        """When its holder ended, and how that is known; `until` where it lived on."""
        for harm in self._harms[member]:
            if harm.kind == "killed" and span.claimed_at <= harm.at < until:
                return harm.at, f"{member} was killed"
        after = bisect_left(deaths, span.claimed_at)
        if after < len(deaths) and deaths[after] < until:
            return deaths[after], f"{member} was declared dead"
        return until, ""

    def _thawed(self, member: str, first: float, last: float) -> Iterator[tuple[bool, float, float]]:
        """The time in pieces, with whether the process stood still."""
        at = first
        for harm in self._harms[member]:
            stop, go = harm.at, harm.until if harm.until is not None else last
            if harm.kind != "paused" or go <= at or stop >= last:
                continue
            if stop > at:
                yield False, at, stop
            yield True, max(at, stop), min(go, last)
            at = min(go, last)
        if at < last:
            yield False, at, last

    def _shown(self, phases: Iterable[Phase]) -> Iterator[Phase]:
        """Since the start, and only what is in the picture."""
        for phase in phases:
            began = max(phase.began - self._zero, self._began)
            ended = min(phase.ended - self._zero, self._ended)
            if ended > began:
                yield replace(phase, began=began, ended=ended)


def lapses_of(rows: Iterable[Row], end: float) -> list[Lapse]:
    """Longest first. What follows on each other without anybody at work is one."""
    return sorted((each for row in rows for each in _lapses(row, end)), key=lambda each: -each.seconds)


def _lapses(row: Row, end: float) -> Iterator[Lapse]:
    phases = row.phases
    index = 0
    while index < len(phases):
        first = index
        while index < len(phases) and phases[index].kind in IDLE:
            index += 1
        if index == first:
            index += 1
            continue
        idle = phases[first:index]
        after = phases[index] if index < len(phases) else None
        began, ended = idle[0].began, max(each.ended for each in idle)
        before = idle[0].member or (phases[first - 1].member if first else "")
        opened = next((each.began for each in phases[index:] if each.kind is Kind.OWNED), None)
        yield Lapse(
            row.range,
            row.short,
            idle[0].why,
            began,
            None if after is None and ended >= end else ended,
            ended - began,
            opened,
            before,
            after.member if after else "",
        )


def _order(covered: str) -> tuple[str, str]:
    key, _, hashes = covered.rpartition(".")
    return key, hashes


def _short(covered: str) -> str:
    try:
        return KeyRange.parse(covered).short
    except ValueError:
        return covered
