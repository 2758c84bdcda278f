"""Transports between an informer and the server: small pages, and ways to be wrong that the oracles must find.

Wrong on the wire is wrong in the view: an informer behind one of these does what one would that had the fault itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from shards.api.client import Query, Transport
from shards.errors import Expired

PAGE = 7
"""Objects of a page. A server may give fewer than were asked for; lists of several pages are what faults strike."""

Wrap = Callable[[Transport], Transport]


class SmallPages(Transport):
    """Nothing else is changed. page: objects of one, at most."""

    def __init__(self, inner: Transport, page: int = PAGE) -> None:
        self.inner = inner
        self.page = page

    async def request(self, method: str, path: str, *, query: Query = (), **options: Any) -> bytes:
        smaller = [(name, str(min(int(value), self.page)) if name == "limit" else value) for name, value in query]
        return await self.inner.request(method, path, query=smaller, **options)

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.inner.stream(path, **options)

    async def close(self) -> None:
        await self.inner.close()


class FirstPageIsAll(SmallPages):
    """Takes the first page of a list for the whole of it, and so derives deletions from an incomplete list."""

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        body = await super().request(method, path, **options)
        found = msgspec.json.decode(body)
        found.get("metadata", {}).pop("continue", None)
        return msgspec.json.encode(found)


class GoesOnAcrossExpiry(SmallPages):
    """After a 410 it watches on from where the server is now, without a list."""

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        try:
            async with self.inner.stream(path, **options) as chunks:
                yield self._without_expiry(chunks, path, **options)
        except Expired:
            async with self._from_now(path, **options) as chunks:
                yield chunks

    async def _without_expiry(self, chunks: AsyncIterator[bytes], path: str, **options: Any) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            if b'"code":410' in chunk:
                async with self._from_now(path, **options) as again:
                    async for each in again:
                        yield each
                return
            yield chunk

    def _from_now(
        self, path: str, *, query: Query, **options: Any
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        anywhere = [(name, value) for name, value in query if name != "resourceVersion"]
        return self.inner.stream(path, query=anywhere, **options)


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

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        opening = self.inner.stream(path, **options)
        self.left.append(opening)
        yield await opening.__aenter__()


class LeavesTasksBehind(SmallPages):
    """Starts a task with every watch and never ends it."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.tasks: list[asyncio.Task[None]] = []

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self.tasks.append(asyncio.create_task(asyncio.sleep(1e9), name="left behind"))
        return super().stream(path, **options)
