"""What one shard sees of a stream that its worker's shards share: used like an informer of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from shards.clock import Clock
from shards.informers.hand_over import HandOver
from shards.informers.informer import always
from shards.informers.informer_meters import HookCounts
from shards.informers.informer_notes import InformerNotes
from shards.journal import Journal
from shards.limits.slices import Slices
from shards.listeners.replay import Replay
from shards.objects import Resource
from shards.sharing.shared_cache import Keeping, SharedCache
from shards.sharing.shared_stream import SharedStream, StreamMaker
from shards.stores.bodies import Bodies
from shards.stores.store import Change, StoreReader
from shards.watching.source import FilterMode, Source

StreamKey = tuple[Resource, str, tuple[tuple[str, str], ...], str, bool]
"""(resource, namespace, query, member, whether metadata is all that comes)."""


EVERYTHING = Keeping()


class SharedStreams:
    """The streams of one worker, and the caches that are nobody's part. They live as long as somebody holds them."""

    def __init__(self) -> None:
        self._streams: WeakValueDictionary[StreamKey, SharedStream] = WeakValueDictionary()
        self._caches: WeakValueDictionary[tuple[StreamKey, str, Keeping], SharedCache] = WeakValueDictionary()

    def open(
        self, source: Source, make: StreamMaker, keeping: Keeping, bodies: Bodies
    ) -> tuple[SharedStream, SharedCache]:
        """The stream of that collection, and a cache of that source: the same one for all where it has no range."""
        key = (source.resource, make.namespace, tuple(source.query()), make.user_agent.member, make.metadata_only)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = SharedStream(source, make)
        meters = HookCounts(make.metrics, str(source.resource), make.clock, make.journal)
        if source.role != "watched":
            return stream, SharedCache(source, keeping, bodies, make.clock, meters)
        place = key, source.digest, keeping
        cache = self._caches.get(place)
        if cache is None:
            cache = self._caches[place] = SharedCache(source, keeping, bodies, make.clock, meters)
        return stream, cache


def can_share(source: Source) -> bool:
    """Whether what the server is asked does not depend on the range."""
    return source.mode is FilterMode.LOCAL


class SharedInformer:
    """One shard's part of a stream. Attributes, `run` and `relist` mean what an informer's do.

    A relist is a list of this part's own, beside the stream; the other shards' views go on. A part that another
    subscriber has already is there at once: its present state is handed over as if it had been listed.
    """

    def __init__(
        self,
        streams: SharedStreams,
        make: StreamMaker,
        source: Source,
        *,
        handler: Callable[[Change], None],
        on_progress: Callable[[], None],
        listening: Callable[[], bool] = always,
        clock: Clock,
        journal: Journal,
        keeping: Keeping = EVERYTHING,
        bodies: Bodies | None = None,
    ) -> None:
        self.source = source
        self.synced = asyncio.Event()
        self.refused = asyncio.Event()
        self.blind = False
        self.notes = InformerNotes(journal, source, clock)
        meters = HookCounts(make.metrics, str(source.resource), clock, journal)
        self._told = HandOver(handler, on_progress, self.notes, meters, source.resource)
        self._listening = listening
        self._stream, self._cache = streams.open(source, make, keeping, bodies or Bodies())
        self._running = False
        self._asked: list[asyncio.Future[str]] = []
        self._slices = Slices(clock)
        self._replay: Replay | None = None
        """Of what was there before this subscriber was, until all of it was handed over."""
        self._caught_up = False
        self._stopped = False

    @property
    def store(self) -> StoreReader:
        return self._cache.writer.reader

    @property
    def trouble(self) -> str:
        return self._stream.trouble(self._cache)

    @property
    def last_heard(self) -> float:
        return self._stream.informer.last_heard

    @property
    def current_at(self) -> float:
        return self._cache.current_at

    @property
    def waiting(self) -> bool:
        return self._stream.waiting(self._cache)

    def relist(self) -> asyncio.Future[str]:
        asked = self._cache.waiters.ask()
        if self._stopped:
            asked.cancel()
            return asked
        self._asked = [*(each for each in self._asked if not each.done()), asked]
        self._stream.wake()
        return asked

    async def run(self) -> None:
        """Until cancelled. Not to be started twice."""
        if self._running or self._stopped:
            raise RuntimeError("this informer was started before")
        self._running = True
        cache = self._cache
        try:
            await cache.at_rest()  # what is there is handed over whole, not a part of a list
            await self._subscribe()
            await asyncio.get_running_loop().create_future()
        finally:
            self._stopped = True
            for future in self._asked:
                future.cancel()
            if self in cache.subscribers:
                cache.subscribers.remove(self)
                if not cache.subscribers:
                    await self._stream.leave(cache)

    async def _subscribe(self) -> None:
        """What the store holds already was handed over to others."""
        cache = self._cache
        cache.subscribers.append(self)
        if len(cache.subscribers) == 1:
            self._stream.join(cache)
        elif cache.gathering:
            self.notes.list_began(instead=False)
        if self.store.resource_version:
            await self._replay_store()
        self._caught_up = True
        self.refresh()
        self.progressed()

    async def _replay_store(self) -> None:
        self.notes.list_began(instead=self._cache.gathering)
        self.notes.listed(self.store.resource_version, len(self.store))
        self._replay = Replay(self.store)
        for change in self._replay:
            self._told.changed(change)
            if self._slices.over():
                await self._slices.next()
                await self._cache.at_rest()  # while a list is handed over, the store is ahead of what was told
        self._replay = None
        self.notes.handed_over()

    # -- what the cache tells ----------------------------------------------------------------------------------------

    @property
    def listening(self) -> bool:
        return self._listening() or self.notes.on

    def list_began(self, *, instead: bool) -> None:
        self.notes.list_began(instead=instead)

    def listed(self, version: str, count: int) -> None:
        self.notes.listed(version, count)

    def changed(self, change: Change) -> None:
        told = change if self._replay is None else self._replay.instead_of(change)
        if told is not None:
            self._told.changed(told)

    def handed_over(self) -> None:
        self.notes.handed_over()

    def refresh(self) -> None:
        if self._cache.complete and self._caught_up and self._stream.informer.synced.is_set():
            self.synced.set()
        else:
            self.synced.clear()
        if self._stream.refused(self._cache):
            self.refused.set()
        else:
            self.refused.clear()

    def progressed(self) -> None:
        self._told.progressed()
