"""One collection of records, from whatever follows it to the cache: also over a restore of the store.

Shared by every view that watches: what a list that is older than the view means, whom to believe while both histories
are on their way, and how old the view is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

from fleet.backends.record_cache import Record, RecordCache
from fleet.records.object_names import Kind
from shards.clock import Clock
from shards.versions import at_least

log = logging.getLogger(__name__)

_NEVER = float("-inf")


class RecordFeed(Protocol):
    """What follows one collection, and holds what it saw; it calls `changed` and `progressed` of its link.

    version: everything up to it is held; "" before the first complete list. regressions: how many lists were older than
    what was held before them. current_at: clock reading at which it was last known to be current. synced: a complete
    list is held, and no event was lost since.
    """

    @property
    def version(self) -> str: ...

    @property
    def regressions(self) -> int: ...

    @property
    def current_at(self) -> float: ...

    @property
    def synced(self) -> bool: ...

    def relist(self) -> asyncio.Future[str]:
        """Resolves with the version of a list that began after this call, once it is held."""
        ...

    def record(self, name: str) -> Record | None:
        """What the object of that name says; None where it is not held, or no record."""
        ...

    def everything(self) -> dict[str, Record]: ...

    def holds(self, name: str) -> bool:
        """Whether there is an object of that name, a record or not."""
        ...


class Listing(NamedTuple):
    """What was known when a live list was asked for. before: version up to which the cache was complete."""

    began: float
    before: str
    restarts: int


class RecordLink:
    """Invariant: while `_relisting`, the feed may still be in the history before a restore, and is not listened to."""

    def __init__(
        self,
        kind: Kind,
        cache: RecordCache,
        clock: Clock,
        list_live: Callable[[], Awaitable[tuple[Mapping[str, Record], str]]],
    ) -> None:
        """list_live: a quorum list: records by object name, and the version at which it is complete."""
        self.kind = kind
        self._cache = cache
        self._clock = clock
        self._list_live = list_live
        self._regressions = 0
        self._restarts = 0
        self._relisting: asyncio.Future[str] | None = None
        self._heard = self._live = _NEVER

    feed: RecordFeed
    """Set by whoever makes the link, before anything is heard of it."""

    @property
    def confirmed_at(self) -> float:
        """What the feed holds counts, and what it was confirmed with; not that a server accepts a watch."""
        if self._relisting is None:
            self._heard = self.feed.current_at
        return max(self._heard, self._live)

    async def confirm(self) -> None:
        """One live list. Raises CoordinationUnavailable."""
        listing = self.begin()
        self.listed(listing, *await self._list_live())

    def begin(self) -> Listing:
        """Before a live list is asked for."""
        return Listing(self._clock(), self._cache.complete(self.kind), self._restarts)

    def listed(self, listing: Listing, found: Mapping[str, Record], version: str) -> None:
        """It came: records by object name, and the version at which it is complete."""
        began, before, restarts = listing
        now = self._cache.complete(self.kind)
        if before and restarts == self._restarts and not at_least(version, before) and not at_least(version, now):
            self._went_back(found, version)
        else:
            # After a restart meanwhile, `before` was of the other history: only what the cache holds now compares.
            self._cache.listed(self.kind, found, version)
        if self._relisting is not None or at_least(version, self.feed.version or version):
            self._knows_better()
        self._live = max(self._live, began)

    def _knows_better(self) -> None:
        """A live list is in the cache that the feed is not ahead of."""

    def _went_back(self, found: Mapping[str, Record], version: str) -> None:
        log.warning("%s records: resource versions went back to %s", self.kind, version)
        self._restarts += 1
        self._cache.restarted(self.kind, found, version)
        self._relisting = self.feed.relist()
        self._relisting.add_done_callback(self._relisted)

    def _relisted(self, outcome: asyncio.Future[str]) -> None:
        if outcome is self._relisting and not outcome.cancelled():
            self._relisting = None
            self._regressions = self.feed.regressions
            self._cache.listed(self.kind, self.feed.everything(), self.feed.version)

    # -- what the feed says -----------------------------------------------------------------------------------------

    def changed(self, name: str) -> None:
        """The object of that name was added, modified or deleted."""
        if self._relisting is None and self.feed.regressions == self._regressions:
            self._cache.watched(self.kind, name, self.feed.record(name), self.feed.version)

    def progressed(self) -> None:
        """Content or version have moved; comes after the changes."""
        feed = self.feed
        if self._relisting is not None or not feed.version:
            return
        if feed.regressions != self._regressions:
            self._regressions = feed.regressions
            self._restarts += 1
            self._cache.restarted(self.kind, feed.everything(), feed.version)
        elif feed.synced:
            self._cache.progressed(self.kind, feed.version, feed.holds)
