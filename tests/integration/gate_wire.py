"""A member's connection to the embedded server, with latency, outages, and streams that break."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.errors import Unreachable


def now() -> float:
    """Virtual seconds."""
    return asyncio.get_running_loop().time()


class Wire(InProcessTransport):
    """A member's connection: with latency before and after the server's work, outages, and streams that break."""

    def __init__(self, server: ApiServer, rng: random.Random) -> None:
        super().__init__(server, clock=now)
        self.rng = rng
        self.latency_seconds = 0.0
        self.down = False
        self.cut = asyncio.Event()

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        if self.latency_seconds:
            await asyncio.sleep(self.rng.random() * self.latency_seconds)
        if self.down:
            raise Unreachable("the network is down", maybe_applied=False)
        answer = await super().request(method, path, **options)
        if self.latency_seconds:
            await asyncio.sleep(self.rng.random() * self.latency_seconds)
        if self.down:
            raise Unreachable("the network went down")
        return answer

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._breakable(super().stream(path, **options))

    @asynccontextmanager
    async def _breakable(
        self, stream: AbstractAsyncContextManager[AsyncIterator[bytes]]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.down:
            raise Unreachable("the network is down", maybe_applied=False)
        async with stream as chunks:

            async def until_cut() -> AsyncIterator[bytes]:
                cut = asyncio.ensure_future(self.cut.wait())
                try:
                    while True:
                        chunk = asyncio.ensure_future(anext(chunks, b""))
                        await asyncio.wait((chunk, cut), return_when=asyncio.FIRST_COMPLETED)
                        if not chunk.done():
                            chunk.cancel()
                            await asyncio.wait((chunk,))
                            raise Unreachable("the stream was cut")
                        if not chunk.result():
                            return
                        yield chunk.result()
                finally:
                    cut.cancel()

            yield until_cut()

    def break_streams(self) -> None:
        self.cut.set()
        self.cut = asyncio.Event()
