"""Time as an argument: what the shell passes to the pure parts."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds on a clock that never goes back and counts while the machine sleeps."""


def boot_seconds() -> float:
    """CLOCK_BOOTTIME: a suspended laptop must not think that its lease is still young."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
