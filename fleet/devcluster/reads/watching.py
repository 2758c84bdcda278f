"""Opens the watches of a front end, and knows which are open."""

from __future__ import annotations

import random

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.listoptions import version_of, wants_initial_events
from fleet.devcluster.reads.selectors import Filter
from fleet.devcluster.reads.watches import Tally, WatchStream, bookmark_line
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Storage, TableKey, event_line, table_key
from fleet.devcluster.storage.watchcache import WatchCache
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.requests import Request
from shards.objects import Resource


class Watching:
    """The open watches of one front end, which are served from its cache."""

    def __init__(self, storage: Storage, cache: WatchCache, rng: random.Random, settings: ServerSettings) -> None:
        """rng: for the life of watches that name no timeout."""
        self.streams: dict[WatchStream, None] = {}
        """In the order in which they were opened."""
        self.tallies: dict[Resource, Tally] = {}
        self._cache = cache
        self._rng = rng
        self._settings = settings
        cache.on_restart.append(self.end)
        self._since: dict[TableKey, int] = {}
        """From where on there is a history, of resources whose definition has changed."""
        storage.on_drop.append(self.end)
        storage.on_redefine.append(self.begin_anew)

    def open(self, request: Request, kind: ResourceType, wanted: Filter) -> WatchStream:
        """A stream that shows what the request asks for; it may end at once with an ERROR event. Raises StatusError.

        A negative timeoutSeconds has passed already: such a stream is empty.
        """
        settings, cache = self._settings, self._cache
        after, initial = version_of(request), wants_initial_events(request)
        if initial:
            needed, after = max(after, request.reached), cache.version
        else:
            needed, after = 0, after or cache.version
        stream = WatchStream(
            kind,
            wanted,
            after,
            buffer_events=settings.watch_buffer_events,
            on_close=self._closed,
            user_agent=request.user_agent,
            tally=self.tallies.setdefault(kind.resource, Tally()),
        )
        timeout_seconds = float(request.integer("timeoutSeconds"))
        if timeout_seconds < 0.0:
            stream.close()
            return stream
        try:
            self._begin(request, kind, stream, after, needed, initial=initial)
        except statuses.StatusError as error:
            if error.code == 410 and settings.watch_expired_as_status:
                raise
            stream.emit(event_line("ERROR", error.body()))
            stream.close()
            return stream
        stream.begin()
        cache.listen(kind, stream.offer)
        self.streams[stream] = None
        bookmarks = request.flag("allowWatchBookmarks")
        if bookmarks:
            stream.start_bookmarks(settings.bookmark_seconds, self._version)
        seconds = timeout_seconds or settings.watch_seconds * (1.0 + self._rng.random())
        stream.end_after(seconds, self._version if bookmarks else None)
        return stream

    def end(self, resource: Resource | None = None) -> None:
        """Ends all watches, or those of one resource in all its versions."""
        for stream in tuple(self.streams):
            if resource is None or table_key(stream.kind.resource) == table_key(resource):
                stream.close()

    def begin_anew(self, resource: Resource) -> None:
        """Ends all watches of a resource, in all its versions; none can be resumed from before."""
        self._since[table_key(resource)] = self._cache.version
        self.end(resource)

    def _version(self) -> int:
        return self._cache.version

    def _closed(self, stream: WatchStream) -> None:
        self.streams.pop(stream, None)
        self._cache.unlisten(stream.kind, stream.offer)

    def _begin(
        self, request: Request, kind: ResourceType, stream: WatchStream, after: int, needed: int, *, initial: bool
    ) -> None:
        """Emits what is due at once. needed: the version that the initial events must include. Raises StatusError."""
        cache = self._cache
        table = cache.table(kind)
        if not initial:
            oldest = max(table.floor, cache.since, self._since.get(table_key(kind.resource), 0))
            if after < oldest:
                raise statuses.too_old(after, oldest)
            for commit in table.after(after):
                stream.offer(commit)
            return
        if needed > cache.version:
            raise statuses.too_large(needed, cache.version, with_cause=self._settings.too_large_cause)
        wanted = stream.wanted
        for stored in table.page(wanted.prefix, "", None if wanted.everything else wanted.admits_within, 0).items:
            stream.show(stored, kind=table.kind)
        if request.flag("allowWatchBookmarks"):
            stream.emit(bookmark_line(kind, cache.version, initial_events_end=True))
