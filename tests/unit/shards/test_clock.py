from __future__ import annotations

from shards.clock import DriftingClock
from shards.testing.clock import FakeClock


def test_a_drifting_clock_starts_with_the_truth_and_then_runs_at_its_rate() -> None:
    true = FakeClock(1000.0)
    clock = DriftingClock(true)
    assert clock() == 1000.0
    clock.run_at(2.0)
    true.advance(10)
    assert clock() == 1020.0
    clock.run_at(0.5)
    assert clock() == 1020.0
    true.advance(10)
    assert clock() == 1025.0


def test_a_monotonic_clock_that_is_set_back_stands_still_until_its_time_has_come() -> None:
    true = FakeClock(1000.0)
    clock, wall = DriftingClock(true), DriftingClock(true, monotonic=False)
    assert clock() == wall() == 1000.0
    for each in (clock, wall):
        each.jump(-5)
    true.advance(3)
    assert (clock(), wall()) == (1000.0, 998.0)
    true.advance(3)
    assert (clock(), wall()) == (1001.0, 1001.0)


def test_a_clock_can_be_set_forward() -> None:
    true = FakeClock(1000.0)
    clock = DriftingClock(true)
    clock.jump(60)
    assert clock() == 1060.0
