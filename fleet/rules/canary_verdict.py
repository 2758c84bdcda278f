"""Whether a canary may grow: how its part of the fleet fares beside the rest, and by fixed limits. PURE.

What is worse than its limit condemns the canary only where the rest is better; where the rest is as bad, something else
is wrong, and that is no time for the next step. Too little to judge by is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from fleet.records.report_record import PartRecord

TOLERANCE = 1.5
"""The canary may be so many times as bad as the rest before that counts: parts of a fleet are never quite alike."""

MOST_PARKED_SHARE = 0.05
LONGEST_PARKED_SECONDS = 30.0
"""Past what a live read settles by far: views do not catch up."""
LONGEST_WAIT_SECONDS = 10.0
"""Of a ready key for a slot."""
MOST_TROUBLED_SHARE = 0.01
MOST_LIVE_READS = 0.05
"""Per reconcile, of the gate: those of authors and before deletions say nothing of the views. One in twenty is a watch
that lags."""
MORE_REQUESTS = 0.5
"""Per reconcile, beyond what the tolerance allows: a cost that is small in itself condemns nothing."""

ENOUGH_SECONDS = 300.0
ENOUGH_RECONCILES = 20


class Word(StrEnum):
    """Worse ones later."""

    GO_ON = "go on"
    WAIT = "wait"
    STEP_BACK = "step back"


@dataclass(frozen=True, slots=True)
class Enough:
    """What there must be to judge by. seconds: since the last step. reconciles: of the part."""

    seconds: float = ENOUGH_SECONDS
    reconciles: int = ENOUGH_RECONCILES


@dataclass(frozen=True, slots=True)
class Criterion:
    """canary, rest, limit: of the figure; None where there is none."""

    name: str
    word: Word
    sentence: str
    canary: float | None = None
    rest: float | None = None
    limit: float | None = None


def summed(records: Sequence[PartRecord], controller: str = "", on: str = "") -> PartRecord:
    """Several as one part of the fleet. shards: counted once for each controller. seconds: for how long all of it has
    been as it is."""
    return PartRecord(
        controller=controller,
        on=on,
        shards=sum(each.shards for each in records),
        seconds=min((each.seconds for each in records), default=0),
        keys=sum(each.keys for each in records),
        parked=sum(each.parked for each in records),
        failing=sum(each.failing for each in records),
        reconciles=sum(each.reconciles for each in records),
        requests=sum(each.requests for each in records),
        live_reads=sum(each.live_reads for each in records),
        longest_wait=max((each.longest_wait for each in records), default=0.0),
        longest_parked=max((each.longest_parked for each in records), default=0.0),
        paused=sum(each.paused for each in records),
    )


def judge_parts(canary: PartRecord, rest: PartRecord | None, enough: Enough) -> tuple[Criterion, ...]:
    """rest: None where the canary is all that there is, or nothing is comparable."""
    return (
        _measured(canary, enough),
        _worse(
            "keys waiting for their view",
            _share(canary.parked, canary.keys),
            None if rest is None else _share(rest.parked, rest.keys),
            MOST_PARKED_SHARE,
            "of the keys",
        ),
        _worse(
            "longest wait for a view",
            canary.longest_parked,
            None if rest is None else rest.longest_parked,
            LONGEST_PARKED_SECONDS,
            "s",
        ),
        _worse(
            "longest wait in the queue",
            canary.longest_wait,
            None if rest is None else rest.longest_wait,
            LONGEST_WAIT_SECONDS,
            "s",
        ),
        _few("keys that keep failing", canary, rest, attrgetter("failing")),
        _few("keys whose destructive acts are paused", canary, rest, attrgetter("paused")),
        _live_reads(canary, rest, enough),
        _requests(canary, rest, enough),
    )


def worst(criteria: Sequence[Criterion]) -> Word:
    words = [each.word for each in criteria]
    return max(words, key=list(Word).index, default=Word.WAIT)


def _measured(canary: PartRecord, enough: Enough) -> Criterion:
    name = "measured long enough"
    if canary.seconds < enough.seconds:
        sentence = f"some shard has been as it is for {canary.seconds} s only; {enough.seconds:g} s are needed"
        return Criterion(name, Word.WAIT, sentence, canary.seconds, None, enough.seconds)
    if canary.reconciles < enough.reconciles:
        sentence = f"{canary.reconciles} reconciles in five minutes; {enough.reconciles} are needed"
        return Criterion(name, Word.WAIT, sentence, canary.reconciles, None, enough.reconciles)
    sentence = f"{canary.reconciles} reconciles in {canary.seconds} s"
    return Criterion(name, Word.GO_ON, sentence, canary.seconds, None, enough.seconds)


def _few(name: str, canary: PartRecord, rest: PartRecord | None, count: Callable[[PartRecord], int]) -> Criterion:
    """A single key in trouble says something about that key."""
    limit = max(MOST_TROUBLED_SHARE, _share(1, canary.keys))
    share = None if rest is None else _share(count(rest), rest.keys)
    return _worse(name, _share(count(canary), canary.keys), share, limit, "of the keys")


def _live_reads(canary: PartRecord, rest: PartRecord | None, enough: Enough) -> Criterion:
    name = "live reads of the gate per reconcile"
    value = _rate(canary.live_reads, canary, enough)
    if value is None:
        return _too_few(name, canary)
    return _worse(name, value, _rate(rest.live_reads, rest, enough) if rest is not None else None, MOST_LIVE_READS, "")


def _requests(canary: PartRecord, rest: PartRecord | None, enough: Enough) -> Criterion:
    """How many are right is the author's matter: only the rest can tell."""
    name = "requests per reconcile"
    value = _rate(canary.requests, canary, enough)
    if value is None:
        return _too_few(name, canary)
    other = _rate(rest.requests, rest, enough) if rest is not None else None
    if other is None:
        return Criterion(name, Word.GO_ON, f"{value:.3g}, with nothing to compare it with", value)
    limit = TOLERANCE * other + MORE_REQUESTS
    word = Word.STEP_BACK if value > limit else Word.GO_ON
    return Criterion(name, word, f"{value:.3g}, and {other:.3g} in the rest", value, other, limit)


def _rate(count: int, part: PartRecord, enough: Enough) -> float | None:
    """Per reconcile; None where there were too few to say so."""
    return count / max(part.reconciles, 1) if part.reconciles >= enough.reconciles else None


def _too_few(name: str, canary: PartRecord) -> Criterion:
    return Criterion(name, Word.WAIT, f"too few reconciles to judge by ({canary.reconciles})")


def _worse(name: str, value: float, rest: float | None, limit: float, unit: str) -> Criterion:
    """Against a fixed limit, and against the rest."""
    shown = _shown(value, unit)
    if value <= limit:
        return Criterion(name, Word.GO_ON, f"{shown}, at most {_shown(limit, unit)}", value, rest, limit)
    if rest is not None and value <= TOLERANCE * rest:
        sentence = f"{shown} is above {_shown(limit, unit)}, and the rest is no better ({_shown(rest, unit)}):"
        return Criterion(name, Word.WAIT, f"{sentence} something else is wrong", value, rest, limit)
    beside = "" if rest is None else f", and {_shown(rest, unit)} in the rest"
    return Criterion(name, Word.STEP_BACK, f"{shown} is above {_shown(limit, unit)}{beside}", value, rest, limit)


def _shown(value: float, unit: str) -> str:
    if unit == "of the keys":
        return f"{100 * value:.3g} % of the keys"
    return f"{value:.3g} {unit}".rstrip()


def _share(count: int, of: int) -> float:
    return count / of if of else 0.0
