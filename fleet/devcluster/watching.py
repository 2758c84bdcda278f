"""Opens the watches of a server, and knows which are open."""

from __future__ import annotations

import random

from fleet.devcluster import statuses
from fleet.devcluster.faults import Faults
from fleet.devcluster.listoptions import check_watch_options, version_of, wants_initial_events
from fleet.devcluster.requests import Request
from fleet.devcluster.selectors import Filter
from fleet.devcluster.storage import HistoryGone, Storage, Table, event_line
from fleet.devcluster.watches import WatchStream, bookmark_line
from shards.objects import Resource


class Watching:
    """The open watches of one server."""

    def __init__(
        self, storage: Storage, faults: Faults, rng: random.Random, *, bookmark_seconds: float, watch_seconds: float
    ) -> None:
        """rng: for the life of watches that name no timeout. The seconds are those of the server's settings."""
        self.streams: set[WatchStream] = set()
        self._storage = storage
        self._faults = faults
        self._rng = rng
        self._bookmark_seconds = bookmark_seconds
        self._watch_seconds = watch_seconds
        faults.on_release = self._reconsider

    def open(self, request: Request, table: Table, wanted: Filter) -> WatchStream:
        """A stream that shows what the request asks for; it may end at once with an ERROR event. Raises StatusError."""
        check_watch_options(request)
        after, initial = version_of(request), wants_initial_events(request)
        stream = self._stream(request, table, wanted, self._storage.version if initial else after)
        if not self._begin(request, table, stream, after, initial=initial):
            stream.close()
            return stream
        table.listeners.append(stream.offer)
        self.streams.add(stream)
        bookmarks = request.flag("allowWatchBookmarks")
        if bookmarks:
            stream.start_bookmarks(self._bookmark_seconds, self._version)
        seconds = float(request.number("timeoutSeconds")) or self._watch_seconds * (1.0 + self._rng.random())
        stream.end_after(seconds, self._version if bookmarks else None)
        return stream

    def end(self, resource: Resource | None = None) -> None:
        """Ends all watches, or those of one resource."""
        for stream in tuple(self.streams):
            if resource is None or stream.kind.resource == resource:
                stream.close()

    def _version(self) -> int:
        return self._storage.version

    def _stream(self, request: Request, table: Table, wanted: Filter, after: int) -> WatchStream:
        user_agent, resource, faults = request.user_agent, table.kind.resource, self._faults

        def delay() -> float:
            return faults.watch_delay(user_agent, resource) if faults.holds else 0.0

        def closed(stream: WatchStream) -> None:
            self.streams.discard(stream)
            if stream.offer in table.listeners:
                table.listeners.remove(stream.offer)

        return WatchStream(table.kind, wanted, after, user_agent=user_agent, delay=delay, on_close=closed)

    def _begin(self, request: Request, table: Table, stream: WatchStream, after: int, *, initial: bool) -> bool:
        """Emits what is due at once; False when the watch ends with an error instead."""
        if not initial:
            try:
                for commit in table.after(after):
                    stream.offer(commit)
            except HistoryGone as gone:
                stream.emit(event_line("ERROR", statuses.too_old(after, gone.oldest).body()))
                return False
            return True
        if after > self._storage.version:
            stream.emit(event_line("ERROR", statuses.too_large(after, self._storage.version).body()))
            return False
        for stored in table.scan(stream.wanted.prefix):
            if stream.wanted.admits(stored):
                stream.emit(event_line("ADDED", stored.raw))
        if request.flag("sendInitialEvents") and request.flag("allowWatchBookmarks"):
            stream.emit(bookmark_line(table.kind, self._storage.version, initial_events_end=True))
        return True

    def _reconsider(self) -> None:
        for stream in tuple(self.streams):
            stream.reconsider()
