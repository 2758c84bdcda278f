"""Slots for reconciles on one worker, and whose turn it is when more are wanted than there are."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """At most `most` reconciles at a time, over all shards and controllers of a worker. Lives on one event loop.

    A free slot goes to the waiting controller that holds the fewest; within a controller the shards take turns. One
    controller leaves a slot to each other one (as far as there are enough), so that reconciles that hang cannot stop
    those of another controller.

    free: slots that nobody holds. Invariant: while there is one, nobody waits who may have it. Nobody may while whoever
    holds one has asked to be alone.
    """

    def __init__(self, most: int) -> None:
        """most: at least 1."""
        self.most = most
        self.free = most
        self._held: dict[str, int] = {}
        """By controller; of all that have joined."""
        self._limit = most
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """In order of arrival; those of them that were cancelled are skipped. No empty ones."""
        self._closed = False
        self._emptied: asyncio.Future[None] | None = None

    def limit(self) -> int:
        """Slots that one controller may hold."""
        return self._limit

    def held(self, controller: str) -> int:
        """Slots that the controller holds now."""
        return self._held.get(controller, 0)

    def join(self, controller: str) -> None:
        """From now on the others leave it a slot. Joining again changes nothing."""
        if controller not in self._held:
            self._held[controller] = 0
            self._limit = max(1, self.most - len(self._held) + 1)

    def take(self, controller: str) -> bool:
        """Takes a slot, to be given back with `release`; False: there is none for the controller now."""
        self.join(controller)
        if not self._may(controller):
            return False
        self.free -= 1
        self._held[controller] += 1
        return True

    async def acquire(self, controller: str) -> None:
        """Waits for a slot. Whoever gets one must `release` it."""
        if self.take(controller):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(controller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was given a slot and cancelled before it could run.
                self.release(controller)
            raise

    def release(self, controller: str) -> None:
        self.free += 1
        self._held[controller] -= 1
        if self._emptied is not None and self.free >= self.most - 1 and not self._emptied.done():
            self._emptied.set_result(None)
        self._hand_out()

    async def alone(self, seconds: float) -> None:
        """Nobody is given a slot from now on, until `open_again`. Returns when the caller's slot is the only one that
        is held, or after so many seconds: what runs so long anyway cannot be waited for. One caller at a time."""
        self._closed = True
        if self.free >= self.most - 1:
            return
        self._emptied = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait((self._emptied,), timeout=seconds)
        finally:
            self._emptied = None

    def open_again(self) -> None:
        """Ends what `alone` began. Without effect where nobody is alone."""
        if self._closed:
            self._closed = False
            self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and (following := self._next()) is not None:
            queue = self._waiting.pop(following)
            turn = queue.popleft()
            if queue:
                # Last in line among controllers that hold as many.
                self._waiting[following] = queue
            if not turn.done():
                self.free -= 1
                self._held[following] += 1
                turn.set_result(None)

    def _may(self, controller: str) -> bool:
        return self.free > 0 and not self._closed and self._held[controller] < self._limit

    def _next(self) -> str | None:
        """The controller whose turn it is; None when nobody may have a slot."""
        able = [each for each in self._waiting if self._may(each)]
        return min(able, key=self._held.__getitem__, default=None)
