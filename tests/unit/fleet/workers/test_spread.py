from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fleet.workers.spread import COUNT_SECONDS, MOST_POINTS, Spread, thinned
from shards.keyrange import SPACE, KeyRange, equal_boundaries, fnv1a64, ranges_from

LOW, HIGH = ranges_from(equal_boundaries(2))
weights = st.lists(st.tuples(st.integers(0, SPACE - 1), st.integers(1, 10_000).map(float)), max_size=300)


@dataclass
class Counted:
    """A shard: how many objects each namespace has, and how often somebody asked."""

    found: dict[str, int]
    open: bool = True
    asked: int = 0

    def namespaces(self) -> dict[str, int]:
        self.asked += 1
        return self.found


@dataclass
class Runner:
    shard: Counted
    holding: bool = True


@dataclass
class Worker:
    """Two shards, and a clock."""

    low: Runner = field(default_factory=lambda: Runner(Counted({"a": 3, "b": 1})))
    high: Runner = field(default_factory=lambda: Runner(Counted({"a": 2, "": 9})))
    now: float = 0.0

    def __post_init__(self) -> None:
        self.spread = Spread(lambda: self.now)

    def look(self) -> dict[int, float]:
        runners: dict[KeyRange, Runner] = {LOW: self.low, HIGH: self.high}
        return dict(self.spread.look(runners))  # type: ignore[arg-type]  # as much of a runner as is asked for


def test_objects_of_all_shards_are_counted_by_namespace_one_shard_at_a_report() -> None:
    worker = Worker()
    assert worker.look() == {fnv1a64("a"): 3.0, fnv1a64("b"): 1.0}
    assert worker.look() == {fnv1a64("a"): 5.0, fnv1a64("b"): 1.0}


def test_a_shard_is_counted_again_after_a_minute() -> None:
    worker = Worker()
    for _ in range(5):
        worker.look()
    worker.low.shard.found = {"c": 1}
    worker.now = COUNT_SECONDS - 1
    assert fnv1a64("c") not in worker.look()
    worker.now = COUNT_SECONDS
    assert fnv1a64("c") in worker.look()
    assert (worker.low.shard.asked, worker.high.shard.asked) == (2, 1)


def test_what_is_not_held_or_not_open_does_not_count() -> None:
    worker = Worker()
    worker.look()
    worker.look()
    worker.low.holding = False
    assert worker.look() == {fnv1a64("a"): 2.0}
    closed = Worker(low=Runner(Counted({"a": 1}, open=False)), high=Runner(Counted({}, open=False)))
    assert closed.look() == {}


@given(weights)
def test_a_sketch_is_small_rises_and_keeps_every_object(points: list[tuple[int, float]]) -> None:
    found = thinned(points)
    assert len(found) <= MOST_POINTS
    assert [value for value, _ in found] == sorted({value for value, _ in found})
    assert sum(weight for _, weight in found) == sum(weight for _, weight in points)
    assert {value for value, _ in found} <= {value for value, _ in points}


def test_a_namespace_that_outweighs_the_others_stays_alone() -> None:
    points = [(i, 1.0) for i in range(1000)]
    points[500] = (500, 1000.0)
    assert (500, 1000.0) in thinned(points)
