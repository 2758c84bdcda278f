"""What the fleet does not promise in some histories, so that a finding there is no breach. Each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from chaos.simulation.plan import Plan

ON_COMPARE_AND_SWAP = frozenset({"I2", "I4", "I8", "I10", "I13", "I27"})
"""What rests on nothing else, and so holds whatever clocks do."""

BLIND = frozenset({"I3", "I9", "I11", "I14", "I16", "I17", "I18"})
"""What rests on views. No client can see what a server leaves out without a sign, before it looks again."""


class Excuses:
    """hits: what struck so far. hidden: children whose label somebody took away: what a view cannot show is found by
    creating it again, and the answer says so."""

    def __init__(self, plan: Plan, hits: Counter[str], hidden: Container[str]) -> None:
        self._beyond = plan.beyond
        self._hits = hits
        self._hidden = hidden

    def __call__(self, oracle: str, what: str) -> bool:
        if self._beyond and oracle not in ON_COMPARE_AND_SWAP:
            return True
        if oracle in BLIND and (self._hits["dropped-events"] or self._hits["truncated-list"]):
            return True
        return oracle == "I11" and _posted_again(what) in self._hidden


def _posted_again(what: str) -> str:
    """The name of the child that was posted again; "" where the finding is another one."""
    path, posted, _ = what.partition(" was posted again")
    return path.rpartition("/")[2] if posted else ""
