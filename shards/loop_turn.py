"""How long runs that wait for nothing may hold one turn of the event loop, all engines of a worker together."""

from __future__ import annotations

import asyncio

from shards.clock import Clock

TURN_SECONDS = 0.001
"""A turn of the loop costs a twentieth of it."""

TURN_KEYS = 256
"""The same in keys, where the clock stands still (virtual time)."""


class LoopTurn:
    """Asked after every run whether it is the others' turn. Lives on one event loop.

    Its time begins with the first question of a turn of the loop; after that, everybody runs one key and no more.
    """

    __slots__ = ("_clock", "_keys", "_until")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: float | None = None
        self._keys = 0

    def over(self) -> bool:
        now = self._clock()
        if self._until is None:
            self._until = now + TURN_SECONDS
            self._keys = 0
            asyncio.get_running_loop().call_soon(self._next)
        self._keys += 1
        return self._keys >= TURN_KEYS or now >= self._until

    def _next(self) -> None:
        self._until = None
