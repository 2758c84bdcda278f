"""Transports between an informer and the server: small pages, and ways to be wrong that the oracles must find.

Wrong on the wire is wrong in the view: an informer behind one of these does what one would that had the fault itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from shards.api.client import JSON, Query, Transport
from shards.errors import Expired

PAGE = 7
"""Objects of a page. A server may give fewer than were asked for; lists of several pages are what faults strike."""

Wrap = Callable[[Transport], Transport]


class SmallPages(Transport):
    """Nothing else is changed."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

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
        return await self.inner.request(
            method,
            path,
            query=[(name, _fewer(value) if name == "limit" else value) for name, value in query],
            body=body,
            content_type=content_type,
            user_agent=user_agent,
            accept=accept,
            timeout_seconds=timeout_seconds,
            not_after=not_after,
        )

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.inner.stream(path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds)

    async def close(self) -> None:
        await self.inner.close()


def _fewer(limit: str) -> str:
    return str(min(int(limit), PAGE))


class FirstPageIsAll(SmallPages):
    """Takes the first page of a list for the whole of it, and so derives deletions from an incomplete list."""

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        body = await super().request(method, path, **options)
        found = msgspec.json.decode(body)
        found.get("metadata", {}).pop("continue", None)
        return msgspec.json.encode(found)


class GoesOnAcrossExpiry(SmallPages):
    """After a 410 it watches on from where the server is now, without a list."""

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, user_agent, idle_seconds)

    @asynccontextmanager
    async def _stream(
        self, path: str, query: Query, user_agent: str, idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        opening = self.inner.stream(path, query=query, user_agent=user_agent, idle_seconds=idle_seconds)
        try:
            async with opening as chunks:
                yield self._without_expiry(chunks, path, query, user_agent, idle_seconds)
        except Expired:
            async with self._from_now(path, query, user_agent, idle_seconds) as chunks:
                yield chunks

    async def _without_expiry(
        self, chunks: AsyncIterator[bytes], path: str, query: Query, user_agent: str, idle_seconds: float
    ) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            if b'"code":410' in chunk:
                async with self._from_now(path, query, user_agent, idle_seconds) as again:
                    async for each in again:
                        yield each
                return
            yield chunk

    def _from_now(
        self, path: str, query: Query, user_agent: str, idle_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        anywhere = [(name, value) for name, value in query if name != "resourceVersion"]
        return self.inner.stream(path, query=anywhere, user_agent=user_agent, idle_seconds=idle_seconds)


class AnyList(SmallPages):
    """Lists from whatever cache answers, however old (resourceVersion=0), and so goes back in time."""

    async def request(self, method: str, path: str, *, query: Query = (), **options: Any) -> bytes:
        asked = dict(query)
        if "continue" not in asked:
            asked.pop("resourceVersionMatch", None)
            query = list({**asked, "resourceVersion": "0"}.items())
        return await super().request(method, path, query=query, **options)


class LeavesStreamsOpen(SmallPages):
    """Forgets to close the watches that it gives up."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.left: list[AbstractAsyncContextManager[AsyncIterator[bytes]]] = []

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, user_agent, idle_seconds)

    @asynccontextmanager
    async def _stream(
        self, path: str, query: Query, user_agent: str, idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        opening = self.inner.stream(path, query=query, user_agent=user_agent, idle_seconds=idle_seconds)
        self.left.append(opening)
        yield await opening.__aenter__()


class LeavesTasksBehind(SmallPages):
    """Starts a task with every watch and never ends it."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.tasks: list[asyncio.Task[None]] = []

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self.tasks.append(asyncio.create_task(asyncio.sleep(1e9), name="left behind"))
        return super().stream(path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds)
