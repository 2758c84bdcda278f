"""A stream on its way to a client, with the faults that strike it: those of its beginning and those that come later.

Without faults a read goes straight through. While a fault is attached, a task of its own reads the server's stream, so
that an event's delay counts from the event and not from when the client happens to look. It stops while enough is kept
for a client that does not take it: then the server sees a slow reader, as it would without us.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable

from fleet.devcluster.faults.delivery import Delivery
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.match import Asked
from fleet.devcluster.wire.answers import EventStream, Interrupted


class WholeBody:
    """A complete body as an `EventStream`."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def interrupt(self) -> None:
        """Its reads never wait."""

    def close(self) -> None:
        self._body = b""


class FaultyStream:
    """An `EventStream` around another one. considered: ids of the injections that have decided about it."""

    def __init__(
        self,
        asked: Asked,
        inner: EventStream,
        rng: random.Random,
        *,
        whole_bytes: int | None = None,
        events: bool = True,
        on_close: Callable[[FaultyStream], None],
    ) -> None:
        """whole_bytes: the length of a body; None for a watch. events: it is made of lines, each an event in JSON."""
        self.asked = asked
        self.whole_bytes = whole_bytes
        self.considered: set[int] = set()
        self._inner = inner
        self.events = events and whole_bytes is None
        self._delivery = Delivery(rng, events=self.events)
        self._on_close = on_close
        self._pump: asyncio.Task[None] | None = None
        self._plain = True  # no fault is at work
        self._direct = False  # a read waits at the server's stream
        self._interrupted = False
        self._waiter: asyncio.Future[float] | None = None
        self._closed = False
        self._moved = asyncio.Event()
        """Set when faults came or went, or when something was taken: the pump looks again."""

    @property
    def struck(self) -> bool:
        """Whether any fault is at work."""
        return not self._plain

    def attach(self, injection: Injection) -> None:
        self._plain = False
        self._delivery.attach(injection, whole_bytes=self.whole_bytes)

    def finish(self, last_line: bytes) -> None:
        """Ends the stream at the server, with one last line for the client."""
        self._delivery.finish(last_line)
        self._inner.close()

    def changed(self, now: float) -> None:
        """Injections were attached, or some are over."""
        self._delivery.forget(now)
        if self._pump is None and not self._plain:
            if self._direct:
                self._inner.interrupt()
            else:
                self._start()
        self._moved.set()
        self._wake()

    async def read(self) -> bytes:
        """As `EventStream.read`, but cut wherever a fault says. Raises ConnectionLost, Interrupted."""
        if self._plain and not self._closed:
            self._direct = True
            try:
                chunk = await self._inner.read()
                if self._plain:
                    return chunk
                # A fault came before it.
                self._delivery.arrive(chunk, asyncio.get_running_loop().time())
            except Interrupted:
                self._check_interrupted()
            finally:
                self._direct = False
        return await self._read_faulty()

    async def _read_faulty(self) -> bytes:
        loop = asyncio.get_running_loop()
        reached = -math.inf
        while not self._closed:
            if self._plain:
                return await self.read()
            if self._pump is None:
                self._start()
            if self._delivery.sliced:
                await asyncio.sleep(0)  # or a door would write all pieces before any of them is read
            now = max(loop.time(), reached)
            taken = self._delivery.take(now)
            if taken is not None:
                self._moved.set()
                if self._delivery.idle:
                    self._inner.interrupt()  # the task that reads is not needed any more
                return taken
            reached = await self._wait(loop, self._delivery.due_at(now))
            self._check_interrupted()
        return b""

    def interrupt(self) -> None:
        if self._direct:
            self._interrupted = True
            self._inner.interrupt()
        elif self._waiter is not None:
            self._interrupted = True
            self._wake()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._pump is not None:
            self._pump.cancel()
        self._inner.close()
        self._on_close(self)
        self._wake()

    def _check_interrupted(self) -> None:
        if self._interrupted:
            self._interrupted = False
            raise Interrupted

    async def _wait(self, loop: asyncio.AbstractEventLoop, due: float) -> float:
        """The time that has come at least: `due` when it is that, although a timer may fire a rounding error early."""
        self._waiter = loop.create_future()
        timer = None if due == math.inf else loop.call_at(due, self._wake, due)
        try:
            return await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self, reached: float = -math.inf) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(reached)

    def _start(self) -> None:
        self._pump = asyncio.get_running_loop().create_task(self._read_on(), name="stream under faults")

    async def _read_on(self) -> None:
        """Takes what the server has, until the stream ends or no fault is left."""
        loop, delivery = asyncio.get_running_loop(), self._delivery
        while not delivery.idle:
            try:
                chunk = await self._inner.read()
            except Interrupted:
                continue
            except Exception as error:  # whatever broke the stream, the client's next read is told
                delivery.fail(error)
                self._wake()
                return
            delivery.arrive(chunk, loop.time())
            self._wake()
            if not chunk:
                return
            await self._pause(loop)
        self._pump, self._plain = None, True
        self._wake()

    async def _pause(self, loop: asyncio.AbstractEventLoop) -> None:
        """As long as a fault has the client read slowly, or while enough is kept for it."""
        began = now = loop.time()
        while (due := began + self._delivery.pause_seconds()) > now or self._delivery.full:
            self._moved.clear()
            try:
                async with asyncio.timeout_at(due if due > now else None):
                    await self._moved.wait()
                now = loop.time()
            except TimeoutError:
                now = due
