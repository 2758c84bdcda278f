"""The work queue: which key is reconciled next. PURE: time comes in as an argument, randomness is injected.

client-go's contract (util/workqueue) and controller-runtime's priorities, with delayed adds merged into the queue, with
ageing, and with pauses that nothing cuts short. docs/queue.md says where it differs from both, and why.
"""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from shards.limits.breaker import TokenBucket
from shards.settings import QueueSettings

K = TypeVar("K", bound=Hashable)

LOW_AGE_SECONDS = 5.0
"""A low-priority key that has waited this long is no longer passed over by every other key."""

LOW_SHARE = 4
"""While aged low-priority keys wait, every n-th `get` serves one. A share instead of a promotion: the first list of a
large shard would otherwise be promoted as a whole and hold up live changes for minutes."""

LONGEST_PAUSE_SECONDS = 3600.0
"""Of a key, whatever a server asks for: a proxy that asks for a year must not bury an object."""

_JITTER = 0.2
_COMPACT_ABOVE = 64


class _Delay(NamedTuple):
    """ready_at: reading of the clock. entry: which entry of the heap is the valid one. low: the key's priority then."""

    ready_at: float
    entry: int
    low: bool


class WorkQueue(Generic[K]):
    """Keys, each at most once, none of them handed out twice at a time.

    A key is in one of these states; `add` moves it to the right, `get` and `done` round the circle:
    absent -> delayed -> ready -> running -> (dirty while running -> ready) -> absent
    """

    def __init__(self, settings: QueueSettings, rng: random.Random, retries: TokenBucket | None = None) -> None:
        """retries: bounds the retries of all keys together, and may be shared by several queues; None: nothing does."""
        self._settings = settings
        self._rng = rng
        self._retries = retries
        self._high: OrderedDict[K, float] = OrderedDict()
        """Ready keys in order of arrival, with the time since which they wait. Disjoint from _low and _running."""
        self._low: OrderedDict[K, float] = OrderedDict()
        """The same for low priority."""
        self._running: dict[K, float] = {}
        """Handed out by `get` and not yet `done`, in that order, with the time of it."""
        self._low_runs: set[K] = set()
        """Those of _running that were handed out at low priority: what they ask for themselves stays low."""
        self._dirty: dict[K, bool] = {}
        """Added while running: runs once more after `done`; whether at low priority. A subset of _running."""
        self._delayed: dict[K, _Delay] = {}
        """Waiting for a time. Disjoint from _high, _low and _dirty; may be running."""
        self._heap: list[tuple[float, int, K]] = []
        """(ready at, entry, key), earliest first. An entry that is not the one in _delayed is stale and skipped."""
        self._entries = 0
        self._paused: dict[K, float] = {}
        """Not handed out before that time, whatever happens. While it lasts, the key is in none of _high, _low and
        _dirty, and if it is in _delayed then not for an earlier time."""
        self._failures: dict[K, int] = {}
        self.adds = 0
        """Times that a key became ready: adds that were merged into one count once, delayed ones when they are due."""
        self.waited_since = 0.0
        """Since when the key that `get` handed out last had been ready."""
        self._high_run = 0
        self._closed = False

    # -- in ----------------------------------------------------------------------------------------------------------

    def add(self, key: K, now: float, *, low_priority: bool = False) -> None:
        """Makes the key ready, or ready at the end of its pause. A delayed add of it is merged into this one: the run
        decides anew what comes later. Of several priorities the highest wins."""
        if self._closed:
            return
        self._ripen(now)
        if self._paused and (until := self._paused.get(key, now)) > now:
            self._delay(key, until, low=low_priority)
            return
        if self._delayed and (known := self._delayed.pop(key, None)) is not None:
            low_priority = low_priority and known.low
        self._enter(key, now, low=low_priority)

    def add_after(self, key: K, seconds: float, now: float, *, low_priority: bool | None = None) -> None:
        """Makes the key ready in that many seconds. The earliest wins; a key that is ready already stays so.

        low_priority: None: as the run of the key that is under way, so that what a first list caused stays behind
        changes.
        """
        self._ripen(now)
        low = key in self._low_runs if low_priority is None else low_priority
        ready_at = max(now + seconds, self._paused.get(key, now))
        if ready_at <= now:
            self.add(key, now, low_priority=low)
        elif not (self._closed or key in self._high or key in self._low or key in self._dirty):
            self._delay(key, ready_at, low=low)

    def add_rate_limited(self, key: K, now: float, *, at_least_seconds: float = 0.0) -> float:
        """Counts a failure and makes the key ready after a delay that doubles with each. Returns the delay.

        It is longer where all keys together are retried too often, and where a server asked for more: at_least_seconds,
        which may exceed the longest delay of the settings, and which nothing cuts short.
        """
        failures = self._failures.get(key, 0)
        if not self._closed:
            self._failures[key] = failures + 1
        longest = self._settings.max_delay_seconds
        delay = self.backoff_seconds(failures) * (1.0 - _JITTER * self._rng.random())
        if self._retries is not None:
            turn = self._retries.reserve(now, longest)
            delay = max(delay, longest * (1.0 - _JITTER * self._rng.random()) if turn is None else turn)
        self.pause(key, at_least_seconds, now)
        delay = max(delay, min(at_least_seconds, LONGEST_PAUSE_SECONDS), self._paused.get(key, now) - now)
        self.add_after(key, delay, now)
        return delay

    def pause(self, key: K, seconds: float, now: float) -> None:
        """The key is not handed out before that many seconds have passed, at most LONGEST_PAUSE_SECONDS.

        It queues nothing: a key that was ready is ready again then. One that runs goes on.
        """
        until = now + min(seconds, LONGEST_PAUSE_SECONDS)
        if self._closed or until <= max(self._paused.get(key, now), now):
            return
        self._ripen(now)
        self._paused[key] = until
        waiting = [level.pop(key, None) is not None for level in (self._high, self._low)]
        dirty = self._dirty.pop(key, None)
        delayed = self._delayed.get(key)
        if any(waiting) or dirty is not None:
            self._delay(key, until, low=waiting[1] or bool(dirty))
        elif delayed is not None and delayed.ready_at < until:
            del self._delayed[key]
            self._delay(key, until, low=delayed.low)

    # -- out ---------------------------------------------------------------------------------------------------------

    def get(self, now: float) -> K | None:
        """The next ready key, handed out until `done`; None when there is none or the queue is shut down."""
        if self._closed:
            return None
        self._ripen(now)
        if self._low and (not self._high or self._low_turn(now)):
            key, self.waited_since = self._low.popitem(last=False)
            self._low_runs.add(key)
            self._high_run = 0
        elif self._high:
            key, self.waited_since = self._high.popitem(last=False)
            self._high_run += 1
        else:
            return None
        self._running[key] = now
        return key

    def done(self, key: K, now: float) -> None:
        """The key's run is over. If it was added meanwhile it is ready again. Call it on every way out."""
        self._running.pop(key, None)
        self._low_runs.discard(key)
        if self._dirty and (low := self._dirty.pop(key, None)) is not None:
            self._enter(key, now, low=low)

    def forget(self, key: K) -> None:
        """The key succeeded: its failures no longer count. A pause that a server asked for goes on."""
        self._failures.pop(key, None)

    def remove(self, key: K) -> None:
        """Drops everything known about a key, except that it may be running."""
        for known in (self._high, self._low, self._delayed, self._dirty, self._paused, self._failures):
            known.pop(key, None)

    def shut_down(self) -> None:
        """Nothing is added or handed out any more, what waited is dropped; running keys may still be `done`."""
        self._closed = True
        for known in (self._high, self._low, self._delayed, self._dirty, self._paused, self._failures, self._heap):
            known.clear()

    # -- what is asked about it --------------------------------------------------------------------------------------

    def backoff_seconds(self, failures: int) -> float:
        """Of a key that has failed so often before, without jitter and whatever else may lengthen it."""
        # The exponent is bounded before the power is taken: 2.0 ** 1024 raises OverflowError.
        return min(self._settings.base_delay_seconds * 2.0 ** min(failures, 60), self._settings.max_delay_seconds)

    def failures(self, key: K) -> int:
        """Failures in a row."""
        return self._failures.get(key, 0)

    def next_ready(self, now: float) -> float | None:
        """When the next delayed key becomes ready (a reading of the clock, possibly past); None without one."""
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def depth(self, now: float) -> int:
        """Number of ready keys; those being run do not count."""
        self._ripen(now)
        return len(self._high) + len(self._low)

    def depths(self, now: float) -> tuple[int, int]:
        """The same by priority: (ordinary, low)."""
        self._ripen(now)
        return len(self._high), len(self._low)

    def unsettled(self, now: float) -> dict[K, str]:
        """Keys that are ready, running or failing, with that word. Keys that are merely due later do not count."""
        self._ripen(now)
        found: dict[K, str] = dict.fromkeys(self._failures, "failing")
        found.update(dict.fromkeys((*self._high, *self._low), "ready"))
        found.update(dict.fromkeys(self._running, "running"))
        return found

    def oldest_age(self, now: float) -> float:
        """Seconds since which the longest waiting ready key waits; 0 without one."""
        self._ripen(now)
        heads = [next(iter(level.values())) for level in (self._high, self._low) if level]
        return now - min(heads, default=now)

    @property
    def running(self) -> Mapping[K, float]:
        """Keys that are being run, the longest first, with the time since which they are."""
        return self._running

    def started(self, now: float) -> tuple[float, float]:
        """Of the keys that run: the sum of the seconds for which they do, and the longest of them."""
        ages = [now - since for since in self._running.values()]
        return sum(ages), max(ages, default=0.0)

    def sweep(self, now: float) -> None:
        """Forgets pauses that are over. Call it now and then: a pause may belong to a key that nobody adds again."""
        for key in [key for key, until in self._paused.items() if until <= now]:
            del self._paused[key]

    @property
    def idle(self) -> bool:
        """Whether no key is being run."""
        return not self._running

    # -- inside ------------------------------------------------------------------------------------------------------

    def _enter(self, key: K, now: float, *, low: bool) -> None:
        if key in self._running:
            self._dirty[key] = low and self._dirty.get(key, True)
        elif key in self._high:
            return
        elif low:
            self.adds += key not in self._low
            self._low.setdefault(key, now)
        else:
            self.adds += key not in self._low
            self._high[key] = self._low.pop(key, now)

    def _delay(self, key: K, ready_at: float, *, low: bool) -> None:
        """Enters the key for a time, unless an earlier one is known."""
        known = self._delayed.get(key)
        if known is not None:
            low = low and known.low
            if known.ready_at <= ready_at:
                self._delayed[key] = known._replace(low=low)
                return
        self._entries += 1
        self._delayed[key] = _Delay(ready_at, self._entries, low)
        heapq.heappush(self._heap, (ready_at, self._entries, key))
        if len(self._heap) > _COMPACT_ABOVE and len(self._heap) > 4 * len(self._delayed):
            self._compact()

    def _low_turn(self, now: float) -> bool:
        return self._high_run >= LOW_SHARE - 1 and now - next(iter(self._low.values())) >= LOW_AGE_SECONDS

    def _ripen(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._is_live(entry):
                ready_at, _, key = entry
                self._paused.pop(key, None)
                self._enter(key, ready_at, low=self._delayed.pop(key).low)

    def _is_live(self, entry: tuple[float, int, K]) -> bool:
        known = self._delayed.get(entry[2])
        return known is not None and known.entry == entry[1]

    def _compact(self) -> None:
        self._heap = [(each.ready_at, each.entry, key) for key, each in self._delayed.items()]
        heapq.heapify(self._heap)
