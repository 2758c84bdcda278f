"""How long runs that wait for nothing may hold one turn of the event loop, all engines of a worker together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from shards.clock import Clock

log = logging.getLogger(__name__)

TURN_SECONDS = 0.001
"""A turn of the loop costs a twentieth of it."""

TURN_KEYS = 256
"""The same in keys, where the clock stands still (virtual time)."""


class LoopTurn:
    """Asked after every run whether it is the others' turn. Lives on one event loop.

    The time of a turn begins with its first question. When it is over, everybody runs one more key in it at most.
    """

    __slots__ = ("_clock", "_keys", "_then", "_until")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: float | None = None
        self._keys = 0
        self._then: list[Callable[[], None]] = []

    def then(self, callback: Callable[[], None]) -> None:
        """Has it called in the next turn. All together cost the loop one callback."""
        if not self._then:
            asyncio.get_running_loop().call_soon(self._next)
        self._then.append(callback)

    def over(self) -> bool:
        now = self._clock()
        if self._until is None:
            self._until = now + TURN_SECONDS
            self._keys = 0
            self.then(self._begin)
        self._keys += 1
        return self._keys >= TURN_KEYS or now >= self._until

    def _next(self) -> None:
        then, self._then = self._then, []
        for each in then:
            try:
                each()
            except Exception:  # the others wait for their call, and are not called again
                log.exception("in the next turn of the loop")

    def _begin(self) -> None:
        self._until = None
