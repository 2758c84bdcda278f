from __future__ import annotations

from shards.reconciling.tally import SPAN_SECONDS, STEP_SECONDS, Tally


def test_it_sums_up_what_was_and_keeps_the_longest() -> None:
    tally = Tally()
    tally.started(100.0, 0.5)
    tally.started(105.0, 0.25)
    tally.requested(106.0, live=False)
    tally.requested(107.0, live=True)
    tally.parked(108.0, 3.0)
    tally.started(121.0, 0.1)
    sums = tally.sums(125.0)
    assert (sums.reconciles, sums.requests, sums.live_reads) == (3, 2, 1)
    assert (sums.longest_wait_seconds, sums.longest_parked_seconds) == (0.5, 3.0)


def test_what_was_before_a_switch_does_not_count() -> None:
    tally = Tally()
    tally.started(100.0, 9.0)
    tally.begin_anew()
    tally.started(101.0, 0.1)
    sums = tally.sums(102.0)
    assert (sums.reconciles, sums.longest_wait_seconds) == (1, 0.1)


def test_it_forgets_after_five_minutes_and_does_not_grow() -> None:
    tally = Tally()
    for second in range(10_000):
        tally.started(float(second), 0.0)
    now = 9_999.0
    assert len(tally._steps) == SPAN_SECONDS / STEP_SECONDS + 1
    assert SPAN_SECONDS <= tally.sums(now).reconciles <= SPAN_SECONDS + STEP_SECONDS
    assert tally.sums(now + 2 * SPAN_SECONDS).reconciles == 0
