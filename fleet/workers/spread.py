"""How a worker's objects are spread over namespaces: a sketch, for the boundaries of a layout by namespace.

It is reported whatever the partition key, so that a change to `namespace` finds it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fleet.workers.range_runner import RangeRunner
from shards.clock import Clock
from shards.keyrange import KeyRange, fnv1a64

MOST_POINTS = 64
"""In a member's record: 1 KiB at most, whatever it holds."""

COUNT_SECONDS = 60.0
"""A shard is counted anew so long after the last time; one shard at a report."""

Point = tuple[int, float]
"""The hash of a namespace, and the number of objects in it and in those between it and the next point."""


class Spread:
    """Counts on demand, and remembers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counted: dict[KeyRange, tuple[float, tuple[Point, ...]]] = {}
        self._merged: tuple[Point, ...] = ()

    def look(self, runners: Mapping[KeyRange, RangeRunner]) -> tuple[Point, ...]:
        """Of all shards that are held and open. At most one of them is counted."""
        shards = {each: runner.shard for each, runner in runners.items() if runner.holding and runner.shard is not None}
        gone = [each for each in self._counted if each not in shards]
        for each in gone:
            del self._counted[each]
        now = self._clock()
        due = [each for each, shard in shards.items() if shard.open and now - self._since(each) >= COUNT_SECONDS]
        if due:
            oldest = min(due, key=lambda each: (self._since(each), each))
            counts = shards[oldest].namespaces()
            self._counted[oldest] = now, thinned((fnv1a64(name), float(counts[name])) for name in counts if name)
        elif not gone:
            return self._merged
        self._merged = thinned(point for _, points in self._counted.values() for point in points)
        return self._merged

    def _since(self, each: KeyRange) -> float:
        return self._counted[each][0] if each in self._counted else float("-inf")


def thinned(points: Iterable[Point], most: int = MOST_POINTS) -> tuple[Point, ...]:
    """Rising, at most so many: light neighbours are taken together."""
    weights: dict[int, float] = {}
    for value, weight in points:
        weights[value] = weights.get(value, 0.0) + weight
    ordered = sorted(weights.items())
    if len(ordered) <= most:
        return tuple(ordered)
    # Two neighbours together always weigh more than this, so that there are `most` groups at the most.
    enough = 2 * sum(weights.values()) / most
    groups: list[Point] = [ordered[0]]
    for value, weight in ordered[1:]:
        first, gathered = groups[-1]
        if gathered + weight <= enough:
            groups[-1] = first, gathered + weight
        else:
            groups.append((value, weight))
    return tuple(groups)
