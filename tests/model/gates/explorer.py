"""Explores everything that can happen in a world of the gates, and says what was found. See `tests.model.explorer`."""

from __future__ import annotations

from functools import partial

from tests.model.gates.moves import steps
from tests.model.gates.world import NONE, State, World, is_current
from tests.model.search import LIVENESS, NOTHING, SAFETY, Found, Search


def violation(w: World, s: State) -> str:
    """I3, on every state: "" where it holds."""
    for i, me in enumerate(s.owners):
        if me.ledger != NONE and w.may_run(s, i) and not is_current(s, w.basis(s, i), s.floor):
            return f"I3: {i} may decide on {w.basis(s, i)}, which is older than its key's write at {s.floor}"
    return ""


def served(w: World, s: State) -> bool:
    """The key runs, on what there is."""
    return any(w.may_run(s, i) and (not w.fresh or w.basis(s, i) == s.object) for i in range(len(s.owners)))


def explore(w: World, most: int = 2_000_000) -> Found:
    """most: states after which it gives up."""
    search = Search(w.start())
    for i, before in enumerate(search.order):
        if i == most:
            return search.gave_up()
        for label, state, fault in steps(w, before):
            j = search.reach(i, label, state, fault)
            if j is not None and (broken := violation(w, state)):
                return search.found(SAFETY, broken, search.path(j))
    stuck = search.hopeless(partial(served, w))
    if stuck is not None:
        what = "L: the key never runs again" + (" on what there is" if w.fresh else "")
        return search.found(LIVENESS, what, search.path(stuck))
    return search.found(NOTHING, "", [])
