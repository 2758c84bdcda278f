"""A list in the making: in pages, or as the initial events of a watch. Readers see nothing of it before its commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from shards.errors import Unreachable
from shards.informers.informer_meters import InformerMeters
from shards.limits.slices import Slices
from shards.objects import Meta
from shards.stores.store import Change, Entry, Replacement
from shards.watching.listing import STREAM_QUIET_SECONDS, STREAM_SECONDS, StreamOverdue
from shards.watching.source import Source
from shards.watching.wire import Event, EventType, Page, decode_item


class Gathering:
    """shows_at: a reading of the clock; the list shows everything that was on the server by then."""

    __slots__ = ("_meters", "_replacement", "_source", "shows_at")

    def __init__(self, replacement: Replacement, source: Source, meters: InformerMeters, shows_at: float) -> None:
        self._replacement = replacement
        self._source = source
        self._meters = meters
        self.shows_at = shows_at

    async def take_page(self, page: Page, slices: Slices) -> None:
        """Raises MalformedStream; what was taken in by then does no harm, because the list begins again."""
        for raw in page.items:
            item = decode_item(raw, page.prefix)
            size = self._add(item.meta, item.raw)
            if slices.over(size):
                await slices.next()

    def take(self, event: Event) -> None:
        """An event before the end of the initial ones. On a busy collection live events are among them."""
        if event.type is EventType.DELETED:
            self._replacement.remove(event.meta)
        elif event.type is not EventType.BOOKMARK and not self._add(event.meta, event.raw):
            # It may be a child that was given to an owner elsewhere after it had been sent.
            self._replacement.remove(event.meta)

    def compare(self) -> Iterable[None]:
        """After the last object: looks for what is missing, in steps between which others may run."""
        return self._replacement.compare()

    def commit(self, version: str) -> Iterable[Change]:
        """The list is complete, at this version: it takes the place of the store's content. Once."""
        return self._replacement.commit(version)

    def _add(self, meta: Meta, raw: msgspec.Raw | bytes) -> int:
        """Bytes that were kept; 0 for an object of another range."""
        if not self._source.admits(meta):
            self._meters.foreign(meta)
            return 0
        body = bytes(raw)
        self._replacement.add(Entry(meta, body))
        return len(body)


async def initial_chunks(chunks: AsyncIterator[bytes], listing: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Chunks of a ListStream up to the end of its initial events. listing: whether that is still to come.

    Raises StreamOverdue, and Unreachable for a stream that ends before.
    """
    now = asyncio.get_running_loop().time
    overdue_at = now() + STREAM_SECONDS
    while listing():
        try:
            async with asyncio.timeout(min(STREAM_QUIET_SECONDS, overdue_at - now())):
                chunk = await anext(chunks, b"")
        except TimeoutError as error:
            raise StreamOverdue("the server does not say where its initial events end") from error
        if not chunk:
            raise Unreachable("the initial events were cut off")
        yield chunk
