"""Which keys of one controller in one shard have been waiting for long, for what and since when. PURE.

A key that waits does not fail: nothing is wrong with it, and nothing is done about it. For a moment that is as it
should be; after LONG_SECONDS somebody may want to know. As of a failing key, no value of an object is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from itertools import islice, takewhile

from shards.gates.parking import Parked
from shards.objects import Key

LONG_SECONDS = 30.0
"""What a deletion in the background, a lagging watch or a slow request need is over by then."""

MOST_COUNTED = 1000
"""Of the keys that the gate holds back: they are counted once a second, between other tasks of the loop."""


class WaitsFor(StrEnum):
    """What ends the wait."""

    ITSELF = "reconcile"
    """The reconcile, which runs: it is slow, or hangs until its timeout."""
    READINESS = "not ready"
    """Something that the reconcile named when it said that it is not ready: a child of another owner, a budget."""
    AGAIN = "requeue"
    """Whatever the reconcile waits for when it asks to run again, again and again."""
    VIEW = "view"
    """The view, which does not show the key's own writes."""
    BREAKER = "breaker"
    """The deletions of this controller, which are paused."""
    SERVER = "server"
    """The time for which a server asked to be left alone."""


@dataclass(frozen=True, slots=True)
class WaitingKey:
    """One key that waits, as it is told to others. key: namespace/name. since: boot-clock reading. times: see Wait."""

    controller: str
    key: str
    since: float
    times: int
    waits_for: WaitsFor
    why: str


@dataclass(slots=True)
class Wait:
    """since: boot-clock reading. times: how often in a row it was told to wait for that kind of thing."""

    since: float
    times: int
    waits_for: WaitsFor
    why: str


class WaitingKeys:
    """What reconciles say that their keys wait for, from the first time to the next success or failure.

    Memory: one small record for each key that waits. Invariants: a key is in one of `_young` and `_long`, and each
    holds its keys in the order of `since`; what has become old is moved when somebody looks. _kinds counts the keys of
    `_long` by what they wait for.
    """

    def __init__(self) -> None:
        self._young: dict[Key, Wait] = {}
        self._long: dict[Key, Wait] = {}
        self._kinds: Counter[WaitsFor] = Counter()

    def waits(self, key: Key, waits_for: WaitsFor, why: str, now: float) -> int:
        """The key was told to wait once more. Returns how often in a row."""
        wait = self._young.get(key) or self._long.get(key)
        if wait is None:
            wait = self._young[key] = Wait(now, 0, waits_for, "")
        if wait.waits_for is not waits_for and key in self._long:
            self._kinds[wait.waits_for] -= 1
            self._kinds[waits_for] += 1
        wait.times = wait.times + 1 if wait.waits_for is waits_for else 1
        wait.waits_for, wait.why = waits_for, why
        return wait.times

    def over(self, key: Key) -> None:
        """The key succeeded, failed, or is gone."""
        if self._young.pop(key, None) is None and self._long:
            wait = self._long.pop(key, None)
            if wait is not None:
                self._kinds[wait.waits_for] -= 1

    def long(self, now: float) -> dict[Key, Wait]:
        """Those that wait for long, the longest first. Not to be changed."""
        while self._young:
            key, wait = next(iter(self._young.items()))
            if not is_long(wait.since, now):
                break
            self._long[key] = self._young.pop(key)
            self._kinds[wait.waits_for] += 1
        return self._long

    def long_kinds(self, now: float) -> Counter[WaitsFor]:
        """How many wait for long, by what for."""
        self.long(now)
        return +self._kinds


def is_long(since: float, now: float) -> bool:
    return now - since >= LONG_SECONDS


@dataclass(frozen=True, slots=True)
class LongWaits:
    """All waits of one controller in one shard, each source in the order of `since`.

    waiting: what reconciles said. parked: what the gate holds back. running: since when reconciles run.
    """

    waiting: WaitingKeys
    parked: Mapping[Key, Parked]
    running: Mapping[Key, float]

    def count(self, now: float) -> int:
        """How many wait for long."""
        return self.counts(now).total()

    def counts(self, now: float) -> Counter[WaitsFor]:
        """The same, by what they wait for. A key that runs, or is parked, after it was told to wait counts once."""
        said, found = self.waiting.long(now), self.waiting.long_kinds(now)
        others = dict.fromkeys((key for key, _ in islice(self._parked(now), MOST_COUNTED)), WaitsFor.VIEW)
        others |= dict.fromkeys(self._running(now), WaitsFor.ITSELF)
        found.update(waits_for for key, waits_for in others.items() if key not in said)
        return found

    def told(self, controller: str, most: int, now: float) -> list[WaitingKey]:
        """At most so many, the longest first."""
        found = dict(islice(self.waiting.long(now).items(), most))
        for key, parked in islice(self._parked(now), most):
            why = f"its view does not show its own write: {parked.blocked.reason}"
            found.setdefault(key, Wait(parked.since, 1, WaitsFor.VIEW, why))
        for key in self._running(now):
            found.setdefault(key, Wait(self.running[key], 1, WaitsFor.ITSELF, "its reconcile has not ended"))
        longest = nsmallest(most, found.items(), key=lambda item: item[1].since)
        return [
            WaitingKey(controller, str(key), wait.since, wait.times, wait.waits_for, wait.why) for key, wait in longest
        ]

    def _parked(self, now: float) -> Iterator[tuple[Key, Parked]]:
        return takewhile(lambda item: is_long(item[1].since, now), self.parked.items())

    def _running(self, now: float) -> Iterable[Key]:
        return takewhile(lambda key: is_long(self.running[key], now), self.running)
