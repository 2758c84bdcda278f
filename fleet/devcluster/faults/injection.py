"""A fault in force, and how often it struck. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable

from fleet.devcluster.faults.words import Word


class Injection:
    """One fault from its injection to its release.

    id: from 1, in the order of injection. since: when it was injected, seconds. struck: how often it did.
    lost_versions: of a `drop`: what the watch cache has lost.
    """

    __slots__ = ("_end", "fault", "id", "lost_versions", "released", "since", "struck")

    def __init__(self, number: int, fault: Word, since: float, end: Callable[[Injection], None]) -> None:
        self.id = number
        self.fault = fault
        self.since = since
        self.struck = 0
        self.released = False
        self.lost_versions: set[int] = set()
        self._end = end

    def release(self) -> None:
        """Ends the fault: see `Faults.release`. Idempotent."""
        self._end(self)

    def lasts(self, now: float) -> bool:
        """Whether it is in its time: what it struck stays struck so long."""
        if self.released or now < self.since + self.fault.from_seconds:
            return False
        return self.fault.until_seconds is None or now < self.since + self.fault.until_seconds

    def strikes(self, now: float, rng: random.Random) -> bool:
        """Decides one more time, and counts it. rng: asked only where the probability leaves a choice."""
        fault = self.fault
        if (fault.times is not None and self.struck >= fault.times) or not self.lasts(now):
            return False
        if fault.probability < 1.0 and rng.random() >= fault.probability:
            return False
        self.struck += 1
        return True
