"""A fault in force, and how often it struck. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from fleet.devcluster.faults.words import Word


class Injection:
    """One fault from its injection to its release.

    id: from 1, in the order of injection. begins_at, ends_at: its time, in seconds of the loop; infinity where it has
    no end. struck: how often it did. lost_versions: of a `drop`: what the watch cache has lost.
    """

    __slots__ = (
        "_begun",
        "_end",
        "_over",
        "begins_at",
        "ends_at",
        "fault",
        "id",
        "lost_versions",
        "released",
        "struck",
    )

    def __init__(self, number: int, fault: Word, since: float, end: Callable[[Injection], None]) -> None:
        """since: when it is injected; negative infinity for a fault that looks at no time."""
        self.id = number
        self.fault = fault
        self.begins_at = since + fault.from_seconds
        self.ends_at = math.inf if fault.until_seconds is None else since + fault.until_seconds
        self._begun = self._over = False
        self.struck = 0
        self.released = False
        self.lost_versions: set[int] = set()
        self._end = end

    def release(self) -> None:
        """Ends the fault: see `Faults.release`. Idempotent."""
        self._end(self)

    def lasts(self, now: float) -> bool:
        """Whether it is in its time: what it struck stays struck so long."""
        if self.released or self._over or now >= self.ends_at:
            return False
        return self._begun or now >= self.begins_at

    def begin(self) -> None:
        """Its time has come, whatever a clock says: timers fire a rounding error early, and nothing would ask again."""
        self._begun = True

    def finish(self) -> None:
        """Its time is over, in the same way."""
        self._over = True

    def strikes(self, now: float, rng: random.Random) -> bool:
        """Decides one more time, and counts it. rng: asked only where the probability leaves a choice."""
        fault = self.fault
        if (fault.times is not None and self.struck >= fault.times) or not self.lasts(now):
            return False
        if fault.probability < 1.0 and rng.random() >= fault.probability:
            return False
        self.struck += 1
        return True
