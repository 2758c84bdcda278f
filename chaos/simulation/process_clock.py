"""The clock of a simulated machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol


class TrueTime(Protocol):
    """now: true seconds."""

    now: float


class ProcessClock:
    """Boot seconds of one machine: an offset and a rate. It never goes back.

    floor: the reading at which the last timer was due. Rounding must not make a timer go off before its time, for who
    asks would then wait for ever at one moment.
    """

    __slots__ = ("_shown", "_since", "_true", "floor", "listeners", "rate")

    def __init__(self, true: TrueTime, boot_seconds: float = 0.0) -> None:
        self._true = true
        self._since = true.now
        self._shown = boot_seconds
        self.floor = -math.inf
        self.rate = 1.0
        self.listeners: list[Callable[[ProcessClock], None]] = []

    def __call__(self) -> float:
        reading = self._shown + (self._true.now - self._since) * self.rate
        return reading if reading > self.floor else self.floor

    def to_true(self, reading: float) -> float:
        """The true time at which it shows this, as it runs now. Infinite where it stands still until then."""
        if self.rate == 0:
            return math.inf if reading > self._shown else self._true.now
        return self._since + (reading - self._shown) / self.rate

    def run_at(self, rate: float) -> None:
        """From now on so many seconds pass on it in a true second. Raises ValueError where it would run backwards."""
        if not 0 <= rate < math.inf:
            raise ValueError(f"rate: {rate} must be at least 0 and finite: a boot clock never goes back")
        self._shown, self._since, self.rate = self(), self._true.now, rate
        for each in self.listeners:
            each(self)
