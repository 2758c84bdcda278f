"""A transport that counts what is asked through it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from shards.api.client import Transport


class CountedTransport(Transport):
    """count: called before each request."""

    def __init__(self, inner: Transport, count: Callable[[], None]) -> None:
        self._inner = inner
        self._count = count

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """As in Transport."""
        self._count()
        return await self._inner.request(method, path, **options)

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """As in Transport."""
        self._count()
        return self._inner.stream(path, **options)

    async def close(self) -> None:
        await self._inner.close()
