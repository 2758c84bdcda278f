"""Who has most room, among some members whose room changes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush


class Room:
    """level: of a member, now; the lowest comes first, and of equals the first name. Not for members that get emptier:
    a level only rises."""

    def __init__(self, names: Sequence[str], level: Callable[[str], float]) -> None:
        self._level = level
        self._known = {name: level(name) for name in names}
        self._heap = [(known, name) for name, known in self._known.items()]
        heapify(self._heap)

    def first(self, barred: frozenset[str]) -> str | None:
        """None when there are none, or all of them are barred."""
        while self._heap and self._heap[0][0] != self._known[self._heap[0][1]]:
            heappop(self._heap)
        if barred:
            rest = [(known, name) for name, known in self._known.items() if name not in barred]
            return min(rest)[1] if rest else None
        return self._heap[0][1] if self._heap else None

    def changed(self, name: str) -> None:
        """The member has less room than before. Without effect on other members than these."""
        if name in self._known:
            self._known[name] = self._level(name)
            heappush(self._heap, (self._known[name], name))
