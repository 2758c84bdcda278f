"""When a child that ended is started again."""

from __future__ import annotations

from fleet.processes.restarts import HEALTHY_SECONDS, LONGEST_DELAY_SECONDS, RestartPolicy


def test_the_first_restart_comes_at_once_and_the_next_ones_back_off_to_a_limit() -> None:
    policy = RestartPolicy()

    delays = [policy.delay_seconds(1.0) for _ in range(8)]

    assert delays == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_healthy_minute_clears_the_record() -> None:
    policy = RestartPolicy(failures=7)

    assert policy.delay_seconds(HEALTHY_SECONDS) == 0.0
    assert policy.delay_seconds(1.0) == 0.5


def test_a_child_that_has_failed_for_weeks_still_gets_the_longest_delay() -> None:
    assert RestartPolicy(failures=100_000).delay_seconds(0.0) == LONGEST_DELAY_SECONDS


def test_a_worker_that_keeps_dying_stays_away_until_others_have_its_shards() -> None:
    policy = RestartPolicy(away_seconds=18.0)

    delays = [policy.delay_seconds(1.0) for _ in range(8)]

    assert delays == [0.0, 0.5, 1.0, 2.0, 4.0, 18.0, 18.0, 18.0]
    assert policy.delay_seconds(HEALTHY_SECONDS) == 0.0
