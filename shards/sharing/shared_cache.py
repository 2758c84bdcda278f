"""One store that a stream feeds which feeds others too: a shard's part of an unfiltered watch.

The stream is ahead of what the store may be told while a list of the store's own is under way; what comes meanwhile is
kept, the latest of each object, and follows the list. Nothing here talks to a server; `shards.sharing.shared_stream`
does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

from shards.clock import Clock
from shards.informers.list_waiters import ListWaiters
from shards.objects import Meta
from shards.stores.bodies import Bodies
from shards.stores.hooks import NO_HOOK_METERS, HookMeters
from shards.stores.indexes import Index
from shards.stores.intake import Intake, Transform
from shards.stores.store import Change, Replacement, StoreWriter
from shards.versions import at_least
from shards.watching.source import Source
from shards.watching.watch_requests import Freshness

log = logging.getLogger(__name__)

KEPT_EVENTS = 65_536
"""Objects whose events are kept while a list is under way. More, and the list is not enough: another one follows."""


class Keeping(NamedTuple):
    """What a store keeps of each object, and can be searched by. See `shards.stores.intake.Intake`."""

    transform: Transform | None = None
    metadata_only: bool = False
    indexes: tuple[Index, ...] = ()

    @property
    def needs_metadata_only(self) -> bool:
        """Whether the rest need not even be sent. A transform may make metadata of it."""
        return self.metadata_only and self.transform is None

    def intake(
        self,
        bodies: Bodies | None,
        clock: Clock | None,
        meters: HookMeters = NO_HOOK_METERS,
        *,
        api_version: str = "",
    ) -> Intake:
        return Intake(
            bodies,
            transform=self.transform,
            metadata_only=self.metadata_only,
            api_version=api_version,
            indexes=self.indexes,
            clock=clock,
            meters=meters,
        )


class Event(NamedTuple):
    """One event. raw: b"" unless the object is here. what: left: for another store's part."""

    meta: Meta
    raw: bytes
    what: Literal["here", "left", "deleted"]


class Subscriber(Protocol):
    """Who is told of a cache."""

    @property
    def listening(self) -> bool:
        """Whether it wants to hear of each object of a first list."""
        ...

    def list_began(self, *, instead: bool) -> None: ...

    def listed(self, version: str, count: int) -> None:
        """A complete list is in the store; its changes follow, then `handed_over`."""

    def changed(self, change: Change) -> None: ...

    def handed_over(self) -> None: ...

    def refresh(self) -> None:
        """The cache may be complete now, or not any more."""

    def progressed(self) -> None:
        """Content or version of the store has moved."""


