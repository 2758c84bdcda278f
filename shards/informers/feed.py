"""What a shard's view gets its objects from, whatever stands behind it."""

from __future__ import annotations

import asyncio
from typing import Protocol

from shards.informers.informer_notes import InformerNotes
from shards.stores.store import StoreReader
from shards.watching.source import Source


class Feed(Protocol):
    """An informer, as a shard uses it. See `shards.informers.informer.Informer`."""

    source: Source
    synced: asyncio.Event
    refused: asyncio.Event
    notes: InformerNotes

    @property
    def store(self) -> StoreReader: ...
    @property
    def trouble(self) -> str: ...
    @property
    def blind(self) -> bool: ...
    @property
    def waiting(self) -> bool: ...
    @property
    def last_heard(self) -> float: ...
    @property
    def current_at(self) -> float: ...
    def relist(self) -> asyncio.Future[str]: ...
    async def run(self) -> None: ...
