"""Keeps a store equal to a filtered collection of the API server: drives `shards.watching.watch` over a transport."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress

from shards.api.client import Query, Transport
from shards.api.collection import Collection
from shards.clock import Clock
from shards.errors import Forbidden, NotFound, ShardError, Unreachable
from shards.informers.gathering import Gathering, initial_chunks
from shards.informers.hand_over import HandOver
from shards.informers.informer_meters import InformerMeters, Witness
from shards.informers.informer_notes import InformerNotes
from shards.informers.list_waiters import ListWaiters
from shards.journal import NO_JOURNAL, Journal
from shards.limits.slices import Slices
from shards.metrics import ShardMetrics
from shards.stores.store import Change, StoreReader, StoreWriter
from shards.watching.source import Source
from shards.watching.watch import STREAMS, WatchMachine
from shards.watching.watch_requests import CheckHistory, Freshness, ListPage, ListStream, Request, WatchFrom
from shards.watching.wire import Event, EventType, LineSplitter, decode_event, decode_page

log = logging.getLogger(__name__)


def always() -> bool:
    """Somebody listens."""
    return True


class Informer:
    """One informer: `run` it in a task, read `store`, and get `handler` called for every change.

    handler: called on the loop after the store has changed, once per change, in order. on_progress: called when the
    store's content or version has moved, after the handler calls. Both are plain functions; one that raises is reported
    (`shards.stores.hooks`) and does not stop the informer. listening: asked once for each first list; where nobody
    listens, which is before a shard is opened, the handler is not told of what is there.

    synced: the store holds a complete list, its changes have been handed over, and no event was lost since.
    refused: set from a request that is forbidden to one that succeeds. blind: never; see `NamespacedInformer`.
    trouble: why the view is not being brought up to date at present; "" when it is. Always retried.
    waiting: it sends nothing for a while: the server asked for that, or the last requests failed.
    last_heard: boot-clock reading at the last byte from the server; 0.0 before the first.
    current_at: boot-clock reading at which the store was last known to be current: the beginning of the last consistent
    list that is in it, or the arrival of the last event or bookmark. Minus infinity before the first. That a server
    accepts a watch, or sends a page, says nothing about what the store does not hold yet.
    writer: of the store to keep, where it is not the informer's own. metadata_only: what is asked for; a server may
    send whole objects all the same. witness: of how the server behaves.
    """

    def __init__(
        self,
        transport: Transport,
        source: Source,
        *,
        handler: Callable[[Change], None],
        on_progress: Callable[[], None],
        listening: Callable[[], bool] = always,
        clock: Clock,
        rng: random.Random,
        metrics: ShardMetrics | None = None,
        namespace: str = "",
        user_agent: str = "",
        journal: Journal = NO_JOURNAL,
        streams: bool = STREAMS,
        writer: StoreWriter | None = None,
        metadata_only: bool = False,
        witness: Witness | None = None,
    ) -> None:
        self.source = source
        self.synced = asyncio.Event()
        self.refused = asyncio.Event()
        self.blind = False
        self.trouble = ""
        self.waiting = False
        self.last_heard = 0.0
        self.current_at = float("-inf")
        self._collection = Collection(transport, source.resource, namespace, user_agent, metadata_only=metadata_only)
        self._listening = listening
        self._meters = InformerMeters(metrics, str(source.resource), clock, journal, witness)
        self._clock = clock
        self.notes = InformerNotes(journal, source, clock)
        self._told = HandOver(handler, on_progress, self.notes, self._meters.hooks, source.resource)
        self._machine = WatchMachine(source.query(), rng, streams=streams)
        self._writer = writer or StoreWriter(resource=source.resource)
        self._gathering: Gathering | None = None
        self._slices = Slices(clock)
        self._waiters = ListWaiters()
        self._step: asyncio.Task[None] | None = None
        self._interruptible = False
        self._answered_at: float | None = None

    @property
    def store(self) -> StoreReader:
        return self._writer.reader

    def relist(self) -> asyncio.Future[str]:
        """Resolves with the resourceVersion of a consistent list that began after this call, once it is in the store.

        The changes that it brought have been handed over by then. Cancelled when the informer is stopped,
        and after.
        """
        asked = self._waiters.ask()
        if self._interruptible and self._step is not None and not asked.cancelled():
            self._machine.list_again()
            self._step.cancel()
        return asked

    async def run(self) -> None:
        """Until cancelled; heals by itself from everything else. Not to be started twice."""
        if self._step is not None:
            raise RuntimeError("this informer was started before")
        try:
            while True:
                if self._waiters.asked and not self._machine.fresh:
                    self._machine.list_again()
                request, delay = self._machine.request()
                self._step = asyncio.create_task(self._run_step(request, delay))
                await asyncio.wait((self._step,))
        finally:
            self._waiters.stop()
            if self._step is not None:
                self._step.cancel()
                with suppress(asyncio.CancelledError):
                    await self._step

    async def _run_step(self, request: Request, delay: float) -> None:
        # A relist may interrupt waiting and watching. A list is never interrupted: its changes are handed over whole.
        self._answered_at = None
        try:
            self._interruptible = not isinstance(request, ListPage | ListStream)
            if self._interruptible and self._waiters.asked:
                # Asked for after this step was made and before it began: nobody could interrupt it then.
                self._machine.list_again()
                return
            if delay > 0:
                self.waiting = True
                await asyncio.sleep(delay)
                self.waiting = False
            if isinstance(request, WatchFrom):
                await self._watch(request)
            elif isinstance(request, ListPage):
                await self._list(request)
            elif isinstance(request, ListStream):
                await self._stream(request)
            else:
                await self._check(request)
        except NotFound as error:
            self.trouble = self.trouble or str(error)
            self._fail(error)
            # What is asked now is for people, and may take its time.
            self._say(await self._collection.missing())
        except ShardError as error:
            self._failed(error)
        except Exception as error:  # one that ends leaves its shard blind: everything is healed
            log.exception("informer of %s", self.source.resource)
            # It may have come between the machine's step and the store's: only a list makes them agree for certain.
            self._machine.distrust()
            self._failed(Unreachable(f"{type(error).__name__}: {error}"))
        finally:
            self._interruptible = self.waiting = False
            self._meters.watch_ended()

    def _say(self, error: ShardError) -> None:
        trouble = str(error) or type(error).__name__
        if trouble != self.trouble:
            log.warning("%s %s: %s", self.source.resource, self.source.range.short, trouble)
        self.trouble = trouble

    def _failed(self, error: ShardError) -> None:
        self._say(error)
        self._fail(error)

    def _fail(self, error: ShardError) -> None:
        if isinstance(error, Forbidden):
            self.refused.set()
        self._machine.failed(error, self._lasted())
        if not self._machine.complete:
            self.synced.clear()

    def _healed(self) -> None:
        self.trouble = ""
        self.refused.clear()

    def _lasted(self) -> float:
        return 0.0 if self._answered_at is None else self._clock() - self._answered_at

    def _answered(self) -> None:
        """A stream's answer has begun."""
        self._answered_at = self._clock()
        self._heard()

    def _heard(self) -> None:
        self.last_heard = self._clock()

    async def _get(self, query: Query) -> bytes:
        body = await self._collection.get(query)
        self._heard()
        return body

    async def _check(self, request: CheckHistory) -> None:
        self._machine.checked(decode_page(await self._get(request.query)).version)
        if not self._machine.complete:
            log.warning("%s: resource versions went back; listing again", self.source.resource)
            self.synced.clear()

    async def _list(self, request: ListPage) -> None:
        if request.first or self._gathering is None:
            self._gathering = self._begin_list(request.fresh)
        page = decode_page(await self._get(request.query))
        await self._gathering.take_page(page, self._slices)
        if self._machine.page(page):
            await self._listed(self._gathering)

    def _begin_list(self, fresh: bool) -> Gathering:
        given_up = self._gathering
        if fresh:
            self._waiters.list_began()
            shows_at = self._clock()
        else:
            # It is as new as the pages that it replaces, or as a view of which nobody knows how old it is.
            shows_at = float("-inf") if given_up is None else given_up.shows_at
        self.notes.list_began(instead=given_up is not None)
        self._meters.list_began()
        return Gathering(self._writer.begin(Freshness(fresh, shows_at)), self.source, self._meters, shows_at)

    async def _listed(self, gathering: Gathering) -> None:
        for _ in gathering.compare():
            await self._slices.next()
        regressions = self.store.regressions
        untold = not (self.store.resource_version or self._listening() or self.notes.on)
        changes = gathering.commit(self._machine.version)
        self._gathering = None
        if self.store.regressions != regressions:
            log.warning("%s: the new list is older than the view was", self.source.resource)
        self._healed()
        self._meters.listed(len(self.store))
        self.notes.listed(self._machine.version, len(self.store))
        for change in () if untold else changes:
            self._told.changed(change)
            if self._slices.over():
                await self._slices.next()
        self.notes.handed_over()
        self.synced.set()
        self.current_at = max(self.current_at, gathering.shows_at)
        self._waiters.listed(self._machine.version)
        self._told.progressed()

    async def _watch(self, request: WatchFrom) -> None:
        lines = LineSplitter()
        self._meters.watching()
        async with self._collection.stream(request.query) as chunks:
            self._answered()
            self._healed()
            async for chunk in chunks:
                self._heard()
                await self._ingest(lines.feed(chunk))
        self._machine.ended(self._lasted())

    async def _stream(self, request: ListStream) -> None:
        """A list that comes as a watch, and the watch after it."""
        self._gathering = self._begin_list(request.fresh)
        lines = LineSplitter()
        async with self._collection.stream(request.query) as chunks:
            self._answered()
            async for chunk in initial_chunks(chunks, lambda: self._machine.listing):
                self._heard()
                await self._ingest(lines.feed(chunk))
            self._interruptible = True
            self._meters.watching()
            if self._waiters.asked:  # while this list was under way: they need one that begins later
                return
            async for chunk in chunks:
                self._heard()
                await self._ingest(lines.feed(chunk))
        self._machine.ended(self._lasted())

    async def _ingest(self, lines: Sequence[bytes]) -> None:
        listing = self._machine.listing
        try:
            for line in lines:
                event = decode_event(line)
                self._meters.event(event.type)
                if event.error is not None:
                    raise event.error
                await self._take(event)
                if self._slices.over(len(line)):
                    if not self._machine.listing:
                        self._told.progressed()
                    await self._slices.next()
            if lines and not listing:
                self.current_at = self.last_heard
        finally:
            if lines and not listing:
                self._told.progressed()

    async def _take(self, event: Event) -> None:
        if self._gathering is not None:
            self._gathering.take(event)
            if event.ends_initial:
                self._machine.streamed(event.meta.resource_version)
                await self._listed(self._gathering)
            return
        meta = event.meta
        version = meta.resource_version
        change = None
        if event.type is EventType.BOOKMARK:
            self._machine.bookmark(version)
            self._writer.bookmark(version)
            return
        known = self.store.name_of(meta.uid) is not None
        if self.source.admits(meta):
            deleted = event.type is EventType.DELETED
            change = self._writer.delete(meta) if deleted else self._writer.apply(meta, bytes(event.raw))
        elif known:
            # It left the range: a child that was given to an owner elsewhere.
            change = self._writer.delete(meta)
        else:
            self._meters.foreign(meta)
            self._writer.bookmark(version)
        self._machine.event_version(version)
        if change is not None:
            self._told.changed(change)
