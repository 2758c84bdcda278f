"""Where among its hashes a shard's costs lie: in the middle of them it could be split. PURE.

Reconcile time is sampled, one sample for so much of it, so that what a key costs decides how often it is met, and a
reconcile costs next to nothing to count. What is older than a few minutes is forgotten by halves. Neighbours are put
together when there are too many hashes; one that costs much stays alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from shards.keyrange import PartitionKey, key_hash
from shards.objects import Key

SAMPLE_SECONDS = 0.02
HALVED_EVERY_SECONDS = 60.0

MOST_HASHES = 256
"""When there are more, neighbours are put together that cost less than a FINENESSth of all."""

FINENESS = 32

_GOLDEN = 0.6180339887498949
"""Samples are taken at uneven steps: reconciles of two keys that take turns must not hide one of them."""


class Middle(NamedTuple):
    """at: a hash below which about half of the costs lie, 0 where no hash divides them. below: the part that does.

    hot: hash of the costliest key. share: its part of all costs.
    """

    at: int
    below: float
    hot: int
    share: float


class KeyCosts:
    """What the keys of one controller cost in one shard. Memory does not grow."""

    __slots__ = ("_by", "_costs", "_due", "_halved_at", "_since", "_step")

    def __init__(self, partition_key: PartitionKey, now: float) -> None:
        self._by = partition_key
        self._costs: dict[int, float] = {}
        self._since = 0.0
        self._step = 0.5
        self._due = SAMPLE_SECONDS
        self._halved_at = now

    @property
    def costs(self) -> dict[int, float]:
        """Seconds by hash."""
        return self._costs

    def ran(self, key: Key, seconds: float, now: float) -> None:
        """A reconcile of the key took so long."""
        self._since += seconds
        if self._since >= self._due:
            self._sample(key, now)

    def _sample(self, key: Key, now: float) -> None:
        if now - self._halved_at >= HALVED_EVERY_SECONDS:
            half = 0.5 ** int((now - self._halved_at) / HALVED_EVERY_SECONDS)
            self._costs = {each: cost * half for each, cost in self._costs.items()}
            self._halved_at = now
        where = key_hash(self._by, key.namespace, key.name, key.uid)
        self._costs[where] = self._costs.get(where, 0.0) + self._since
        self._since = 0.0
        self._step = (self._step + _GOLDEN) % 1.0
        self._due = SAMPLE_SECONDS * (0.5 + self._step)
        if len(self._costs) > MOST_HASHES:
            self._costs = _gathered(self._costs)


def middle_of(each: Iterable[KeyCosts]) -> Middle | None:
    """Of all controllers together; None where nothing was sampled yet."""
    costs: dict[int, float] = {}
    for one in each:
        for where, cost in one.costs.items():
            costs[where] = costs.get(where, 0.0) + cost
    total = sum(costs.values())
    if not total:
        return None
    hashes = sorted(costs)
    hot = max(hashes, key=lambda where: (costs[where], -where))
    below = [cost / total for cost in accumulate(costs[where] for where in hashes)]
    best = min(range(len(hashes) - 1), key=lambda i: abs(below[i] - 0.5), default=None)
    if best is None:
        return Middle(0, 0.0, hot, costs[hot] / total)
    return Middle(hashes[best + 1], below[best], hot, costs[hot] / total)


def _gathered(costs: dict[int, float]) -> dict[int, float]:
    """At most twice FINENESS and one hashes: neighbours are counted at the first of them."""
    most = sum(costs.values()) / FINENESS
    gathered: dict[int, float] = {}
    first, sum_there = -1, 0.0
    for where in sorted(costs):
        if first >= 0 and sum_there + costs[where] <= most:
            sum_there += costs[where]
        else:
            first, sum_there = where, costs[where]
        gathered[first] = sum_there
    return gathered
