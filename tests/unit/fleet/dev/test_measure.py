from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.dev.measure import Measure
from fleet.dev.takeover import ShardPulse

OPEN = ShardPulse("owned", True, 2)
STANDBY = ShardPulse("standby", False, 0)


def measure_of(*ranges: str) -> Measure:
    return Measure(ranges=frozenset(ranges))


def test_the_first_ownership_is_when_every_range_is_open_at_once() -> None:
    measure = measure_of("a", "b")
    measure.look(1.0, {"worker-0": {"a": OPEN, "b": STANDBY}}, {})
    assert (measure.first_open_at, measure.first_owned_at) == (1.0, None)
    measure.look(2.0, {"worker-0": {"a": OPEN}, "worker-1": {"b": OPEN}}, {})
    assert measure.first_owned_at == 2.0


def test_no_ranges_are_not_owned() -> None:
    measure = Measure()
    measure.look(1.0, {"worker-0": {}}, {})
    assert measure.first_owned_at is None


def test_the_longest_unowned_time_of_any_range_counts_from_the_first_ownership() -> None:
    measure = measure_of("a", "b")
    measure.look(1.0, {"worker-0": {"a": OPEN, "b": STANDBY}}, {})
    measure.look(2.0, {"worker-0": {"a": OPEN, "b": OPEN}}, {})
    assert measure.longest_unowned_seconds == 0.0
    measure.look(3.0, {"worker-0": {"a": OPEN}}, {})
    measure.look(3.5, {"worker-0": {"a": OPEN}}, {})
    measure.look(4.0, {"worker-0": {"a": OPEN, "b": OPEN}}, {})
    assert measure.longest_unowned_seconds == 1.0
    assert measure.closed_since == {}


def test_the_ranges_of_a_killed_worker_are_unowned_from_the_kill_on() -> None:
    measure = measure_of("a")
    measure.look(1.0, {"worker-0": {"a": OPEN}}, {})
    measure.killed_worker("worker@1s", "worker-0", 1.2, 5)
    measure.look(1.7, {"worker-0": {"a": replace_epoch(3)}}, {})
    assert measure.longest_unowned_seconds == pytest.approx(0.5)


def replace_epoch(epoch: int) -> ShardPulse:
    return ShardPulse("owned", True, epoch)


def test_a_takeover_is_over_when_every_range_is_open_under_a_higher_epoch() -> None:
    measure = measure_of("a", "b")
    measure.look(1.0, {"worker-0": {"a": OPEN, "b": OPEN}}, {})
    takeover = measure.killed_worker("worker@1s", "worker-0", 2.0, 5)
    measure.look(2.1, {"worker-0": {"a": OPEN, "b": OPEN}}, {})
    assert not measure.overcome
    measure.look(2.4, {"worker-0": {"a": replace_epoch(3)}}, {})
    assert not measure.overcome
    measure.look(2.5, {"worker-0": {"a": replace_epoch(3)}, "worker-1": {"b": replace_epoch(3)}}, {})
    assert measure.overcome
    assert takeover.report().owned_seconds == 0.5


def test_the_first_reconcile_is_when_the_worker_says_or_when_it_is_seen() -> None:
    measure = measure_of("a")
    measure.look(1.0, {"worker-0": {"a": OPEN}}, {})
    exact = measure.killed_worker("worker@1s", "worker-0", 2.0, 5)
    said = ShardPulse("owned", True, 3, first_reconcile_at=2.25, reconciles_per_second=1.0)
    measure.look(2.5, {"worker-0": {"a": said}}, {})
    assert exact.report().first_reconcile_seconds == 0.25
    seen = measure.killed_worker("worker@2s", "worker-0", 3.0, 5)
    measure.look(3.5, {"worker-0": {"a": ShardPulse("owned", True, 4)}}, {})
    assert seen.report().first_reconcile_seconds is None
    measure.look(3.75, {"worker-0": {"a": ShardPulse("owned", True, 4, reconciles_per_second=0.1)}}, {})
    assert seen.report().first_reconcile_seconds == 0.75


def test_a_worker_that_owned_nothing_leaves_nothing_to_take_over() -> None:
    measure = measure_of("a")
    measure.killed_worker("worker-1@1s", "worker-1", 2.0, 0)
    assert measure.overcome


def test_a_succession_needs_a_higher_epoch_in_office() -> None:
    measure = measure_of("a")
    measure.killed_coordinator("coordinator@1s", "agent", 2.0, 4)
    [succession] = measure.successions
    succession.look(2.1, "agent/1", 4)
    succession.look(2.2, "", 5)
    assert not measure.overcome
    succession.look(2.5, "agent/2", 5)
    assert measure.overcome
    assert measure.reports()[0].owned_seconds == 0.5


def test_the_settled_time_counts_work_and_not_the_start() -> None:
    measure = measure_of("a")
    assert measure.settled_seconds is None
    measure.look(5.0, {"worker-0": {"a": OPEN}}, {})
    measure.settled(7.5)
    measure.settled(9.0)
    assert measure.settled_seconds == 2.5


def test_the_largest_memory_that_was_seen_is_kept() -> None:
    measure = measure_of()
    measure.look(1.0, {}, {"worker-0": 50.0, "worker-1": 60.0})
    measure.look(2.0, {}, {"worker-0": 55.0})
    measure.look(3.0, {}, {})
    assert measure.rss_mib == 60.0


def test_kills_are_reported_in_their_order() -> None:
    measure = measure_of()
    measure.killed_coordinator("coordinator@1s", "agent", 1.0, 1)
    measure.killed_worker("worker@2s", "worker-0", 2.0, 0)
    assert [each.kill for each in measure.reports()] == ["coordinator@1s", "worker@2s"]
    assert replace(measure, takeovers=[]).reports()[0].child == "agent"
