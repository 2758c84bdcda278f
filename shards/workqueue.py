"""The work queue: which key is reconciled next. PURE: time comes in as an argument, randomness is injected.

client-go's contract (util/workqueue), with delayed adds merged into the queue and two priorities.
"""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from shards.settings import QueueSettings

K = TypeVar("K", bound=Hashable)

LOW_AGE_SECONDS = 5.0
"""A low-priority key that has waited this long is no longer passed over by every other key."""

LOW_SHARE = 4
"""While aged low-priority keys wait, every n-th `get` serves one. A share instead of a promotion: the first list of a
large shard would otherwise be promoted as a whole and hold up live changes for minutes."""

_JITTER = 0.2
_COMPACT_ABOVE = 64


class WorkQueue(Generic[K]):
    """Keys, each at most once, none of them handed out twice at a time.

    A key is in one of these states; `add` moves it to the right, `get` and `done` round the circle:
    absent -> delayed -> ready -> processing -> (dirty while processing -> ready) -> absent
    """

    def __init__(self, settings: QueueSettings, rng: random.Random) -> None:
        self._settings = settings
        self._rng = rng
        self._high: OrderedDict[K, float] = OrderedDict()
        """Ready keys in order of arrival, with the time since which they wait. Disjoint from _low and _processing."""
        self._low: OrderedDict[K, float] = OrderedDict()
        """The same for low priority."""
        self._processing: dict[K, float] = {}
        """Handed out by `get` and not yet `done`, with the time of it."""
        self._dirty: set[K] = set()
        """Added while processing: runs once more after `done`. A subset of _processing."""
        self._delayed: dict[K, tuple[float, int]] = {}
        """Waiting for a time. Disjoint from _high, _low and _dirty; may be processing. Value: (ready at, entry)."""
        self._heap: list[tuple[float, int, K]] = []
        """(ready at, entry, key), earliest first. An entry that is not the one in _delayed is stale and skipped."""
        self._entries = 0
        self._failures: dict[K, int] = {}
        self.adds = 0
        """Times that a key became ready: adds that were merged into one count once, delayed ones when they are due."""
        self.waited_since = 0.0
        """Since when the key that `get` handed out last had been ready."""
        self._high_run = 0
        self._closed = False

    def add(self, key: K, now: float, *, low_priority: bool = False) -> None:
        """Makes the key ready. A delayed add of it is merged into this one: the run decides anew what comes later."""
        if self._closed:
            return
        self._ripen(now)
        if self._delayed:
            self._delayed.pop(key, None)
        self._enter(key, now, low_priority=low_priority)

    def add_after(self, key: K, seconds: float, now: float) -> None:
        """Makes the key ready in that many seconds. The earliest wins; a key that is ready already stays so."""
        if seconds <= 0:
            self.add(key, now)
            return
        if self._closed or key in self._high or key in self._low or key in self._dirty:
            return
        ready_at = now + seconds
        known = self._delayed.get(key)
        if known is not None and known[0] <= ready_at:
            return
        self._entries += 1
        self._delayed[key] = (ready_at, self._entries)
        heapq.heappush(self._heap, (ready_at, self._entries, key))
        if len(self._heap) > _COMPACT_ABOVE and len(self._heap) > 4 * len(self._delayed):
            self._compact()

    def add_rate_limited(self, key: K, now: float, *, at_least_seconds: float = 0.0) -> float:
        """Counts a failure and makes the key ready after a delay that doubles with each. Returns the delay.

        at_least_seconds: what a server asked for; may exceed the longest delay of the settings.
        """
        failures = self._failures.get(key, 0)
        if not self._closed:
            self._failures[key] = failures + 1
        # The exponent is bounded before the power is taken: 2.0 ** 1024 raises OverflowError.
        delay = min(self._settings.base_delay_seconds * 2.0 ** min(failures, 60), self._settings.max_delay_seconds)
        delay = max(delay * (1.0 - _JITTER * self._rng.random()), at_least_seconds)
        self.add_after(key, delay, now)
        return delay

    def failures(self, key: K) -> int:
        """Failures in a row."""
        return self._failures.get(key, 0)

    def get(self, now: float) -> K | None:
        """The next ready key, handed out until `done`; None when there is none or the queue is shut down."""
        if self._closed:
            return None
        self._ripen(now)
        if self._low and (not self._high or self._low_turn(now)):
            key, self.waited_since = self._low.popitem(last=False)
            self._high_run = 0
        elif self._high:
            key, self.waited_since = self._high.popitem(last=False)
            self._high_run += 1
        else:
            return None
        self._processing[key] = now
        return key

    def done(self, key: K, now: float) -> None:
        """The key's run is over. If it was added meanwhile it is ready again. Call it on every way out."""
        self._processing.pop(key, None)
        if key in self._dirty:
            self._dirty.discard(key)
            self._high[key] = now

    def forget(self, key: K) -> None:
        """The key succeeded: its failures no longer count."""
        self._failures.pop(key, None)

    def remove(self, key: K) -> None:
        """Drops everything known about a key, except that it may be processing."""
        for known in (self._high, self._low, self._delayed, self._failures):
            known.pop(key, None)
        self._dirty.discard(key)

    def next_ready(self, now: float) -> float | None:
        """When the next delayed key becomes ready (a reading of the clock, possibly past); None without one."""
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def depth(self, now: float) -> int:
        """Number of ready keys; those being processed do not count."""
        self._ripen(now)
        return len(self._high) + len(self._low)

    def unsettled(self, now: float) -> dict[K, str]:
        """Keys that are ready, running or failing, with that word. Keys that are merely due later do not count."""
        self._ripen(now)
        found: dict[K, str] = dict.fromkeys(self._failures, "failing")
        found.update(dict.fromkeys((*self._high, *self._low), "ready"))
        found.update(dict.fromkeys(self._processing, "running"))
        return found

    def oldest_age(self, now: float) -> float:
        """Seconds since which the longest waiting ready key waits; 0 without one."""
        self._ripen(now)
        heads = [next(iter(level.values())) for level in (self._high, self._low) if level]
        return now - min(heads, default=now)

    def started(self, now: float) -> tuple[float, float]:
        """Of the keys that run: the sum of the seconds for which they do, and the longest of them."""
        ages = [now - since for since in self._processing.values()]
        return sum(ages), max(ages, default=0.0)

    def shut_down(self) -> None:
        """Nothing is added or handed out any more, what waited is dropped; running keys may still be `done`."""
        self._closed = True
        for known in (self._high, self._low, self._dirty, self._delayed, self._failures):
            known.clear()
        self._heap.clear()

    @property
    def idle(self) -> bool:
        """Whether no key is being processed."""
        return not self._processing

    def _enter(self, key: K, now: float, *, low_priority: bool = False) -> None:
        if key in self._processing:
            self._dirty.add(key)
        elif key in self._high:
            return
        elif low_priority:
            self.adds += key not in self._low
            self._low.setdefault(key, now)
        else:
            self.adds += key not in self._low
            self._high[key] = self._low.pop(key, now)

    def _low_turn(self, now: float) -> bool:
        return self._high_run >= LOW_SHARE - 1 and now - next(iter(self._low.values())) >= LOW_AGE_SECONDS

    def _ripen(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._is_live(entry):
                ready_at, _, key = entry
                del self._delayed[key]
                self._enter(key, ready_at)

    def _is_live(self, entry: tuple[float, int, K]) -> bool:
        known = self._delayed.get(entry[2])
        return known is not None and known[1] == entry[1]

    def _compact(self) -> None:
        self._heap = [(ready_at, entry, key) for key, (ready_at, entry) in self._delayed.items()]
        heapq.heapify(self._heap)
