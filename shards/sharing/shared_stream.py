"""One unfiltered watch for all shards of a worker, and what each of them sees of it (design 5.1c).

The stream is an informer that fills the caches of all shards. A shard that comes later, or wants a list that is younger
than its claim, gets one of its own beside the stream, which goes on for the others; what the stream delivers meanwhile
follows the list. A list of the stream itself (its first, and one after a lost history) serves everybody.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.clock import Clock
from shards.informers.informer import Informer
from shards.informers.informer_meters import Witness
from shards.informers.told_event import ToldEvent
from shards.journal import NO_JOURNAL, Journal
from shards.keyrange import WHOLE, KeyRange
from shards.metrics import ShardMetrics
from shards.sharing.shared_cache import SharedCache
from shards.sharing.shared_router import ListWatch, RoutedSource, RoutedWriter, Router
from shards.stores.store import Change, Replacement
from shards.versions import at_least
from shards.watching.source import Source
from shards.watching.watch_requests import Freshness

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StreamMaker:
    """What the informers of a stream are made with."""

    transport: Transport
    clock: Clock
    rng: random.Random
    metrics: ShardMetrics | None
    user_agent: UserAgent
    namespace: str = ""
    journal: Journal = NO_JOURNAL
    """For what authors' functions do; a stream's own lists are no view's."""
    metadata_only: bool = False
    witness: Witness | None = None

    def informer(
        self, source: RoutedSource, writer: RoutedWriter, on_progress: Callable[[], None], *, covered: KeyRange | None
    ) -> Informer:
        """covered: what of the collection is wanted; None: nobody's in particular."""
        agent = UserAgent(self.user_agent.product, self.user_agent.member, range=str(covered or ""), reason="informer")
        return Informer(
            self.transport,
            source,
            handler=_routed,
            on_progress=on_progress,
            clock=self.clock,
            rng=self.rng,
            metrics=self.metrics,
            namespace=self.namespace,
            user_agent=str(agent),
            writer=writer,
            metadata_only=self.metadata_only,
            witness=self.witness,
        )


def _routed(change: Change) -> None:
    """The writer has told the caches' subscribers already."""


