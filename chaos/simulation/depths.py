"""The two depths of the simulation, behind one function."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from chaos.simulation.collector import collector_off
from chaos.simulation.happenings import Happening
from chaos.simulation.outcome import Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.trace import Trace


def run(plan: Plan, *, say: Say | None = None, hear: Callable[[Happening], None] | None = None) -> Outcome:
    """Plays the history of a plan at its depth. say: hears every line of it; the outcome has their digest then. hear: a
    second ear beside the jury."""
    with collector_off():
        if say is None:
            return _run(plan, None, hear)
        trace = Trace(say)
        return msgspec.structs.replace(_run(plan, trace, hear), digest=trace.digest)


def _run(plan: Plan, say: Say | None, hear: Callable[[Happening], None] | None) -> Outcome:
    """The depths are imported where they are used: each is slow to load."""
    if plan.depth == "protocol":
        from chaos.simulation.protocol.run import run_protocol

        return run_protocol(plan, say=say, hear=hear)
    from chaos.simulation.stack.run import run_stack

    return run_stack(plan, say=say, hear=hear)
