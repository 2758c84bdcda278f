"""The live-read budget and the circuit breaker of destructive acts."""

from __future__ import annotations

import pytest

from shards.limits.breaker import Breaker, BreakerState, Budget, Cause, TokenBucket
from shards.settings import BreakerSettings

SETTINGS = BreakerSettings(destructive_limit=3, window_seconds=60, failures_to_open=3, open_seconds=10)


class TestTokenBucket:
    def test_a_burst_is_allowed_and_then_the_rate(self) -> None:
        bucket = TokenBucket(rate=5, burst=10, now=0)
        assert sum(bucket.take(0) for _ in range(20)) == 10
        assert sum(bucket.take(1) for _ in range(20)) == 5

    def test_waiting_exactly_as_long_as_it_says_is_enough(self) -> None:
        bucket = TokenBucket(rate=3, burst=1, now=7)
        assert bucket.take(7)
        assert not bucket.take(7)
        wait = bucket.wait(7)
        assert wait == pytest.approx(1 / 3)
        assert bucket.take(7 + wait)

    def test_a_long_silence_saves_no_more_than_a_burst(self) -> None:
        bucket = TokenBucket(rate=5, burst=10, now=0)
        assert sum(bucket.take(1000) for _ in range(50)) == 10

    def test_reservations_are_served_in_order_and_only_so_far_ahead(self) -> None:
        bucket = TokenBucket(rate=2, burst=1, now=0)
        waits = [bucket.reserve(0, 1.1) for _ in range(5)]
        assert waits[:3] == [0.0, pytest.approx(0.5), pytest.approx(1.0)]
        assert waits[3:] == [None, None]
        assert not bucket.take(1.0)
        assert bucket.take(1.6)

    @pytest.mark.parametrize(("rate", "burst"), [(0, 1), (1, 0.5)])
    def test_a_bucket_that_never_gives_is_refused(self, rate: float, burst: float) -> None:
        with pytest.raises(ValueError):
            TokenBucket(rate, burst, 0)


class TestBudget:
    def test_a_kind_alone_may_use_the_whole_rate(self) -> None:
        budget = Budget(rate=10, burst=20, now=0)
        used = sum(budget.take(0, second / 10) for second in range(600) for _ in range(5))
        assert 10 * 60 <= used <= 10 * 60 + 20

    @pytest.mark.parametrize("greedy", [0, 1])
    def test_a_greedy_kind_leaves_the_other_one_its_half(self, greedy: int) -> None:
        budget = Budget(rate=10, burst=20, now=0)
        served = 0
        for tenth in range(600):
            while budget.reserve(greedy, tenth / 10, 1.0) is not None:
                pass
            served += budget.take(1 - greedy, tenth / 10) if tenth % 3 == 0 else 0
        assert served == 200

    def test_another_rate_holds_from_now_on(self) -> None:
        budget = Budget(rate=10, burst=20, now=0)
        budget.change(2, 2, 0)
        assert sum(budget.take(0, 0) for _ in range(9)) <= 2
        assert budget.wait(0, 0) == pytest.approx(1.0)


class TestBreaker:
    def test_it_opens_when_the_acts_of_a_window_are_used_up(self) -> None:
        breaker = Breaker(SETTINGS)
        assert [breaker.admit(now) for now in (0, 1, 2)] == [None, None, None]
        assert breaker.admit(3) == "3 destructive acts within 60 s"
        assert breaker.state(3) is BreakerState.OPEN

    def test_acts_that_are_spread_over_time_never_open_it(self) -> None:
        breaker = Breaker(SETTINGS)
        assert all(breaker.admit(now) is None for now in range(0, 2000, 21))

    def test_it_opens_when_live_reads_fail_in_a_row(self) -> None:
        breaker = Breaker(SETTINGS)
        for now in (0, 1):
            breaker.read_failed(now)
        assert breaker.state(1) is BreakerState.CLOSED
        breaker.read_failed(2)
        assert breaker.admit(3) == "3 live reads failed in a row"

    def test_a_success_in_between_starts_the_count_again(self) -> None:
        breaker = Breaker(SETTINGS)
        for now in range(20):
            breaker.read_failed(now)
            breaker.read_failed(now)
            breaker.read_succeeded(now)
        assert breaker.state(20) is BreakerState.CLOSED

    def test_half_open_lets_one_probe_through_whose_success_closes_it(self) -> None:
        breaker = self.failed_at(2)
        assert breaker.refusal(11) is not None
        assert breaker.refusal(12) is None
        assert breaker.refusal(12.5) == "3 live reads failed in a row; one act is probing"
        assert breaker.admit(12.5) is not None
        breaker.read_succeeded(13)
        assert breaker.state(13) is BreakerState.CLOSED
        assert breaker.refusal(13) is None
        assert breaker.admit(13) is None
        assert breaker.reason == ""

    def test_a_failing_probe_opens_it_for_another_pause(self) -> None:
        breaker = self.failed_at(2)
        assert breaker.refusal(12) is None
        breaker.read_failed(13)
        assert breaker.state(22.9) is BreakerState.OPEN
        assert breaker.state(23) is BreakerState.HALF_OPEN

    def test_a_probe_whose_outcome_never_came_does_not_block_it_for_ever(self) -> None:
        breaker = self.failed_at(2)
        assert breaker.refusal(12) is None
        assert breaker.refusal(21.9) is not None
        assert breaker.refusal(22) is None

    def test_acts_that_were_prepared_and_not_sent_do_not_count(self) -> None:
        breaker = Breaker(SETTINGS)
        assert all(breaker.refusal(0) is None for _ in range(50))
        assert breaker.admit(0) is None

    def test_with_a_full_window_it_stays_open_until_there_is_room(self) -> None:
        breaker = Breaker(SETTINGS)
        for now in (0, 1, 2):
            breaker.admit(now)
        assert breaker.admit(3) is not None
        assert breaker.refusal(13) is None
        breaker.read_succeeded(13)
        assert breaker.state(14) is BreakerState.OPEN
        assert breaker.refusal(62) is None
        breaker.read_succeeded(62)
        assert breaker.state(62) is BreakerState.CLOSED

    def test_it_tells_once_that_it_opened_and_once_that_it_closed(self) -> None:
        breaker = Breaker(SETTINGS)
        told: list[Cause | None] = []
        breaker.on_change = told.append
        for now in (0, 1, 2, 3):
            breaker.read_failed(now)
        breaker.refusal(14)
        breaker.read_failed(14)
        breaker.refusal(25)
        assert told == [Cause.LIVE_READS]
        breaker.read_succeeded(25)
        assert told == [Cause.LIVE_READS, None]
        for now in (26, 26, 26, 26):
            breaker.admit(now)
        assert told == [Cause.LIVE_READS, None, Cause.ACTS]

    def test_other_limits_hold_from_now_on(self) -> None:
        breaker = Breaker(SETTINGS)
        for now in (0, 1, 2):
            breaker.admit(now)
        assert breaker.admit(3) is not None
        breaker.change(BreakerSettings(destructive_limit=5, window_seconds=60, open_seconds=1))
        assert breaker.admit(3) is not None, "it closes by a probe, as always"
        assert breaker.refusal(4) is None
        breaker.read_succeeded(4)
        assert [breaker.admit(4) for _ in range(2)] == [None, None]
        assert breaker.admit(4) == "5 destructive acts within 60 s"

    def failed_at(self, now: float) -> Breaker:
        breaker = Breaker(SETTINGS)
        for _ in range(3):
            breaker.read_failed(now)
        return breaker
