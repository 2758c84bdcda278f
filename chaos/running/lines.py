"""An experiment in words, line by line as it goes on."""

from __future__ import annotations

from typing import Any

from chaos.running.journal import STRIKES, ActivityRun, Journal

_PHASES = {"before": "before", "method": "method", "after": "after", "rollback": "undo", "end": "end"}


def activity_line(phase: str, run: ActivityRun) -> str:
    """One activity that is over."""
    return f"{_PHASES[phase]:<7} {_mark(run):<4} {run.name}: {_answer(run)}"


def verdict_line(journal: Journal) -> str:
    """How it ended, in one sentence."""
    left = f" (not carried out: {', '.join(journal.left)})" if journal.left else ""
    undone = "" if journal.put_back else f"; not everything was put back{left}"
    trouble = f"; {journal.trouble}" if journal.trouble else ""
    return f"{journal.status} after {journal.duration:.1f} s: {_why(journal)}{undone}{trouble}"


def _why(journal: Journal) -> str:
    if journal.status == "completed":
        after = journal.steady_states.after
        return f"all {len(after.probes) if after else 0} probes held before and after"
    if journal.status == "aborted" and not journal.run:
        return "nothing was shown"
    if journal.status == "aborted":
        return "an activity of the method failed, so that nothing was shown"
    if journal.status == "interrupted":
        return "it was told to stop"
    look = journal.steady_states.after if journal.deviated else journal.steady_states.before
    missed = [run.name for run in look.probes if not run.tolerance_met] if look else []
    when = "no more after the method" if journal.deviated else "not even before the method"
    return f"the steady state held {when}: {', '.join(missed)}"


def _mark(run: ActivityRun) -> str:
    return "FAIL" if run.status == "failed" or run.tolerance_met is False else "ok"


def _answer(run: ActivityRun) -> str:
    if run.exception:
        return run.exception
    wanted = "" if run.tolerance_met is None else f" (must be {run.tolerance})"
    return f"{_text(run.output)}{wanted}"


def _text(output: Any) -> str:
    if isinstance(output, dict):
        return ", ".join(f"{name} {_text(value)}" for name, value in output.items() if name != STRIKES)
    return f"{output:.3f}" if isinstance(output, float) else str(output)
