"""An experiment on paper: a journal, a verdict and notes, on a recording whose clock stood at ZERO at the start."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from chaos.reports.story import Story
from chaos.reports.telling import story_of
from chaos.running.journal import ActivityRun, Harm, Journal, SteadyState, SteadyStates
from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED, Finding, Gap, Judgement, OwnershipSpan, Verdict
from fleet.devcluster.recording.journal import FAULT, FAULT_END, LOST, Entry
from shards.journal import Note
from shards.keyrange import ranges_from

ZERO = 1000.0
OFFSET = 1_796_000_000.0
"""Between the recording's clock and that of the wall."""


def covered(count: int) -> list[str]:
    """The texts of so many ranges."""
    return [str(each) for each in ranges_from([index * 2**64 // count for index in range(count)])]


def date(at: float) -> str:
    """at: seconds since the start."""
    return datetime.fromtimestamp(OFFSET + ZERO + at, UTC).isoformat()


def ran(name: str, at: float, seconds: float = 0.1, **more: Any) -> ActivityRun:
    fields: dict[str, Any] = {"type": "action", "status": "succeeded", "output": None} | more
    return ActivityRun(name=name, start=date(at), end=date(at + seconds), duration=seconds, **fields)


def asked(name: str, output: Any, *, met: bool = True, at: float = 0.0) -> ActivityRun:
    return ran(name, at, type="probe", output=output, tolerance="0", tolerance_met=met)


def span(where: str, holder: str, epoch: int, since: float, until: float | None = None, how: str = "") -> OwnershipSpan:
    """since, until: seconds since the start."""
    return OwnershipSpan(
        where,
        holder,
        epoch,
        claimed_seq=epoch,
        claimed_at=ZERO + since,
        ended_at=None if until is None else ZERO + until,
        ended_by=how,
    )


def gap(where: str, cause: str, since: float, until: float | None) -> Gap:
    return Gap(where, cause, ZERO + since, None if until is None else ZERO + until)


def note(what: str, at: float, member: str, **more: Any) -> Note:
    return Note(what, ZERO + at, member, **more)


def reconciled(member: str, uid: str, at: float, *, waited: float, took: float) -> list[Note]:
    """at: when it ended."""
    return [
        note("started", at - took, member, controller="sites", uid=uid, seconds=waited),
        note("ended", at, member, controller="sites", uid=uid, seconds=took, outcome="success"),
    ]


def fault(document: str, since: float, until: float | None, *, strikes: int = 0) -> list[Entry]:
    lines = [Entry(1, ZERO + since, FAULT, "", note=document)]
    lines += [Entry(2, ZERO + since + 0.01 * each, LOST, "", note=document) for each in range(strikes)]
    return [*lines, *([] if until is None else [Entry(3, ZERO + until, FAULT_END, "", note=document)])]


def judgement(name: str, outcome: str = HELD, *found: tuple[float, str]) -> Judgement:
    findings = [Finding(name, 0, ZERO + at, what) for at, what in found]
    why = "no such thing in the journal" if outcome == NOT_JUDGED else ""
    return Judgement(name, f"The promise {name}.", outcome, 12, "checks", why, len(findings), findings)


def journal(verdict: Verdict, **more: Any) -> Journal:
    """Of ten seconds, in which everything held unless `more` says otherwise."""
    before, after = [asked("double acts", 0)], [asked("double acts", 0, at=9.0)]
    fields: dict[str, Any] = {
        "experiment": {
            "title": "it holds",
            "description": "Somebody is killed.",
            "steady-state-hypothesis": {"title": "every key has one owner", "probes": []},
            "extensions": [{"name": "shardfleet", "target": {}, "attacks": ["I1"]}],
        },
        "name": "killed",
        "start": date(0.0),
        "end": date(10.0),
        "duration": 10.0,
        "steady_states": SteadyStates(SteadyState(True, before), SteadyState(True, after)),
        "run": [ran("kill a worker", 2.0, output={"worker": "a-0"})],
        "target": "dev",
        "verdict": verdict,
        "clock_offset": OFFSET,
    }
    return Journal(**(fields | more))


def killed(at: float, member: str = "a-0") -> Harm:
    pod, _, number = member.partition("-")
    return Harm(kind="killed", pod=pod, child=f"worker-{number}", member=member, at=ZERO + at)


def failing_story(count: int = 3, *, text: str = "somebody", title: str = "it holds") -> Story:
    """Its worker a-0 is killed at 2 s, b-0 claims at 5 s and opens at 6 s; two owners act at 5.5 s. text: stands
    wherever somebody's text can stand."""
    spans, lines = {}, list[Entry | Note](fault(f'{{"fault":"silence","match":{{"name":"{text}"}}}}', 1.0, 4.0))
    for index, where in enumerate(covered(count)):
        if index % 3 == 0:
            spans[where] = [span(where, "a-0@1", 2, -5.0, 5.0, "takeover"), span(where, "b-0@1", 3, 5.0)]
            lines.append(note("opened", 6.0, "b-0", range=where, epoch=3))
        else:
            spans[where] = [span(where, "b-0@1", 2, -5.0)]
        lines.append(note("opened", -4.5, "a-0" if index % 3 == 0 else "b-0", range=where, epoch=2))
    for index in range(40):
        lines += reconciled("b-0", str(index), index / 5, waited=0.01, took=0.05 + index / 100)
    broken = judgement("I1", BROKEN, (5.5, f"{text} was written by a-0@1, which is fenced"))
    verdict = Verdict(
        timeline=spans,
        invariants=[broken, judgement("I2"), judgement("I3", NOT_JUDGED)],
        findings=[Finding("overlap_violations", 7, ZERO + 5.5, text)],
        overlap_violations=1,
        entries=1234,
    )
    made = journal(verdict, harms=[killed(2.0)], status="failed", deviated=True)
    made.experiment |= {"title": title, "description": text}
    made.run = [ran(text, 2.0, output={"worker": text}), ran("fails", 4.0, exception=f"Oh: {text}", status="failed")]
    after = [asked("double acts", text, met=False, at=9.0), asked(text, 0, at=9.0)]
    made.steady_states.after = SteadyState(False, after)
    made.name = text if text != "somebody" else "killed"
    return story_of(made, sorted(lines, key=lambda line: line.time))