class SharedStream:
    """A watch, the caches that it fills, and at most one list beside it.

    Invariants: a cache is not live from before a list of its own until what the stream delivered since then was put
    behind the list. A list beside the stream runs only while the stream watches, so that all that comes after the list
    is delivered: a list of the stream ends it, and serves whom it was for.
    """

    def __init__(self, source: Source, make: StreamMaker) -> None:
        self._make = make
        self._router = Router()
        owner = ListWatch(self._list_began, self._list_committed, self._list_handed_over)
        self._writer = RoutedWriter(self._router, owner)
        self._source = RoutedSource.of(source, self._router, WHOLE)
        self._task: asyncio.Task[None] | None = None
        self._listing = self._waking = False
        self._beside: _Beside | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self.informer = self._new_informer()

    def _new_informer(self) -> Informer:
        """An informer runs once; a stream begins anew when it is joined again."""
        self._listing = self._router.listing = False
        self._writer.reached = ""
        informer = self._make.informer(self._source, self._writer, self._progressed, covered=None)
        informer.synced = ToldEvent(self._refresh)
        informer.refused = ToldEvent(self._refresh)
        return informer

    @property
    def caches(self) -> list[SharedCache]:
        return self._router.caches

    def join(self, cache: SharedCache) -> None:
        """From here on the cache is fed; the first one starts the stream."""
        cache.lost()
        self._router.add(cache)
        if self._task is None:
            self._task = asyncio.create_task(self.informer.run(), name=f"stream {cache.source.resource}")
        self.wake()

    async def leave(self, cache: SharedCache) -> None:
        """The last one ends the stream."""
        self._router.remove(cache)
        cache.give_up()
        if self._beside is not None:
            self._beside.forget(cache)
            if not self._beside.caches:
                self._end_beside(self._beside)
        if not self.caches and self._task is not None:
            task, self._task = self._task, None
            self.informer = self._new_informer()
            task.cancel()
            await asyncio.wait((task, *self._ending))

    def trouble(self, cache: SharedCache) -> str:
        beside = self._beside.informer.trouble if self._beside is not None and cache in self._beside.caches else ""
        return self.informer.trouble or beside

    def refused(self, cache: SharedCache) -> bool:
        """Whether what brings the cache up to date was forbidden."""
        beside = self._beside if self._beside is not None and cache in self._beside.caches else None
        return self.informer.refused.is_set() or (beside is not None and beside.informer.refused.is_set())

    def waiting(self, cache: SharedCache) -> bool:
        """Whether what brings the cache up to date sits out a pause."""
        beside = self._beside if self._beside is not None and cache in self._beside.caches else None
        return self.informer.waiting if beside is None else beside.informer.waiting

    def wake(self) -> None:
        """Starts a list for the caches that need one, unless one is under way or the stream is about to list.

        In the loop's next turn: what is asked for at one time is one list.
        """
        if not self._waking:
            self._waking = True
            asyncio.get_running_loop().call_soon(self._list_beside)

    def _list_beside(self) -> None:
        self._waking = False
        if self._task is None or self._beside is not None or self._listing or not self.informer.synced.is_set():
            return
        needing = [cache for cache in self.caches if cache.needs_list]
        if needing:
            self._beside = _Beside(needing, self._make, self._writer, self._beside_ended)
            self._beside.informer.refused = ToldEvent(self._refresh)

    def _end_beside(self, beside: _Beside) -> None:
        self._beside = None
        for cache in beside.caches:
            cache.waiters.list_given_up()
        self._ending.add(beside.task)
        beside.task.cancel()

    def _beside_ended(self, beside: _Beside) -> None:
        self._ending.discard(beside.task)
        if self._beside is beside:
            self._beside = None
        if beside.went_back:
            self.informer.relist()
        else:
            self.wake()

    # -- what the informer does --------------------------------------------------------------------------------------

    def _list_began(self, freshness: Freshness) -> Sequence[tuple[SharedCache, Replacement]]:
        self._listing = self._router.listing = True
        if self._beside is not None and not self._beside.committed:
            self._end_beside(self._beside)
        begun = []
        for cache in self.caches:
            if not cache.settled.is_set():
                cache.lost()  # its list is older than this one, and what came in between is not known to it
            else:
                begun.append((cache, cache.begin(freshness, drop_kept=True)))
        return begun

    def _list_committed(self, version: str) -> bool:
        self._router.listing = False
        return True

    def _list_handed_over(self) -> None:
        self._listing = False

    def _progressed(self) -> None:
        if self._writer.reached:
            for cache in self.caches:
                cache.reached(self._writer.reached, self.informer.current_at)
        if any(cache.needs_list for cache in self.caches):
            self.wake()

    def _refresh(self) -> None:
        for cache in self.caches:
            for each in cache.subscribers:
                each.refresh()
        self.wake()


class _Beside:
    """One list for some caches while the stream goes on."""

    def __init__(
        self,
        caches: list[SharedCache],
        make: StreamMaker,
        stream: RoutedWriter,
        ended: Callable[[_Beside], None],
    ) -> None:
        self.caches = caches
        self.committed = False
        self.went_back = False
        self._make = make
        self._stream = stream
        self._floor = ""
        self._done = asyncio.Event()
        for cache in caches:
            cache.keep_events()
        self._router = router = Router(caches, listing=True)
        writer = RoutedWriter(router, ListWatch(self._began, self._committed, self._ended))
        ranges = [cache.source.range for cache in caches]
        covered = KeyRange(min(each.first for each in ranges), max(each.last for each in ranges), ranges[0].key)
        source = RoutedSource.of(caches[0].source, router, covered)
        self.informer = make.informer(source, writer, _nothing, covered=covered)
        self.task = asyncio.create_task(self._run(), name=f"list {source.resource} {covered.short}")
        self.task.add_done_callback(lambda _: ended(self))

    def forget(self, cache: SharedCache) -> None:
        """Nobody uses it any more."""
        self.caches = [each for each in self.caches if each is not cache]
        self._router.remove(cache)

    def _ended(self) -> None:
        self._router.clear()  # a list that comes as a watch goes on as one
        self._done.set()

    async def _run(self) -> None:
        listing = asyncio.create_task(self.informer.run(), name="list beside a stream")
        try:
            await self._done.wait()
        finally:
            listing.cancel()
            await asyncio.wait((listing,))

    def _began(self, freshness: Freshness) -> Sequence[tuple[SharedCache, Replacement]]:
        self._floor = self._stream.reached
        return [(cache, cache.begin(freshness, drop_kept=False)) for cache in self.caches]

    def _committed(self, version: str) -> bool:
        if self._floor and not at_least(version, self._floor):
            self.went_back = True  # another history, which the stream does not know of yet
            self._ended()
            return False
        self.committed = True
        return True


def _nothing() -> None: ...
