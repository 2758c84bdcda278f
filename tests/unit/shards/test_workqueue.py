"""The work queue: client-go's contract, merged delays, two priorities."""

from __future__ import annotations

import random
import weakref
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shards.settings import QueueSettings
from shards.workqueue import LOW_AGE_SECONDS, LOW_SHARE, WorkQueue


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


class TestShutDown:
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


class QueueMachine(RuleBasedStateMachine):
    """Any sequence of calls: no key twice at a time, none lost, none invented."""

    keys = st.sampled_from("abcd")

    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = WorkQueue(QueueSettings(), random.Random(1))
        self.now = 0.0
        self.processing: set[str] = set()
        self.owed: dict[str, float] = {}
        """Per key that must still run: the latest time at which it has to be ready."""

    def owe(self, key: str, at: float) -> None:
        self.owed[key] = min(at, self.owed.get(key, at))

    @rule(key=keys, low=st.booleans())
    def add(self, key: str, low: bool) -> None:
        self.queue.add(key, self.now, low_priority=low)
        self.owe(key, self.now)

    @rule(key=keys, seconds=st.sampled_from([0, 1, 5, 60]))
    def add_after(self, key: str, seconds: int) -> None:
        self.queue.add_after(key, seconds, self.now)
        self.owe(key, self.now + seconds)

    @rule(key=keys)
    def fail(self, key: str) -> None:
        self.owe(key, self.now + self.queue.add_rate_limited(key, self.now))

    @rule(seconds=st.sampled_from([0.5, 2, 30]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def get(self) -> None:
        key = self.queue.get(self.now)
        if key is None:
            assert all(at > self.now or owed in self.processing for owed, at in self.owed.items())
            return
        assert key not in self.processing
        assert self.owed.pop(key) <= self.now
        self.processing.add(key)

    @rule(key=keys)
    def done(self, key: str) -> None:
        if key in self.processing:
            self.processing.discard(key)
            self.queue.done(key, self.now)

    @invariant()
    def depth_is_what_is_owed(self) -> None:
        ready = [key for key, at in self.owed.items() if at <= self.now and key not in self.processing]
        assert self.queue.depth(self.now) == len(ready)
        assert self.queue.idle == (not self.processing)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
