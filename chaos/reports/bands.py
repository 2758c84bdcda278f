"""What was done and for how long: activities, faults of the server, harm to processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from chaos.reports.said import said
from chaos.reports.story import Band
from chaos.running.journal import STRIKES, ActivityRun, Harm, Journal
from fleet.devcluster.recording.journal import FAULT, FAULT_END, FAULTS, Entry

ACTION, FAULT_BAND, HARM = "action", "fault", "harm"
_TOLD = frozenset({"fault", "match", "from_seconds", "until_seconds", "events"})


def bands_of(journal: Journal, entries: Iterable[Entry], *, zero: float, ended: float) -> tuple[Band, ...]:
    """In order of their beginnings. ended: of the story; nothing lasts longer."""
    found = [*_activities(journal, zero, ended), *_harms(journal.harms, zero, ended), *_faults(entries, zero, ended)]
    return tuple(sorted(found, key=lambda each: (each.began, each.ended)))


def since_start(journal: Journal, date: str, zero: float) -> float:
    """date: of an activity. Seconds on the recording's clock, since the start."""
    return datetime.fromisoformat(date).timestamp() - journal.clock_offset - zero


def _activities(journal: Journal, zero: float, ended: float) -> Iterator[Band]:
    for phase, runs in (("method", journal.run), ("rollback", journal.rollbacks)):
        for run in runs:
            if run.type != "action":
                continue
            began = since_start(journal, run.start, zero)
            yield Band(
                ACTION,
                run.name if phase == "method" else f"undo: {run.name}",
                began,
                max(began, min(since_start(journal, run.end, zero), ended)),
                answer_of(run),
                run.status == "failed",
            )
            yield from _strikes(run.output, zero, ended)


def answer_of(run: ActivityRun) -> str:
    """What it returned or raised, in a few words."""
    output = run.output
    if isinstance(output, dict):
        output = {name: value for name, value in output.items() if name != STRIKES}
    return run.exception or ("" if output in (None, {}) else said(output))


def _strikes(output: Any, zero: float, ended: float) -> Iterator[Band]:
    """See `chaos.running.journal.STRIKES`."""
    for each in output.get(STRIKES) or [] if isinstance(output, dict) else []:
        began, until = float(each["at"]) - zero, each.get("until")
        end = began if until is None else min(float(until) - zero, ended)
        yield Band(HARM, str(each["what"]), began, max(began, end), str(each.get("detail", "")))


def _harms(harms: Iterable[Harm], zero: float, ended: float) -> Iterator[Band]:
    for harm in harms:
        whom = harm.member or f"{harm.child} of {harm.pod}"
        began = harm.at - zero
        if harm.kind == "killed":
            yield Band(HARM, f"{whom} killed", began, began, f"SIGKILL to {harm.child} of the pod {harm.pod}")
        else:
            until = ended if harm.until is None else min(harm.until - zero, ended)
            yield Band(HARM, f"{whom} {harm.kind}", began, max(began, until), f"{harm.child} of the pod {harm.pod}")


def _faults(entries: Iterable[Entry], zero: float, ended: float) -> Iterator[Band]:
    """Of two alike that are in force at once, the one that came first ends first."""
    open_since: dict[str, list[float]] = defaultdict(list)
    struck: dict[str, int] = defaultdict(int)
    for entry in entries:
        if entry.verb == FAULT:
            if not open_since[entry.note]:
                struck[entry.note] = 0
            open_since[entry.note].append(entry.time - zero)
        elif entry.verb == FAULT_END and open_since[entry.note]:
            yield _fault(entry.note, open_since[entry.note].pop(0), entry.time - zero, struck[entry.note])
        elif entry.verb in FAULTS:
            struck[entry.note] += 1
    for note, begins in open_since.items():
        for began in begins:
            yield _fault(note, began, ended, struck[note])


def _fault(note: str, began: float, ended: float, struck: int) -> Band:
    document = _document(note)
    since, until = began + _seconds(document, "from_seconds", 0.0), began + _seconds(document, "until_seconds", 1e9)
    label, detail = fault_words(document) if document else (note, "")
    times = f"struck {struck} times" if struck else ""
    begin, end = min(since, ended), max(min(since, ended), min(until, ended))
    return Band(FAULT_BAND, label, begin, end, "; ".join(each for each in (detail, times) if each))


def fault_words(document: Mapping[str, Any]) -> tuple[str, str]:
    """A fault (docs/faults.md) in a few words, and whom it strikes."""
    more = {name: value for name, value in document.items() if name not in _TOLD}
    numbers = " ".join(f"{value}" if name == "status" else f"{name} {said(value)}" for name, value in more.items())
    label = f"{document.get('fault', 'fault')} {numbers}".strip()
    match = document.get("match")
    whom = said(match) if match else "everybody"
    events = f", events: {said(document['events'])}" if document.get("events") else ""
    return label, f"strikes {whom}{events}"


def _document(note: str) -> dict[str, Any]:
    """{} for what is none: a journal may come from anywhere."""
    try:
        found = msgspec.json.decode(note)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(document: Mapping[str, Any], name: str, default: float) -> float:
    value = document.get(name)
    return float(value) if isinstance(value, (int, float)) else default
