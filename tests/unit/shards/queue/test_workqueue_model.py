"""The work queue against a plain model of it, over any sequence of calls; its invariants, as the fields say them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from shards.queue.workqueue import LOW_AGE_SECONDS, LOW_SHARE, WorkQueue
from shards.settings import QueueSettings

KEYS = "abcd"


@dataclass
class Known:
    """What the model knows of one key. due: when it is to be ready; None: not at all. low: its priority then.

    turn: its place among keys of its priority. since: it waits since then.
    """

    due: float | None = None
    low: bool = True
    turn: tuple[float, int] = (0.0, 0)
    since: float = 0.0
    running: bool = False
    ran_low: bool = False
    failures: int = 0
    paused: float = 0.0


class Model:
    """A queue that looks at every key at every call. Calls are numbered: a key's turn is when it became ready, and
    which call made it so."""

    def __init__(self) -> None:
        self.keys = {key: Known() for key in KEYS}
        self.calls = 0
        self.highs_in_a_row = 0
        self.closed = False

    def ready(self, key: str, now: float) -> bool:
        known = self.keys[key]
        return known.due is not None and known.due <= now and not known.running

    def add(self, key: str, now: float, *, low: bool) -> None:
        self._put(key, now, now, low=low)

    def add_after(self, key: str, seconds: float, now: float, *, low: bool | None) -> None:
        known = self.keys[key]
        low = (known.running and known.ran_low) if low is None else low
        at = max(now + seconds, known.paused)
        if at > now and known.due is not None and known.due <= now:
            return
        self._put(key, at, now, low=low)

    def _put(self, key: str, at: float, now: float, *, low: bool) -> None:
        if self.closed:
            return
        self.calls += 1
        known = self.keys[key]
        at = max(at, known.paused)
        fresh = known.due is None
        sooner = fresh or at < (known.due or 0.0)
        raised = not fresh and known.low and not low
        known.low = low if fresh else known.low and low
        if sooner:
            known.due = at
            known.turn = (at, self.calls)
            known.since = at
        elif raised and at <= now:
            known.turn = (now, self.calls)

    def pause(self, key: str, seconds: float, now: float) -> None:
        known = self.keys[key]
        until = now + seconds
        if self.closed or until <= max(known.paused, now):
            return
        self.calls += 1
        known.paused = until
        if known.due is not None and known.due < until:
            known.due = known.since = until
            known.turn = (until, self.calls)

    def got(self, now: float) -> str | None:
        ready = [key for key in KEYS if self.ready(key, now)] if not self.closed else []
        highs = sorted((key for key in ready if not self.keys[key].low), key=lambda key: self.keys[key].turn)
        lows = sorted((key for key in ready if self.keys[key].low), key=lambda key: self.keys[key].turn)
        if not ready:
            return None
        aged = bool(lows) and now - self.keys[lows[0]].since >= LOW_AGE_SECONDS
        if lows and (not highs or (aged and self.highs_in_a_row >= LOW_SHARE - 1)):
            key, self.highs_in_a_row = lows[0], 0
        else:
            key, self.highs_in_a_row = highs[0], self.highs_in_a_row + 1
        known = self.keys[key]
        known.due, known.running, known.ran_low = None, True, known.low
        return key

    def done(self, key: str, now: float) -> None:
        known = self.keys[key]
        known.running = False
        if known.due is not None and known.due <= now:
            self.calls += 1
            known.turn, known.since = (now, self.calls), now

    def remove(self, key: str) -> None:
        known = self.keys[key]
        self.keys[key] = Known(running=known.running, ran_low=known.ran_low)


class QueueMachine(RuleBasedStateMachine):
    """Every call on both; they must agree on what is handed out, in which order, and on what they tell."""

    keys = st.sampled_from(KEYS)
    seconds = st.sampled_from([0, 1, 5, 60])

    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = WorkQueue(QueueSettings(max_delay_seconds=20), random.Random(1))
        self.model = Model()
        self.now = 0.0

    @rule(key=keys, low=st.booleans())
    def add(self, key: str, low: bool) -> None:
        self.queue.add(key, self.now, low_priority=low)
        self.model.add(key, self.now, low=low)

    @rule(key=keys, seconds=seconds, low=st.sampled_from([None, False, True]))
    def add_after(self, key: str, seconds: int, low: bool | None) -> None:
        self.queue.add_after(key, seconds, self.now, low_priority=low)
        self.model.add_after(key, seconds, self.now, low=low)

    @rule(key=keys, asked=st.sampled_from([0.0, 0.0, 7.0]))
    def fail(self, key: str, asked: float) -> None:
        known = self.model.keys[key]
        delay = self.queue.add_rate_limited(key, self.now, at_least_seconds=asked)
        own = min(0.005 * 2.0**known.failures, 20)
        least = max(asked, known.paused - self.now)
        assert max(0.8 * own, least) <= delay <= max(own, least)
        if not self.model.closed:
            known.failures += 1
        if asked:
            self.model.pause(key, asked, self.now)
        self.model.add_after(key, delay, self.now, low=None)

    @rule(key=keys, seconds=st.sampled_from([0.5, 3.0]))
    def pause(self, key: str, seconds: float) -> None:
        self.queue.pause(key, seconds, self.now)
        self.model.pause(key, seconds, self.now)

    @rule(seconds=st.sampled_from([0.5, 2, 30]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def get(self) -> None:
        assert self.queue.get(self.now) == self.model.got(self.now)

    @rule()
    def run(self) -> None:
        """Hands out and finishes all there is, in order."""
        for _ in KEYS:
            key = self.queue.get(self.now)
            assert key == self.model.got(self.now)
            if key is not None:
                self.queue.done(key, self.now)
                self.model.done(key, self.now)

    @rule(key=keys)
    def done(self, key: str) -> None:
        if self.model.keys[key].running:
            self.queue.done(key, self.now)
            self.model.done(key, self.now)

    @rule(key=keys)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.keys[key].failures = 0

    @rule(key=keys)
    def remove(self, key: str) -> None:
        self.queue.remove(key)
        self.model.remove(key)

    @rule()
    def sweep(self) -> None:
        self.queue.sweep(self.now)

    @precondition(lambda self: self.now > 60)
    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.model.closed = True
        for key in KEYS:
            self.model.remove(key)

    @invariant()
    def both_tell_the_same(self) -> None:
        known = self.model.keys
        assert self.queue.depth(self.now) == sum(self.model.ready(key, self.now) for key in KEYS)
        assert self.queue.idle == (not any(each.running for each in known.values()))
        assert {key: self.queue.failures(key) for key in KEYS} == {key: known[key].failures for key in KEYS}
        later = [each.due for each in known.values() if each.due is not None and each.due > self.now]
        assert self.queue.next_ready(self.now) == (min(later) if later else None)

    @invariant()
    def fields_are_as_they_say(self) -> None:
        queue, now = self.queue, self.now
        ready = queue._high.keys() | queue._low.keys()
        assert len(ready) == len(queue._high) + len(queue._low)
        assert not ready & queue._running.keys()
        assert queue._dirty.keys() <= queue._running.keys()
        assert queue._low_runs <= queue._running.keys()
        assert not queue._delayed.keys() & (ready | queue._dirty.keys())
        assert {(each.ready_at, each.entry, key) for key, each in queue._delayed.items()} <= {*queue._heap}
        paused = {key: until for key, until in queue._paused.items() if until > now}
        assert not paused.keys() & (ready | queue._dirty.keys())
        assert all(queue._delayed[key].ready_at >= until for key, until in paused.items() if key in queue._delayed)


BUDGET = settings(max_examples=60, stateful_step_count=40, database=None, phases=(Phase.explicit, Phase.generate))


def test_any_history_of_the_queue_is_that_of_the_plain_model() -> None:
    run_state_machine_as_test(QueueMachine, settings=settings(BUDGET, phases=tuple(Phase)))


def _hands_out_twice(queue: type[WorkQueue[str]], patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "_enter", lambda self, key, now, *, low: self._high.setdefault(key, now))


def _forgets_what_came_during_a_run(queue: type[WorkQueue[str]], patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "done", lambda self, key, now: (self._running.pop(key, None), self._dirty.pop(key, None)))


def _takes_the_latest_delay(queue: type[WorkQueue[str]], patch: pytest.MonkeyPatch) -> None:
    delay = queue._delay

    def later(self: WorkQueue[str], key: str, ready_at: float, *, low: bool) -> None:
        self._delayed.pop(key, None)
        delay(self, key, ready_at, low=low)

    patch.setattr(queue, "_delay", later)


def _knows_no_pauses(queue: type[WorkQueue[str]], patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "pause", lambda self, key, seconds, now: None)


def _knows_no_priorities(queue: type[WorkQueue[str]], patch: pytest.MonkeyPatch) -> None:
    enter = queue._enter
    patch.setattr(queue, "_enter", lambda self, key, now, *, low: enter(self, key, now, low=False))


@pytest.mark.parametrize(
    "breaks",
    [
        _hands_out_twice,
        _forgets_what_came_during_a_run,
        _takes_the_latest_delay,
        _knows_no_pauses,
        _knows_no_priorities,
    ],
)
def test_the_model_notices_a_queue_that(breaks: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(breaks)
    breaks(WorkQueue, monkeypatch)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(QueueMachine, settings=settings(BUDGET, max_examples=1000, derandomize=True))
