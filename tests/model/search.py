"""A search through all states, breadth first: what it has seen, by which moves, and what it came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)

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


class Search(Generic[S]):
    """order: states in the order in which they were reached; they are known by their places in it."""

    def __init__(self, start: S) -> None:
        self.order = [start]
        self._began = time.process_time()
        self._index = {start: 0}
        self._parents = [-1]
        self._labels = ["start"]
        self._back: list[list[int]] = [[]]

    def reach(self, i: int, label: str, state: S, fault: bool) -> int | None:
        """The move leads from the i-th state to this one. Its place where it is new, else None. fault: nobody can count
        on the move."""
        j = known = self._index.get(state)
        if j is None:
            j = self._index[state] = len(self.order)
            self.order.append(state)
            self._parents.append(i)
            self._labels.append(label)
            self._back.append([])
        if not fault and j != i:
            self._back[j].append(i)
        return j if known is None else None

    def path(self, i: int) -> list[str]:
        path = []
        while i >= 0:
            path.append(self._labels[i])
            i = self._parents[i]
        return path[::-1]

    def hopeless(self, is_good: Callable[[S], bool]) -> int | None:
        """The first state from which no good one can be reached by moves that are no fault; None: there is none."""
        good = list(map(is_good, self.order))
        stack = [i for i, each in enumerate(good) if each]
        while stack:
            for i in self._back[stack.pop()]:
                if not good[i]:
                    good[i] = True
                    stack.append(i)
        return next((i for i, each in enumerate(good) if not each), None)

    def found(self, breaks: str, what: str, path: list[str]) -> Found:
        return Found(breaks, what, path, len(self.order), time.process_time() - self._began, True)

    def gave_up(self) -> Found:
        return self.found(NOTHING, "", [])._replace(whole=False)
