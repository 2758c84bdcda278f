"""A transport into an embedded server of the same process: no sockets, the same answers and the same errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fleet.devcluster.faults import ConnectionRefused
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer, ConnectionLost
from shards.api.client import JSON, Query, Transport, error_from
from shards.clock import Clock, boot_seconds
from shards.errors import NotOwner, Unreachable


class InProcessTransport(Transport):
    """Implements `shards.api.client.Transport`. Several may share one server."""

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
        accept: str = JSON,
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        if self.closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        await asyncio.sleep(0)
        if not_after is not None and self.clock() > not_after:
            raise NotOwner(f"the deadline of {method} {path} has passed")
        headers = {"user-agent": user_agent, "content-type": content_type, "accept": accept}
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self.server.handle(method, path, query, body, headers)
                whole = await _whole(answer)
        except ConnectionLost as error:
            raise _unreachable(f"{method} {path}", error) from error
        except TimeoutError as error:
            raise Unreachable(f"no answer to {method} {path} within {timeout_seconds:g} s") from error
        if not 200 <= answer.status < 300:
            raise error_from(answer.status, whole, answer.retry_after or None)
        return whole

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, {"user-agent": user_agent, "accept": accept}, idle_seconds)

    @asynccontextmanager
    async def _stream(
        self, path: str, query: Query, headers: Mapping[str, str], idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        answer = await self._opened(path, query, headers, idle_seconds)
        try:
            yield _chunks(answer, path, idle_seconds)
        finally:
            if answer.stream is not None:
                answer.stream.close()

    async def _opened(self, path: str, query: Query, headers: Mapping[str, str], idle_seconds: float) -> Answer:
        try:
            async with asyncio.timeout(idle_seconds):
                answer = await self.server.handle("GET", path, query, None, headers)
                if not 200 <= answer.status < 300:
                    raise error_from(answer.status, await _whole(answer), answer.retry_after or None)
                return answer
        except ConnectionLost as error:
            raise _unreachable(f"GET {path}", error) from error
        except TimeoutError as error:
            raise Unreachable(f"no answer to GET {path} for {idle_seconds:g} s") from error

    async def close(self) -> None:
        self.closed = True


async def _whole(answer: Answer) -> bytes:
    """The body, also where it comes in pieces. Raises ConnectionLost."""
    stream = answer.stream
    if stream is None:
        return answer.body
    pieces = []
    try:
        while piece := await stream.read():
            pieces.append(piece)
    finally:
        stream.close()
    return b"".join(pieces)


async def _chunks(answer: Answer, path: str, idle_seconds: float) -> AsyncIterator[bytes]:
    """Ends with the stream. Raises Unreachable."""
    if answer.stream is None:
        yield answer.body
        return
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                chunk = await answer.stream.read()
        except ConnectionLost as error:
            raise _unreachable(f"GET {path}", error) from error
        except TimeoutError as error:
            raise Unreachable(f"no byte of {path} for {idle_seconds:g} s") from error
        if not chunk:
            return
        yield chunk


def _unreachable(request: str, error: ConnectionLost) -> Unreachable:
    return Unreachable(f"no answer to {request}: {error}", maybe_applied=not isinstance(error, ConnectionRefused))
