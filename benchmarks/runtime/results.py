"""What the harness wrote down, and medians over its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import msgspec

Result = dict[str, Any]
"""One line of results.jsonl: phase, peer, round, n, and the fields of the phase; or `error`."""

Pick = Callable[[Result], float]
"""One figure of a line."""


def read(lines: Iterable[bytes]) -> list[Result]:
    """The lines that are measurements."""
    return [msgspec.json.decode(line) for line in lines if line.strip()]


class Results:
    """All lines of one run; failed measurements are left out of the figures."""

    def __init__(self, lines: Iterable[Result]) -> None:
        every = list(lines)
        self.failures = [each for each in every if "error" in each]
        self._lines = [each for each in every if "error" not in each]

    def by_round(self, peer: str, pick: Pick, **where: object) -> dict[int, float]:
        """The figure of each round, of the lines whose fields are as given."""
        wanted = {"peer": peer, **where}
        lines = [each for each in self._lines if all(each.get(name) == value for name, value in wanted.items())]
        return {each["round"]: pick(each) for each in lines}

    def middle(self, peer: str, pick: Pick, **where: object) -> float | None:
        """The median over the rounds; None where nothing was measured."""
        return middle(self.by_round(peer, pick, **where).values())

    def ratio(self, one: str, other: str, pick: Pick, **where: object) -> float | None:
        """The median of the ratios of the rounds in which both were measured."""
        ours, theirs = self.by_round(one, pick, **where), self.by_round(other, pick, **where)
        return middle(ours[each] / theirs[each] for each in ours.keys() & theirs.keys() if theirs[each])

    def difference(self, one: str, other: str, pick: Pick, **where: object) -> float | None:
        """The median of the differences, likewise."""
        ours, theirs = self.by_round(one, pick, **where), self.by_round(other, pick, **where)
        return middle(ours[each] - theirs[each] for each in ours.keys() & theirs.keys())


def middle(values: Iterable[float]) -> float | None:
    found = list(values)
    return median(found) if found else None


def field(name: str) -> Pick:
    return lambda line: float(line[name])
