"""The two ends of a connection: what the network gives, and what a process takes when it runs."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable

from fleet.devcluster.faults import ConnectionRefused
from fleet.devcluster.wire.answers import Answer, ConnectionLost, EventStream
from fleet.devcluster.wire.requests import Request
from shards.api.client import error_from
from shards.errors import ApiError, Unreachable


class Hop:
    """One request of a process on its way. name, label: of the process. front: the front end that it is connected to.

    arrived: the answer's body, or what the request failed with; made by the process, so that it wakes there.
    until: the true time after which its socket sends nothing any more.
    """

    __slots__ = ("_alive", "_until", "arrived", "front", "label", "name", "rng", "what")

    def __init__(
        self,
        name: str,
        label: str,
        front: int,
        rng: random.Random,
        what: str,
        *,
        alive: Callable[[], bool],
        until: Callable[[], float],
    ) -> None:
        self._alive = alive
        self._until = until
        self.name = name
        self.label = label
        self.front = front
        self.rng = rng
        self.what = what
        self.arrived: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    @property
    def waiting(self) -> bool:
        """Whether anything of it may still be sent, and be of use to who sent it."""
        loop = asyncio.get_running_loop()
        return not self.arrived.done() and self._alive() and loop.time() <= self._until()

    def answered(self, answer: Answer, body: bytes) -> None:
        if self.arrived.done():
            return
        if 200 <= answer.status < 300:
            self.arrived.set_result(body)
        else:
            self.fail(error_from(answer.status, body, answer.retry_after or None))

    def broke(self, error: ConnectionLost) -> None:
        self.fail(unreachable(self.what, error))

    def fail(self, error: ApiError | Unreachable) -> None:
        if not self.arrived.done():
            self.arrived.set_exception(error)
            self.arrived.exception()  # whoever asked may be gone


class Channel:
    """A watch. source: the server's stream, once it answers. closed: nobody takes anything from it any more."""

    def __init__(self, hop: Hop, request: Request) -> None:
        self.hop = hop
        self.request = request
        self.source: EventStream | None = None
        self.closed = False
        self._ready: deque[bytes] = deque()
        self._error: Unreachable | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._over = False

    # -- the network's end ---------------------------------------------------------------------------------------------

    def opened(self, answer: Answer, body: bytes) -> None:
        if answer.stream is None and 200 <= answer.status < 300:
            self._ready.append(body)
            self._over = True
        self.hop.answered(answer, body)

    def put(self, chunk: bytes) -> None:
        """b"" ends it; what comes after its end or its break is lost."""
        if self._over or self._error is not None:
            return
        if chunk:
            self._ready.append(chunk)
        else:
            self._over = True
        self._wake()

    def broke(self, error: ConnectionLost) -> None:
        self.hop.broke(error)
        if not self._over and self._error is None:
            self._error = unreachable(self.hop.what, error)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- the process's end ---------------------------------------------------------------------------------------------

    async def take(self) -> bytes:
        """All that has arrived; b"" at the end. Raises Unreachable."""
        while not self._ready:
            if self._error is not None:
                raise self._error
            if self._over:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = b"".join(self._ready) if len(self._ready) > 1 else self._ready[0]
        self._ready.clear()
        return chunk

    def close(self) -> None:
        self.closed = True
        if self.source is not None:
            self.source.close()


def unreachable(what: str, error: ConnectionLost) -> Unreachable:
    return Unreachable(f"no answer to {what}: {error}", maybe_applied=not isinstance(error, ConnectionRefused))
