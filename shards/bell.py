"""What one task waits for, with an end to its patience: an event, or a time."""

from __future__ import annotations

import asyncio

LEAST_SECONDS = 0.001
"""The shortest wait. A deadline may be nearer than the loop's clock can show; a timer for that rest is due at once, and
whoever looks, sees the rest again, and waits for it, would look for as long as that clock shows the same."""


class Bell:
    """An `asyncio.Event` for a single waiter that waits for so long at most.

    A loop that looks several times a second, and whenever it is told to, would otherwise pay for a cancellation and an
    exception each time that nobody tells it anything.
    """

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def is_set(self) -> bool:
        return self._rung

    def set(self) -> None:
        """Ends the wait, or the next one before it begins, until `clear`."""
        self._rung = True
        if self._waiter is not None:
            _end(self._waiter)

    def clear(self) -> None:
        self._rung = False

    async def wait(self, seconds: float | None) -> bool:
        """Whether it rang; False when the time was over first. None: however long that takes.

        seconds: less than `LEAST_SECONDS` is that.
        """
        if self._rung:
            return True
        assert self._waiter is None, "a bell has one waiter"
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = None if seconds is None else loop.call_later(max(seconds, LEAST_SECONDS), _end, self._waiter)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
        return self._rung


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