class SharedCache:
    """The store of one source.

    States: waiting (no list yet, or a gap after it), gathering (`begin` to `commit`), handing over (`commit` to the end
    of what it returned), live. Events are kept in all but the last.
    complete: live, or was and is being listed again: nothing is missing that was not asked for.
    settled: not handing over.
    began_at: what the list that is in the store, or is under way, shows: all that was there at this boot-clock reading.
    current_at: as for an informer.
    """

    def __init__(
        self,
        source: Source,
        keeping: Keeping | None = None,
        bodies: Bodies | None = None,
        clock: Clock | None = None,
        meters: HookMeters = NO_HOOK_METERS,
    ) -> None:
        """bodies: shared by the stores of one resource, so that one dictionary serves all of them."""
        self.source = source
        self.keeping = keeping or Keeping()
        intake = self.keeping.intake(bodies, clock, meters, api_version=source.resource.api_version)
        self.writer = StoreWriter(intake, source.resource)
        self.subscribers: list[Subscriber] = []
        self.waiters = ListWaiters()
        self.complete = False
        self.settled = asyncio.Event()
        self.settled.set()
        self.gathering = False
        self.began_at = self.current_at = float("-inf")
        self._kept: OrderedDict[str, Event] | None = OrderedDict()
        self._overflowed = self._gap = False
        self._base = ""

    @property
    def live(self) -> bool:
        """Whether events go into the store as they come."""
        return self._kept is None

    async def at_rest(self) -> None:
        """Until no list is being handed over."""
        while not self.settled.is_set():
            await self.settled.wait()

    @property
    def needs_list(self) -> bool:
        return not self.complete or self.waiters.awaited

    def knows(self, uid: str) -> bool:
        """Whether an event of this object concerns the store, although its routing does not say so (any more)."""
        return not self.live or self.writer.reader.name_of(uid) is not None

    # -- events ------------------------------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """An event of the stream, in order."""
        if self._kept is None:
            self._apply(event)
            return
        self._kept.pop(event.meta.uid, None)
        self._kept[event.meta.uid] = event
        if len(self._kept) > KEPT_EVENTS:
            self._kept.clear()
            self._overflowed = True

    def reached(self, version: str, heard_at: float) -> None:
        """The stream has delivered everything up to this version. heard_at: its current_at."""
        if self.live:
            self.writer.bookmark(version)
            self.current_at = max(self.current_at, heard_at)
            for each in self.subscribers:
                each.progressed()

    def _apply(self, event: Event) -> None:
        if event.what == "deleted":
            if self._outlived(event.meta):
                return
            change = self.writer.delete(event.meta)  # by UID, whatever version it carries
        elif at_least(self._base, event.meta.resource_version):
            # The list that is in the store is ahead of the stream: it has the object, its end, or its way back.
            return
        elif event.what == "here":
            change = self.writer.apply(event.meta, event.raw)
        elif self.writer.reader.name_of(event.meta.uid) is None:
            return
        else:
            change = self.writer.delete(event.meta)
        if change is not None:
            self.deliver(change)

    def _outlived(self, gone: Meta) -> bool:
        """Whether a list shows the object at a later version than its deletion carries: it was deleted in a history
        that is over, as the server was restored between the event and the list."""
        name = self.writer.reader.name_of(gone.uid)
        held = None if name is None else self.writer.reader.version_of(name)
        return held is not None and not at_least(gone.resource_version, held[1])

    def deliver(self, change: Change) -> None:
        for each in self.subscribers:
            each.changed(change)

    # -- lists -------------------------------------------------------------------------------------------------------

    def keep_events(self) -> None:
        """From here on events wait for a list that begins after this call."""
        if self._kept is None:
            self._kept = OrderedDict()

    def begin(self, freshness: Freshness, *, drop_kept: bool) -> Replacement:
        """A list begins, which serves all that was asked for so far if it is fresh. drop_kept: no event from before is
        needed after it, since the stream itself goes on from this list."""
        self.keep_events()
        if drop_kept:
            self._kept = OrderedDict()
        self._overflowed = self._gap = False
        if freshness.fresh:
            self.waiters.list_began()
        self.began_at = freshness.shows_at
        for each in self.subscribers:
            each.list_began(instead=self.gathering)
        self.gathering = True
        return self.writer.begin()

    def taking(self) -> None:
        """The list is complete and will be taken over by `commit`, a moment later; no other one may begin before."""
        self.gathering = False
        self.settled.clear()

    def commit(self, gathered: Replacement, version: str) -> Iterator[Change]:
        """Swaps the store's content, then hands over the changes, one with each step, and ends live. It has to be
        exhausted; steps may be far apart."""
        began_at = self.began_at
        regressions = self.writer.reader.regressions
        untold = not (self.writer.reader.resource_version or any(each.listening for each in self.subscribers))
        changes = gathered.commit(version)
        if self.writer.reader.regressions != regressions:
            log.warning("%s %s: the new list is older than the view was", self.source.resource, self.source.range.short)
        self._base = version
        for each in self.subscribers:
            each.listed(version, len(self.writer.reader))
        for change in () if untold else changes:
            self.deliver(change)
            yield change
        for each in self.subscribers:
            each.handed_over()
        while self._kept:
            _, event = self._kept.popitem(last=False)
            self._apply(event)
            yield NOTHING
        self._live(version, began_at)

    def _live(self, version: str, began_at: float) -> None:
        self.settled.set()
        self.complete = not (self._overflowed or self._gap)
        self.current_at = max(self.current_at, began_at)
        if self.complete:
            self._kept = None
        self.waiters.listed(version)
        for each in self.subscribers:
            each.refresh()
            each.progressed()

    def lost(self) -> None:
        """The stream goes on behind a gap: what the store holds is past, and only a list brings it up to date."""
        self._kept = OrderedDict()
        self._gap = True
        self.complete = False
        for each in self.subscribers:
            each.refresh()

    def give_up(self) -> None:
        """Nobody will list any more: what was asked for is cancelled, and what was under way does not go on."""
        self.waiters.give_up()
        self.gathering = False
        self.settled.set()


NOTHING = Change(None, None)
"""A step of a hand-over that changed nothing that others have to be told of."""
