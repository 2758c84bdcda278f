"""What a task rests on: until somebody rings, or until a time that it names."""

from __future__ import annotations

import asyncio


class Alarm:
    """For one task at a time. Lives on one event loop.

    A timer that is set already is left alone where it is early enough: to wake up once for nothing costs less than a
    new timer for every rest that is cut short.
    """

    __slots__ = ("_due", "_resting", "_rung", "_timer")

    def __init__(self) -> None:
        self._rung = False
        self._resting: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def ring(self) -> None:
        """Ends the rest of now, or the next one."""
        self._rung = True
        if self._resting is not None and not self._resting.done():
            self._resting.set_result(None)

    def clear(self) -> None:
        """Whoever rang before has been heard."""
        self._rung = False

    async def rest(self, now: float, seconds: float) -> None:
        """Until it rings; after so many seconds by itself, or sooner. now: of the clock by which rests are compared."""
        if self._rung:
            return
        loop = asyncio.get_running_loop()
        due = now + seconds
        if self._timer is None or due < self._due:
            self.close()
            self._timer = loop.call_later(seconds, self._ring)
            self._due = due
        self._resting = loop.create_future()
        try:
            await self._resting
        finally:
            self._resting = None

    def close(self) -> None:
        """Leaves no timer behind."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self.ring()
