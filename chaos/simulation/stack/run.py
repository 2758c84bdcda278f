"""`run_stack`: one plan, one history of the real stack, one outcome."""

from __future__ import annotations

from collections.abc import Callable

from chaos.simulation.happenings import Happening
from chaos.simulation.outcome import Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.stack.history import played


def run_stack(plan: Plan, *, say: Say | None = None, hear: Callable[[Happening], None] | None = None) -> Outcome:
    """Plays it in virtual time, outside of any event loop. say: takes the trace. hear: is told of strikes, and of what
    becomes of processes."""
    return played(plan, say, hear)
