"""Explores everything that can happen in a world, breadth first, and says what was found.

Safety is looked at in every state, and in every record that the code writes; harm to availability at every step.
Liveness is a question about progress: from every state that can be reached, a good one must be reachable by moves that
are nobody's fault and nobody's choice.
"""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from tests.model.faults import fault_steps, owned, settled, violation
from tests.model.handover import range_steps
from tests.model.office import coordinator_steps
from tests.model.records import Departure
from tests.model.state import State, Step, World
from tests.model.workers import worker_steps

SAFETY, LIVENESS, AVAILABILITY, NOTHING = "safety", "liveness", "availability", "nothing"


class Found(NamedTuple):
    """breaks: what is broken first, in the order of these words; NOTHING where all was explored and holds.

    what: the sentence. path: the moves that lead there, a shortest one. whole: whether every state was seen.
    """

    breaks: str
    what: str
    path: list[str]
    states: int
    seconds: float
    whole: bool


def steps(w: World, s: State) -> list[Step]:
    faults = fault_steps(w, s) if s.brown or any(s.budget) else ()
    return [*faults, *worker_steps(w, s), *range_steps(w, s), *coordinator_steps(w, s)]


def explore(w: World, most: int = 6_000_000) -> Found:
    """most: states after which it gives up."""
    began = time.process_time()
    start = w.start()
    index = {start: 0}
    order = [start]
    parents: list[int] = [-1]
    labels: list[str] = ["start"]
    back: list[list[int]] = [[]]
    harmed: tuple[int, str, str] | None = None
    queue = deque([0])
    while queue:
        i = queue.popleft()
        try:
            moves = steps(w, order[i])
        except Departure as departure:
            return _found(SAFETY, str(departure), _path(parents, labels, i), order, began)
        for label, state, fault, harm in moves:
            j = index.get(state)
            if j is None:
                j = len(order)
                index[state] = j
                order.append(state)
                parents.append(i)
                labels.append(label)
                back.append([])
                queue.append(j)
                broken = violation(w, state)
                if broken:
                    return _found(SAFETY, broken, _path(parents, labels, j), order, began)
            if harm and harmed is None:
                harmed = (i, label, harm)
            if not fault and j != i:
                back[j].append(i)
        if len(order) > most:
            return _found(NOTHING, "", [], order, began)._replace(whole=False)
    stuck = _hopeless(w, order, back, owned)
    if stuck is not None:
        path = _path(parents, labels, stuck)
        return _found(LIVENESS, "L: some key will never have an owner again", path, order, began)
    if harmed is not None:
        at, label, harm = harmed
        return _found(AVAILABILITY, harm, [*_path(parents, labels, at), label], order, began)
    stuck = _hopeless(w, order, back, settled)
    if stuck is not None:
        path = _path(parents, labels, stuck)
        return _found(AVAILABILITY, "A3: what the map wants will never be", path, order, began)
    return _found(NOTHING, "", [], order, began)


def _found(breaks: str, what: str, path: list[str], order: list[State], began: float) -> Found:
    return Found(breaks, what, path, len(order), time.process_time() - began, True)


def _hopeless(w: World, order: list[State], back: list[list[int]], goal: object) -> int | None:
    """The first state from which no good one can be reached; None: there is none."""
    assert callable(goal)
    good = [goal(w, s) for s in order]
    stack = [i for i, g in enumerate(good) if g]
    while stack:
        for i in back[stack.pop()]:
            if not good[i]:
                good[i] = True
                stack.append(i)
    return next((i for i, g in enumerate(good) if not g), None)


def _path(parents: list[int], labels: list[str], i: int) -> list[str]:
    path = []
    while i >= 0:
        path.append(labels[i])
        i = parents[i]
    return path[::-1]
