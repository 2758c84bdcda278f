"""`run_stack`: one plan, one history of the real stack, one outcome."""

from __future__ import annotations

from chaos.simulation.outcome import Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.stack.history import played


def run_stack(plan: Plan, *, say: Say | None = None) -> Outcome:
    """Plays it in virtual time, outside of any event loop. say: takes the trace."""
    return played(plan, say)
