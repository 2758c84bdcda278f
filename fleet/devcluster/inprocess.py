"""A transport into an embedded server of the same process: no sockets, the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fleet.devcluster.faults import AckLost
from fleet.devcluster.server import ApiServer
from shards.client import JSON, Query, Transport, error_from
from shards.clock import Clock, boot_seconds
from shards.errors import NotOwner, Unreachable


class InProcessTransport(Transport):
    """Implements `shards.client.Transport`. Several may share one server."""

    def __init__(self, server: ApiServer, *, clock: Clock = boot_seconds) -> None:
        self.server = server
        self.clock = clock
        self.closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        if self.closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        await asyncio.sleep(0)
        if not_after is not None and self.clock() > not_after:
            raise NotOwner(f"the deadline of {method} {path} has passed")
        headers = {"user-agent": user_agent, "content-type": content_type}
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self.server.handle(method, path, query, body, headers)
        except AckLost as error:
            raise Unreachable(f"the answer to {method} {path} was lost") from error
        except TimeoutError as error:
            raise Unreachable(f"no answer to {method} {path} within {timeout_seconds:g} s") from error
        if not 200 <= answer.status < 300:
            raise error_from(answer.status, answer.body, answer.retry_after or None)
        return answer.body

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, user_agent, idle_seconds)

    @asynccontextmanager
    async def _stream(
        self, path: str, query: Query, user_agent: str, idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        try:
            answer = await self.server.handle("GET", path, query, None, {"user-agent": user_agent})
        except AckLost as error:
            raise Unreachable(f"the answer to GET {path} was lost") from error
        if not 200 <= answer.status < 300:
            raise error_from(answer.status, answer.body, answer.retry_after or None)
        stream, whole = answer.stream, answer.body

        async def chunks() -> AsyncIterator[bytes]:
            if stream is None:
                yield whole
                return
            while True:
                try:
                    async with asyncio.timeout(idle_seconds):
                        chunk = await stream.read()
                except TimeoutError as error:
                    raise Unreachable(f"no byte of {path} for {idle_seconds:g} s") from error
                if not chunk:
                    return
                yield chunk

        try:
            yield chunks()
        finally:
            if stream is not None:
                stream.close()

    async def close(self) -> None:
        self.closed = True
