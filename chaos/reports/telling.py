"""From what an experiment left to its story."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import takewhile
from typing import Any

from chaos.reports.bands import bands_of
from chaos.reports.hearing import Hearing
from chaos.reports.load import load_of
from chaos.reports.phases import LAPSES_KEPT, Standing, lapses_of
from chaos.reports.places import places_of
from chaos.reports.story import Question, Story
from chaos.reports.words import words_of
from chaos.running.journal import Journal, SteadyState
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note

LEAD_SECONDS = 1.0
"""Shown of what was before the start."""
AFTER_SECONDS = 3.0
"""Likewise of what came after the end."""


def story_of(journal: Journal, lines: Iterable[Entry | Note]) -> Story:
    """lines: of the recording and of the workers' notes, in order of time. Whatever is missing is told as missing."""
    judged_at = math.inf if journal.judged_at is None else journal.judged_at
    heard = Hearing(takewhile(lambda line: line.time <= judged_at, lines))
    verdict = journal.verdict or Verdict()
    zero = _seconds_of(journal.start) - journal.clock_offset
    began, ended = -LEAD_SECONDS, _end(journal, heard) - zero
    rows = Standing(heard, journal.harms, zero=zero, began=began, ended=ended).rows(verdict)
    bands = bands_of(journal, heard.faults, zero=zero, ended=ended)
    load = load_of(heard.reconciles, rows, zero=zero, began=began, ended=ended)
    places = places_of(verdict, bands, zero=zero, ended=ended)
    lapses = lapses_of(rows, ended)
    questions = _questions(journal)
    members = sorted({phase.member for row in rows for phase in row.phases if phase.member})
    extension = _extension(journal.experiment)
    excused = tuple(dict.fromkeys(_excused(journal.experiment)))
    return Story(
        name=journal.name or _text(journal.experiment, "title"),
        title=_text(journal.experiment, "title"),
        description=_text(journal.experiment, "description"),
        target=journal.target,
        start=journal.start,
        seconds=journal.duration,
        status=journal.status,
        passed=journal.passed,
        without=journal.without,
        words=words_of(
            journal,
            verdict,
            questions=questions,
            places=places,
            lapses=lapses,
            load=load,
            members=len(members),
            ranges=len(rows),
            excused=excused,
        ),
        began=began,
        ended=ended,
        members=tuple(members),
        rows=rows,
        bands=bands,
        load=load,
        lapses=tuple(lapses[:LAPSES_KEPT]),
        invariants=tuple(verdict.invariants),
        attacks=tuple(str(each) for each in extension.get("attacks", [])),
        excused=excused,
        promises=_text(extension, "promises"),
        places=places,
        questions=questions,
        entries=verdict.entries,
        missing=verdict.missing,
    )


def _end(journal: Journal, heard: Hearing) -> float:
    """By the recording's clock: what came after the last activity is shown for a little while."""
    over = _seconds_of(journal.end or journal.start) - journal.clock_offset
    return max(over, min(over + AFTER_SECONDS, over if heard.last is None else heard.last))


def _questions(journal: Journal) -> tuple[Question, ...]:
    before, after = _by_name(journal.steady_states.before), _by_name(journal.steady_states.after)
    return tuple(Question(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after]))


def _by_name(look: SteadyState | None) -> dict[str, Any]:
    return {run.name: run for run in look.probes} if look is not None else {}


def _extension(document: dict[str, Any]) -> dict[str, Any]:
    for each in document.get("extensions") or []:
        if isinstance(each, dict) and "target" in each:
            return each
    return {}


def _excused(document: dict[str, Any]) -> Iterator[str]:
    """Invariants that probes leave out: `without` of `chaos.probes.promises.broken_invariants`."""
    hypothesis = document.get("steady-state-hypothesis")
    for probe in hypothesis.get("probes", []) if isinstance(hypothesis, dict) else []:
        arguments = probe.get("provider", {}).get("arguments") or {}
        yield from (str(each) for each in arguments.get("without") or [])


def _text(document: dict[str, Any], name: str) -> str:
    return str(document.get(name, ""))


def _seconds_of(date: str) -> float:
    return datetime.fromisoformat(date).timestamp()
