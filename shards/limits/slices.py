"""How long one task may hold the loop before the others get their turn."""

from __future__ import annotations

import asyncio

from shards.clock import Clock

SLICE_SECONDS = 0.002
"""How long objects are taken in at a time. A table of 100,000 entries that grows meanwhile may take twice that more."""

SLICE_OBJECTS = 512
"""The same in objects, where the clock stands still (virtual time)."""

LOOK_OBJECTS, LOOK_BYTES = 16, 64 * 1024
"""The clock is read after so much work: reading it costs as much as a tenth of a small object."""


class Slices:
    """Of one task: `over` after every object, and `next` when it says so."""

    __slots__ = ("_bytes", "_clock", "_end", "_objects")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects = self._bytes = 0
        self._end = 0.0

    def over(self, size: int = 0) -> bool:
        """Whether it is the others' turn. size: bytes of the object that was just taken in."""
        self._objects += 1
        self._bytes += size
        if self._objects >= SLICE_OBJECTS:
            return True
        if self._objects % LOOK_OBJECTS and self._bytes < LOOK_BYTES:
            return False
        self._bytes = 0
        return self._clock() >= self._end

    async def next(self) -> None:
        await asyncio.sleep(0)
        self._objects = self._bytes = 0
        self._end = self._clock() + SLICE_SECONDS
