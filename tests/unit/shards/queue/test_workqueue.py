"""The work queue: client-go's contract, merged delays, two priorities."""

from __future__ import annotations

import random
import weakref
from collections import Counter

import pytest

from shards.limits.breaker import TokenBucket
from shards.queue.workqueue import LONGEST_PAUSE_SECONDS, LOW_AGE_SECONDS, LOW_SHARE, WorkQueue
from shards.settings import QueueSettings


@pytest.fixture
def queue() -> WorkQueue[str]:
    return WorkQueue(QueueSettings(), random.Random(1))


def drained(queue: WorkQueue[str], now: float) -> list[str]:
    """Takes and finishes keys until none is ready."""
    keys = []
    while (key := queue.get(now)) is not None:
        keys.append(key)
        queue.done(key, now)
    return keys


class TestOneKey:
    def test_many_adds_make_one_run(self, queue: WorkQueue[str]) -> None:
        for _ in range(5):
            queue.add("a", 0)
        assert queue.depth(0) == 1
        assert drained(queue, 0) == ["a"]

    def test_a_key_is_never_handed_out_twice_at_a_time(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        assert queue.get(0) == "a"
        queue.add("a", 0)
        assert queue.get(0) is None

    def test_adds_during_a_run_make_exactly_one_more(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add("a", 0)
        queue.add("a", 0)
        queue.done("a", 0)
        assert drained(queue, 0) == ["a"]

    def test_a_key_that_nobody_added_again_does_not_come_back(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        assert drained(queue, 0) == ["a"]
        assert queue.get(100) is None
        assert queue.idle

    def test_keys_come_in_the_order_in_which_they_were_added(self, queue: WorkQueue[str]) -> None:
        for key in "cab":
            queue.add(key, 0)
        assert drained(queue, 0) == ["c", "a", "b"]

    def test_a_running_key_that_was_added_again_does_not_hold_up_the_next(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add("a", 0)
        queue.add("b", 0)
        assert queue.get(0) == "b"

    def test_a_key_that_was_added_during_its_run_queues_behind_what_is_ready_when_that_ends(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add("a", 0)
        queue.add("b", 0)
        queue.done("a", 0)
        assert drained(queue, 0) == ["b", "a"]

    def test_a_removed_key_is_forgotten_in_every_state(self, queue: WorkQueue[str]) -> None:
        queue.add("ready", 0)
        queue.add_after("delayed", 5, 0)
        queue.add("low", 0, low_priority=True)
        queue.add_rate_limited("failed", 0)
        for key in ("ready", "delayed", "low", "failed"):
            queue.remove(key)
        assert drained(queue, 100) == []
        assert queue.failures("failed") == 0

    def test_no_reference_to_a_finished_key_stays(self) -> None:
        class Big:
            pass

        held: WorkQueue[Big] = WorkQueue(QueueSettings(), random.Random(1))
        key = Big()
        gone = weakref.ref(key)
        held.add(key, 0)
        held.add_after(key, 5, 0)
        held.get(0)
        held.add_rate_limited(key, 0)
        held.done(key, 0)
        held.remove(key)
        del key
        held.next_ready(0)
        assert gone() is None


class TestDelays:
    def test_a_delayed_key_is_ready_when_its_time_has_come_and_not_before(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 5, 10)
        assert queue.next_ready(10) == 15
        assert queue.get(14.9) is None
        assert queue.get(15) == "a"

    @pytest.mark.parametrize("delays", [(5, 9), (9, 5)])
    def test_the_earliest_of_several_delays_wins(self, queue: WorkQueue[str], delays: tuple[int, int]) -> None:
        for delay in delays:
            queue.add_after("a", delay, 0)
        assert queue.next_ready(0) == 5
        assert drained(queue, 5) == ["a"]
        assert drained(queue, 100) == []

    def test_a_delay_for_a_ready_key_changes_nothing(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.add_after("a", 3600, 0)
        assert drained(queue, 0) == ["a"]
        assert drained(queue, 4000) == []

    def test_keys_count_as_ready_once_they_are_due_and_once_only(self, queue: WorkQueue[str]) -> None:
        for _ in range(2):
            queue.add_after("foo", 0.5, 0)
            queue.add("baz", 0)
            assert queue.depth(0) == 1
            assert queue.depth(0.5) == 2
            queue.add("foo", 0.5)
            assert queue.depth(0.5) == 2
            assert drained(queue, 0.5) == ["baz", "foo"]
            assert queue.depth(0.5) == 0

    def test_no_delay_is_an_add(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 0, 3)
        assert queue.depth(3) == 1

    def test_an_add_takes_a_delayed_key_with_it_and_the_key_comes_once(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 3600, 0)
        queue.add("a", 0)
        queue.add("a", 0)
        assert queue.depth(0) == 1
        assert drained(queue, 0) == ["a"]
        assert drained(queue, 4000) == []
        assert queue.next_ready(0) is None

    def test_a_delay_that_ends_during_a_run_makes_one_more_run(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add_after("a", 1, 0)
        assert queue.get(2) is None
        queue.done("a", 3)
        assert queue.get(3) == "a"

    def test_a_far_future_key_that_is_delayed_again_and_again_does_not_fill_the_heap(
        self, queue: WorkQueue[str]
    ) -> None:
        """B59."""
        for step in range(10_000):
            queue.add_after("a", 36_000 - step, 0)
        assert len(queue._heap) <= 100

    def test_keys_that_become_ready_come_in_the_order_of_their_times(self, queue: WorkQueue[str]) -> None:
        queue.add_after("late", 3, 0)
        queue.add_after("early", 1, 0)
        assert drained(queue, 10) == ["early", "late"]

    def test_the_oldest_age_counts_from_the_time_at_which_a_key_became_ready(self, queue: WorkQueue[str]) -> None:
        assert queue.oldest_age(50) == 0
        queue.add_after("a", 10, 0)
        queue.add("b", 45)
        assert queue.oldest_age(50) == 40


class TestBackoff:
    def test_delays_double_up_to_the_limit_and_never_fall(self, queue: WorkQueue[str]) -> None:
        """B55, B56: an exponent that overflows, and a limit that resets what it limits."""
        delays = []
        now = 0.0
        for _ in range(2000):
            delays.append(queue.add_rate_limited("a", now))
            now += delays[-1]
            assert queue.get(now) == "a"
            queue.done("a", now)
        assert 0.004 <= delays[0] <= 0.005
        growing = delays[:16]
        assert growing == sorted(growing)
        assert all(240 <= delay <= 300 for delay in delays[16:])

    def test_success_resets_it(self, queue: WorkQueue[str]) -> None:
        for _ in range(10):
            queue.add_rate_limited("a", 0)
        assert queue.failures("a") == 10
        queue.forget("a")
        assert queue.add_rate_limited("a", 0) <= 0.005

    def test_other_keys_are_not_slowed_down(self, queue: WorkQueue[str]) -> None:
        for _ in range(10):
            queue.add_rate_limited("a", 0)
        assert queue.add_rate_limited("b", 0) <= 0.005

    def test_equal_failures_do_not_come_back_together(self, queue: WorkQueue[str]) -> None:
        delays = {queue.add_rate_limited(str(index), 0) for index in range(100)}
        assert len(delays) == 100

    def test_a_server_that_asks_for_more_time_gets_it(self, queue: WorkQueue[str]) -> None:
        assert queue.add_rate_limited("a", 0, at_least_seconds=7) == 7
        assert queue.next_ready(0) == 7


class TestPriorities:
    def test_changes_come_before_the_first_list(self, queue: WorkQueue[str]) -> None:
        queue.add("listed", 0, low_priority=True)
        queue.add("changed", 1)
        assert drained(queue, 1) == ["changed", "listed"]

    def test_a_change_raises_a_key_of_the_first_list(self, queue: WorkQueue[str]) -> None:
        for key in ("a", "b"):
            queue.add(key, 0, low_priority=True)
        queue.add("b", 1)
        assert drained(queue, 1) == ["b", "a"]

    def test_a_resync_never_lowers_a_key(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.add("b", 0, low_priority=True)
        queue.add("a", 0, low_priority=True)
        assert drained(queue, 0) == ["a", "b"]

    def test_low_keys_are_served_in_time_though_changes_never_stop(self, queue: WorkQueue[str]) -> None:
        queue.add("low", 0, low_priority=True)
        served = []
        for step in range(100):
            now = LOW_AGE_SECONDS + step
            queue.add(f"high{step}", now)
            queue.add(f"more{step}", now)
            key = queue.get(now)
            assert key is not None
            served.append(key)
            queue.done(key, now)
        assert served.index("low") < LOW_SHARE

    def test_an_aged_first_list_takes_no_more_than_its_share(self, queue: WorkQueue[str]) -> None:
        for index in range(1000):
            queue.add(f"low{index}", 0, low_priority=True)
        taken: Counter[str] = Counter()
        for step in range(100):
            queue.add(f"high{step}", 60)
            queue.add(f"more{step}", 60)
            key = queue.get(60)
            assert key is not None
            taken[key[:3]] += 1
            queue.done(key, 60)
        assert taken["low"] == 100 // LOW_SHARE


class TestKeptPriorities:
    """A first list that fails as a whole must not come back ahead of live changes."""

    @pytest.mark.parametrize("retry", ["add_after", "add_rate_limited"])
    def test_what_a_low_priority_run_asks_for_itself_stays_low(self, queue: WorkQueue[str], retry: str) -> None:
        queue.add("listed", 0, low_priority=True)
        assert queue.get(0) == "listed"
        if retry == "add_after":
            queue.add_after("listed", 1, 0)
        else:
            queue.add_rate_limited("listed", 0)
        queue.done("listed", 0)
        queue.add("changed", 1)
        assert drained(queue, 1) == ["changed", "listed"]

    def test_a_change_during_a_low_priority_run_makes_a_run_of_high_priority(self, queue: WorkQueue[str]) -> None:
        queue.add("listed", 0, low_priority=True)
        queue.get(0)
        queue.add("other", 0, low_priority=True)
        queue.add("listed", 0)
        queue.done("listed", 0)
        assert drained(queue, 0) == ["listed", "other"]

    def test_a_resync_during_a_run_makes_one_of_low_priority(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add("a", 0, low_priority=True)
        queue.done("a", 0)
        queue.add("b", 0)
        assert drained(queue, 0) == ["b", "a"]

    def test_a_change_raises_a_delayed_key_of_low_priority_and_a_resync_lowers_none(
        self, queue: WorkQueue[str]
    ) -> None:
        queue.add_after("raised", 5, 0, low_priority=True)
        queue.add("raised", 0)
        queue.add_after("kept", 5, 0)
        queue.add("kept", 0, low_priority=True)
        queue.add("low", 0, low_priority=True)
        assert drained(queue, 0) == ["raised", "kept", "low"]

    def test_a_high_priority_key_that_became_ready_comes_before_a_low_one_that_was(self, queue: WorkQueue[str]) -> None:
        queue.add("low", 0, low_priority=True)
        queue.add_after("high", 1, 0)
        assert queue.get(1) == "high"

    def test_a_raised_key_goes_to_the_end_of_its_new_level(self, queue: WorkQueue[str]) -> None:
        queue.add("raised", 0, low_priority=True)
        queue.add("first", 0)
        queue.add("raised", 0)
        assert drained(queue, 0) == ["first", "raised"]


class TestPauses:
    """I21: a server that asks for a pause gets it, whatever changes meanwhile."""

    def test_a_change_does_not_cut_the_pause_of_a_refused_key_short(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add_rate_limited("a", 0, at_least_seconds=7)
        queue.done("a", 0)
        queue.add("a", 1)
        queue.add_after("a", 1, 1)
        assert drained(queue, 6.9) == []
        assert drained(queue, 7) == ["a"]
        assert drained(queue, 100) == []

    def test_nor_does_one_that_came_while_the_refused_run_was_under_way(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.get(0)
        queue.add("a", 0)
        queue.add_rate_limited("a", 0, at_least_seconds=7)
        queue.done("a", 0)
        assert drained(queue, 6.9) == []
        assert drained(queue, 7) == ["a"]

    def test_a_change_shortens_a_longer_delay_to_the_pause(self, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 300, 0)
        queue.pause("a", 7, 0)
        queue.add("a", 1)
        assert queue.next_ready(1) == 7

    def test_a_pause_moves_a_key_that_is_ready_or_due_earlier(self, queue: WorkQueue[str]) -> None:
        queue.add("low", 0, low_priority=True)
        queue.add("ready", 0)
        queue.add_after("due", 1, 0)
        for key in ("low", "ready", "due"):
            queue.pause(key, 5, 0)
        assert drained(queue, 4.9) == []
        assert drained(queue, 5) == ["ready", "due", "low"]

    def test_a_pause_alone_queues_nothing(self, queue: WorkQueue[str]) -> None:
        queue.pause("a", 5, 0)
        assert drained(queue, 10) == []
        queue.add("a", 10)
        assert drained(queue, 10) == ["a"]

    def test_success_does_not_end_it(self, queue: WorkQueue[str]) -> None:
        queue.add_rate_limited("a", 0, at_least_seconds=7)
        queue.forget("a")
        queue.add("a", 1)
        assert drained(queue, 6.9) == []

    def test_a_proxy_that_asks_for_a_year_does_not_bury_a_key(self, queue: WorkQueue[str]) -> None:
        delay = queue.add_rate_limited("a", 0, at_least_seconds=3e7)
        assert delay == LONGEST_PAUSE_SECONDS
        assert drained(queue, LONGEST_PAUSE_SECONDS) == ["a"]

    def test_pauses_of_keys_that_never_come_again_are_forgotten(self, queue: WorkQueue[str]) -> None:
        for index in range(100):
            queue.pause(str(index), 1 + index % 2, 0)
        queue.sweep(1)
        assert len(queue._paused) == 50
        queue.sweep(2)
        assert queue._paused == {}

    def test_other_keys_go_on(self, queue: WorkQueue[str]) -> None:
        queue.pause("a", 5, 0)
        queue.add("a", 0)
        queue.add("b", 0)
        assert drained(queue, 0) == ["b"]


class TestAllRetriesTogether:
    def test_a_burst_of_retries_passes_and_the_rest_comes_at_the_rate(self) -> None:
        queue = WorkQueue[int](QueueSettings(), random.Random(1), TokenBucket(10, 100, 0))
        delays = [queue.add_rate_limited(key, 0) for key in range(200)]
        assert max(delays[:100]) <= 0.005
        assert delays[100:] == pytest.approx([(1 + index) / 10 for index in range(100)], abs=1e-6)

    def test_no_key_waits_longer_for_its_turn_than_the_longest_delay(self) -> None:
        queue = WorkQueue[int](QueueSettings(max_delay_seconds=30), random.Random(1), TokenBucket(10, 1, 0))
        delays = [queue.add_rate_limited(key, 0) for key in range(1000)]
        assert max(delays) <= 30
        assert len({*delays[400:]}) == 600, "those that find no turn come back together"

    def test_queues_that_share_it_share_the_rate(self) -> None:
        bucket = TokenBucket(10, 1, 0)
        queues = [WorkQueue[str](QueueSettings(), random.Random(1), bucket) for _ in range(5)]
        delays = [queue.add_rate_limited("a", 0) for queue in queues]
        assert delays[1:] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=1e-6)

    def test_the_keys_own_delay_counts_where_it_is_longer(self) -> None:
        queue = WorkQueue[str](QueueSettings(), random.Random(1), TokenBucket(10, 1, 0))
        for _ in range(15):
            queue.add_rate_limited("a", 1000)
        assert queue.add_rate_limited("a", 2000) > 100


class TestWhatItTells:
    def test_adds_count_the_times_that_a_key_became_ready(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.add("a", 0)
        queue.add("low", 0, low_priority=True)
        queue.add("low", 0)
        assert queue.adds == 2
        queue.add_after("b", 5, 0)
        assert queue.adds == 2
        assert queue.depth(5) == 3
        assert queue.adds == 3
        queue.get(5)
        queue.add("a", 5)
        queue.done("a", 5)
        assert queue.adds == 4

    def test_running_keys_are_told_with_their_age(self, queue: WorkQueue[str]) -> None:
        assert queue.started(0) == (0, 0)
        queue.add("a", 0)
        queue.add("b", 0)
        queue.get(0)
        queue.get(4)
        assert queue.started(10) == (16, 10)

    def test_a_key_that_was_delayed_and_then_added_counts_once(self, queue: WorkQueue[str]) -> None:
        """B61: depth that went negative, and a key that was delivered twice."""
        queue.add_after("k", 3600, 0)
        assert queue.depth(0) == 0
        queue.add("k", 0)
        queue.add("k", 0)
        assert queue.depth(0) == 1
        assert queue.get(0) == "k"
        assert queue.depth(0) == 0
        queue.done("k", 0)
        assert queue.depth(4000) == 0


class TestMemory:
    def test_nothing_is_kept_of_a_hundred_thousand_keys_that_came_and_went(self) -> None:
        """B58: popped keys that the structure behind the queue kept alive."""

        class Big:
            pass

        queue = WorkQueue[Big](QueueSettings(), random.Random(1))
        gone = []
        for now in range(1000):
            for _ in range(100):
                queue.add_after(key := Big(), 0.5, now)
                queue.add(key, now, low_priority=bool(now % 2))
                gone.append(weakref.ref(key))
            while (taken := queue.get(now)) is not None:
                queue.pause(taken, 0.5, now)
                queue.done(taken, now)
            queue.sweep(now + 1)
        queue.next_ready(2000)
        del key, taken
        assert sum(ref() is not None for ref in gone) == 0

    def test_a_heap_of_delays_that_were_replaced_does_not_grow(self, queue: WorkQueue[str]) -> None:
        for step in range(10_000):
            for key in "abc":
                queue.add_after(key, 36_000, step)
                queue.add(key, step)
            drained(queue, step)
        assert len(queue._heap) <= 100


class TestShutDown:
    def test_a_delayed_add_after_it_neither_hangs_nor_counts(self, queue: WorkQueue[str]) -> None:
        queue.add("baz", 0)
        queue.shut_down()
        queue.add_after("foo", 1, 0)
        queue.pause("foo", 1, 0)
        queue.add_rate_limited("foo", 0)
        assert (queue.get(0), queue.get(10), queue.depth(10), queue.next_ready(0)) == (None, None, 0, None)

    def test_nothing_is_handed_out_or_added_any_more(self, queue: WorkQueue[str]) -> None:
        queue.add("a", 0)
        queue.add("b", 0)
        queue.get(0)
        queue.add("a", 0)
        queue.shut_down()
        queue.add("c", 0)
        queue.add_after("d", 1, 0)
        queue.done("a", 0)
        assert queue.get(10) is None
        assert queue.depth(10) == 0
        assert queue.idle
