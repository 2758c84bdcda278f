"""Explores everything that can happen in a world, breadth first, and says what was found.

Safety is looked at in every state, and in every record that the code writes; harm to availability at every step.
Liveness is a question about progress: from every state that can be reached, a good one must be reachable by moves that
are nobody's fault and nobody's choice.
"""

from __future__ import annotations

from functools import partial

from tests.model.faults import fault_steps, owned, settled, violation
from tests.model.handover import range_steps
from tests.model.office import coordinator_steps
from tests.model.records import Departure
from tests.model.search import AVAILABILITY, LIVENESS, NOTHING, SAFETY, Found, Search
from tests.model.state import State, Step, World
from tests.model.workers import worker_steps


def steps(w: World, s: State) -> list[Step]:
    faults = fault_steps(w, s) if s.brown or any(s.budget) else ()
    return [*faults, *worker_steps(w, s), *range_steps(w, s), *coordinator_steps(w, s)]


def explore(w: World, most: int = 6_000_000) -> Found:
    """most: states after which it gives up."""
    search = Search(w.start())
    harmed: tuple[int, str, str] | None = None
    for i, before in enumerate(search.order):
        try:
            moves = steps(w, before)
        except Departure as departure:
            return search.found(SAFETY, str(departure), search.path(i))
        for label, state, fault, harm in moves:
            j = search.reach(i, label, state, fault)
            if j is not None and (broken := violation(w, state)):
                return search.found(SAFETY, broken, search.path(j))
            if harm and harmed is None:
                harmed = (i, label, harm)
        if len(search.order) > most:
            return search.gave_up()
    stuck = search.hopeless(partial(owned, w))
    if stuck is not None:
        return search.found(LIVENESS, "L: some key will never have an owner again", search.path(stuck))
    if harmed is not None:
        at, label, harm = harmed
        return search.found(AVAILABILITY, harm, [*search.path(at), label])
    stuck = search.hopeless(partial(settled, w))
    if stuck is not None:
        return search.found(AVAILABILITY, "A3: what the map wants will never be", search.path(stuck))
    return search.found(NOTHING, "", [])
