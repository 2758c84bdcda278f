"""Where on the timeline the judge found something: by what was done right before, and what was wrong then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chaos.reports import said
from chaos.reports.bands import ACTION
from chaos.reports.story import Band, Place
from fleet.devcluster.evidence.verdict import BROKEN, Judgement, Verdict

PLACES_KEPT = 60
_LATELY_SECONDS = 30.0
"""What was over for longer than that is not named."""
_COUNTS = {
    "overlap_violations": "two owners of one key",
    "writes_after_release": "a write after a release",
    "duplicate_child_posts": "a child posted twice",
    "duplicate_status_writes": "a status written twice",
    "unattributed_writes": "a write by nobody knows whom",
}


def places_of(verdict: Verdict, bands: Sequence[Band], *, zero: float, ended: float) -> tuple[Place, ...]:
    """In order of time: the first findings of each invariant, and of each count. ended: of the story; what was found
    later is there."""
    found: list[Place] = []
    for judgement in verdict.invariants:
        found += _of(judgement, bands, zero, ended)
    for finding in verdict.findings:
        at = min(finding.time - zero, ended)
        name = _COUNTS.get(finding.rule, finding.rule)
        found.append(Place(name, at, finding.what, where(at, bands)))
    return tuple(sorted(found, key=lambda each: each.at)[:PLACES_KEPT])


def _of(judgement: Judgement, bands: Sequence[Band], zero: float, ended: float) -> Iterator[Place]:
    if judgement.outcome != BROKEN:
        return
    for finding in judgement.findings:
        at = min(finding.time - zero, ended)
        yield Place(judgement.id, at, finding.what, where(at, bands))


def where(at: float, bands: Iterable[Band]) -> str:
    """`1.2 s after “kill a worker”, while “refuse 503” was in force`; "" where nothing was done before."""
    before = [band for band in bands if band.kind == ACTION and band.began <= at]
    words = []
    if before:
        last = before[-1]
        if at <= last.ended:
            words.append(f"during \N{LEFT DOUBLE QUOTATION MARK}{last.label}\N{RIGHT DOUBLE QUOTATION MARK}")
        else:
            words.append(
                f"{said.seconds(at - last.began)} after \N{LEFT DOUBLE QUOTATION MARK}{last.label}"
                "\N{RIGHT DOUBLE QUOTATION MARK} began"
            )
    others = [band for band in bands if band.kind != ACTION]
    lasting = [band.label for band in others if band.began <= at < band.ended]
    if lasting:
        words.append(f"while {said.listed(dict.fromkeys(lasting))} lasted")
    over = [band for band in others if band.ended <= at <= band.ended + _LATELY_SECONDS]
    if over and not lasting:
        last_over = max(over, key=lambda band: band.ended)
        ended = "" if last_over.ended == last_over.began else " was over"
        words.append(f"{said.seconds(at - last_over.ended)} after {last_over.label}{ended}")
    return ", ".join(words)
