"""How busy a shard was in the last minute, and with which keys. PURE."""

from __future__ import annotations

from shards.keyrange import PartitionKey
from shards.objects import Key
from shards.reconciling.key_costs import KeyCosts

WINDOW_SECONDS = 60


class LoadMeter:
    """Counts reconciles and their durations over a sliding minute, in steps of a second. Memory does not grow."""

    __slots__ = ("_counts", "_second", "_seconds", "_since", "costs")

    def __init__(self, now: float, partition_by: PartitionKey = PartitionKey.UID) -> None:
        self.costs = KeyCosts(partition_by, now)
        self._counts = [0] * WINDOW_SECONDS
        self._seconds = [0.0] * WINDOW_SECONDS
        self._second = int(now)
        self._since = now

    def begin(self, now: float) -> None:
        """Reconciles may begin only now: the time before it is not measured."""
        self._since = now

    def measured_seconds(self, now: float) -> float:
        """For how long it has been measured."""
        return now - self._since

    def record(self, key: Key, seconds: float, now: float) -> None:
        """A reconcile of the key that took this long has just ended."""
        self.costs.ran(key, seconds, now)
        if now >= self._second + 1:
            self._advance(now)
        slot = self._second % WINDOW_SECONDS
        self._counts[slot] += 1
        self._seconds[slot] += seconds

    def rates(self, now: float) -> tuple[float, float]:
        """(reconciles per second, reconcile seconds per second), over the time measured so far, at most a minute."""
        self._advance(now)
        span = min(max(now - self._since, 1.0), float(WINDOW_SECONDS))
        return sum(self._counts) / span, sum(self._seconds) / span

    def _advance(self, now: float) -> None:
        second = int(now)
        for passed in range(self._second + 1, min(second, self._second + WINDOW_SECONDS) + 1):
            self._counts[passed % WINDOW_SECONDS] = 0
            self._seconds[passed % WINDOW_SECONDS] = 0.0
        self._second = max(second, self._second)
