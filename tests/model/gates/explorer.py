"""Explores everything that can happen in a world of the gates, and says what was found. See `tests.model.explorer`."""

from __future__ import annotations

import time

from tests.model.explorer import LIVENESS, NOTHING, SAFETY, Found
from tests.model.gates.moves import steps
from tests.model.gates.world import NONE, State, World, is_current


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
    began = time.process_time()
    start = w.start()
    index, order, parents, labels = {start: 0}, [start], [-1], ["start"]
    back: list[list[int]] = [[]]
    for i in range(most):
        if i == len(order):
            break
        for label, state, fault in steps(w, order[i]):
            j = index.get(state)
            if j is None:
                j = index[state] = len(order)
                order.append(state)
                parents.append(i)
                labels.append(label)
                back.append([])
                if broken := violation(w, state):
                    return _found(SAFETY, broken, _path(parents, labels, j), order, began)
            if not fault and j != i:
                back[j].append(i)
    else:
        return _found(NOTHING, "", [], order, began)._replace(whole=False)
    good = [served(w, s) for s in order]
    stack = [i for i, each in enumerate(good) if each]
    while stack:
        for i in back[stack.pop()]:
            if not good[i]:
                good[i] = True
                stack.append(i)
    stuck = next((i for i, each in enumerate(good) if not each), None)
    if stuck is not None:
        what = "L: the key never runs again" + (" on what there is" if w.fresh else "")
        return _found(LIVENESS, what, _path(parents, labels, stuck), order, began)
    return _found(NOTHING, "", [], order, began)


def _found(breaks: str, what: str, path: list[str], order: list[State], began: float) -> Found:
    return Found(breaks, what, path, len(order), time.process_time() - began, True)


def _path(parents: list[int], labels: list[str], i: int) -> list[str]:
    path = []
    while i >= 0:
        path.append(labels[i])
        i = parents[i]
    return path[::-1]
