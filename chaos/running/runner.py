"""Carries an experiment out: hypothesis, method, hypothesis again; rollbacks always. Time comes in as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from chaos.documents.experiment import Activity, Experiment
from chaos.running.journal import ActivityRun, Journal, SteadyState
from shards.clock import Clock

Heard = Callable[[str, ActivityRun], None]
"""Told of every activity once it is over: the phase ("before", "method", "after", "rollback") and its run."""

BROKEN_INVARIANTS = ("chaos.probes.promises", "broken_invariants")
"""Module and name of the probe whose answer only gets worse."""


class Runner:
    """clock: seconds, for durations. today: seconds since 1970, for dates. sleep: takes seconds."""

    def __init__(
        self,
        experiment: Experiment,
        target: object,
        *,
        clock: Clock,
        today: Callable[[], float],
        sleep: Callable[[float], None],
        heard: Heard = lambda phase, run: None,
    ) -> None:
        self._experiment = experiment
        self._target = target
        self._clock = clock
        self._today = today
        self._sleep = sleep
        self._heard = heard

    def run(self) -> Journal:
        """Once. A Ctrl-C interrupts hypothesis and method, never the rollbacks of what was done already; a second one,
        during the rollbacks, ends those."""
        journal = Journal(experiment=dict(self._experiment.document), start=self._date())
        began = self._clock()
        try:
            self._attack(journal)
        except KeyboardInterrupt:
            journal.status = "interrupted"
        try:
            for activity in self._experiment.rollbacks:
                journal.rollbacks.append(self._carry_out("rollback", activity))
        except KeyboardInterrupt:
            journal.status = "interrupted"
        journal.end, journal.duration = self._date(), self._clock() - began
        return journal

    def ask_again(self, journal: Journal, judged: object) -> None:
        """What the recording refutes once everything was put back was not kept either: a worker that goes on with the
        rollbacks, say. judged: stands for the target, with the judge's last word as its evidence."""
        after = journal.steady_states.after
        if journal.status != "completed" or after is None:
            return
        for index, probe in enumerate(self._experiment.hypothesis.probes):
            if (probe.provider.module, probe.provider.func) != BROKEN_INVARIANTS:
                continue
            run = self._carried_out(probe, judged)
            if not run.tolerance_met:
                self._heard("end", run)
                after.probes[index] = run
                after.steady_state_met = False
                journal.status, journal.deviated = "failed", True

    def _attack(self, journal: Journal) -> None:
        journal.steady_states.before = before = self._look("before")
        if not before.steady_state_met:
            journal.status = "failed"
            return
        for activity in self._experiment.method:
            run = self._carry_out("method", activity)
            journal.run.append(run)
            if run.status == "failed":
                journal.status = "aborted"
                return
        journal.steady_states.after = after = self._look("after")
        if not after.steady_state_met:
            journal.status, journal.deviated = "failed", True

    def _look(self, phase: str) -> SteadyState:
        """Asks every probe, even after one was not met: the journal is to show all that is wrong."""
        runs = [self._carry_out(phase, probe) for probe in self._experiment.hypothesis.probes]
        return SteadyState(steady_state_met(runs), runs)

    def _carry_out(self, phase: str, activity: Activity) -> ActivityRun:
        self._pause(activity.pause_before)
        run = self._carried_out(activity, self._target)
        self._heard(phase, run)
        self._pause(activity.pause_after)
        return run

    def _carried_out(self, activity: Activity, target: object) -> ActivityRun:
        start, began = self._date(), self._clock()
        output, exception = None, ""
        try:
            output = _as_json(activity.provider.call(target))
        except Exception as error:  # an action or a probe may raise anything; the journal says what
            exception = f"{type(error).__name__}: {error}"
        run = ActivityRun(
            name=activity.name,
            type=activity.type,
            status="failed" if exception else "succeeded",
            start=start,
            end=self._date(),
            duration=self._clock() - began,
            output=output,
            exception=exception,
        )
        if activity.tolerance is not None:
            run.tolerance = str(activity.tolerance)
            run.tolerance_met = not exception and activity.tolerance.met(output)
        return run

    def _pause(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)

    def _date(self) -> str:
        return datetime.fromtimestamp(self._today(), UTC).isoformat()


def steady_state_met(runs: Iterable[ActivityRun]) -> bool:
    """Whether every probe answered within its tolerance."""
    return all(run.tolerance_met for run in runs)


def _as_json(value: Any) -> Any:
    """JSON's types, so that a tolerance judges what the journal shows."""
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return repr(value)
