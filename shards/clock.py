"""Time as an argument: what the shell passes to the pure parts."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds on a clock that never goes back and counts while the machine sleeps."""


def boot_seconds() -> float:
    """CLOCK_BOOTTIME: a suspended laptop must not think that its lease is still young."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class DriftingClock:
    """The clock of a machine that runs fast or slow, or was set wrong: for tests and simulation.

    It starts at the true reading. monotonic: it never goes back; set back, it stands still until the time has come.
    """

    def __init__(self, true: Clock, *, monotonic: bool = True) -> None:
        self._true = true
        self._monotonic = monotonic
        self._rate = 1.0
        self._since = self._shown = self._last = true()

    def __call__(self) -> float:
        reading = self._computed()
        if self._monotonic:
            reading = max(reading, self._last)
        self._last = reading
        return reading

    def run_at(self, rate: float) -> None:
        """From now on so many seconds pass on it in a true second, at least 0."""
        self._shown, self._since, self._rate = self._computed(), self._true(), rate

    def jump(self, seconds: float) -> None:
        """Sets it forward, or back where that is negative."""
        self._shown += seconds

    def _computed(self) -> float:
        return self._shown + (self._true() - self._since) * self._rate
