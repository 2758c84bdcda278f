"""A clock that tests set by hand."""

from __future__ import annotations


class FakeClock:
    """Callable like `shards.clock.boot_seconds`. now: its reading in seconds; starts away from zero on purpose, so
    that code which takes zero for "never" shows itself."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        """Moves the clock forward. Returns the new reading. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError("this clock never goes back")
        self.now += seconds
        return self.now
