"""One watch: its selection, its buffer, its bookmarks and its end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from fleet.devcluster.kinds.catalogue import zeros
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.selectors import Filter
from fleet.devcluster.storage.storage import Commit, Stored, event_line
from fleet.devcluster.wire.answers import Interrupted

BUFFER_BYTES = 64 << 20
"""Of events that wait for a client that does not read."""
_LOOK_EVENTS = 100
_FINAL_BOOKMARK_SECONDS = 2.0


def bookmark_line(kind: ResourceType, version: int, *, initial_events_end: bool = False) -> bytes:
    """The object of a bookmark is an empty one of its kind, as the real server's Go type writes it."""
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if initial_events_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    resource = kind.resource
    fields = b"" if kind.custom else zeros().get(f"{resource.api_version}/{resource.plural}", b"")
    raw = kind.head + b'"metadata":' + msgspec.json.encode(metadata)
    return event_line("BOOKMARK", raw + (b"," + fields[1:] if fields else b"}"))


@dataclass(slots=True)
class Tally:
    """How many events the watches of one resource gave to their clients."""

    events: int = 0


class WatchStream:
    """Lines for one watcher, in commit order.

    `offer` is called for every commit of the table, on the loop; `read` waits for the next bytes.
    """

    def __init__(
        self,
        kind: ResourceType,
        wanted: Filter,
        after: int,
        *,
        buffer_events: int,
        on_close: Callable[[WatchStream], None],
        user_agent: str = "",
        tally: Tally | None = None,
    ) -> None:
        """kind: in the version that was asked for. after: commits up to this version are not shown.

        buffer_events: how far the client may lag behind before its watch ends without a word; BUFFER_BYTES bounds it
        too, about. What is there from the beginning does not count.
        """
        self.kind = kind
        self.wanted = wanted
        self.user_agent = user_agent
        self.closed = False
        self._admits = wanted.test()
        self._after = after
        self._ready: list[bytes] = []
        self._buffer_events = buffer_events
        self._from_beginning = 0  # lines in `_ready` that are there from the beginning
        self._room = math.inf  # in `_ready`, until it is looked at again
        self._waiter: asyncio.Future[None] | None = None
        self._on_close = on_close
        self._tally = tally or Tally()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def offer(self, commit: Commit) -> None:
        """Shows a commit to the watcher where it selects the object, before or after."""
        if commit.version <= self._after or self.closed:
            return
        admits, old, new = self._admits, commit.old, commit.new
        before = old is not None and (admits is None or admits(old))
        if new is not None and (admits is None or admits(new)):
            kind = "MODIFIED" if before else "ADDED"
        elif before:
            kind = "DELETED"
        else:
            return
        if commit.kind is not self.kind and commit.kind.resource != self.kind.resource:
            self.emit(self._in_its_version(kind, commit))
        elif kind == "MODIFIED":
            self.emit(commit.modified)
        else:
            self.emit(commit.added if kind == "ADDED" else commit.deleted)

    def show(self, stored: Stored, *, kind: ResourceType) -> None:
        """An object that is there already. kind: the resource in the version in which it is stored."""
        raw = stored.raw if kind.resource == self.kind.resource else self.kind.rendered(stored)
        self.emit(event_line("ADDED", raw))

    def begin(self) -> None:
        """What was emitted until now is there from the beginning: no client is too slow for that."""
        self._from_beginning = len(self._ready)
        self._room = self._from_beginning + min(_LOOK_EVENTS, self._buffer_events)

    def emit(self, line: bytes) -> None:
        """Appends a line; ends the watch when the client is too slow."""
        self._ready.append(line)
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        elif len(self._ready) > self._room:
            self._look()

    def start_bookmarks(self, interval_seconds: float, version: Callable[[], int]) -> None:
        """A bookmark every interval, at the version that everything shown so far adds up to.

        None while that is older than what the client has: it may have come from a front end that was ahead.
        """

        def tick() -> None:
            self._bookmark(version())
            self._later("bookmark", interval_seconds, tick)

        self._later("bookmark", interval_seconds, tick)

    def end_after(self, seconds: float, last_bookmark: Callable[[], int] | None) -> None:
        """Ends the stream at a deadline, with one more bookmark two seconds before where the client asked for them."""
        self._later("deadline", seconds, self.close)
        if last_bookmark is not None and seconds > _FINAL_BOOKMARK_SECONDS:
            version = last_bookmark

            def final() -> None:
                self._bookmark(version())

            self._later("final", seconds - _FINAL_BOOKMARK_SECONDS, final)

    async def read(self) -> bytes:
        """Everything that is ready, at least one line; b"" at the end of the stream."""
        while not self._ready:
            if self.closed:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = b"".join(self._ready)
        self._tally.events += len(self._ready)
        self._ready.clear()
        self._from_beginning = 0
        self._room = min(_LOOK_EVENTS, self._buffer_events)
        return chunk

    def interrupt(self) -> None:
        """Makes a read that waits now raise Interrupted; nothing is lost."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(Interrupted())

    def close(self) -> None:
        """Ends the stream after what is ready; idempotent."""
        if self.closed:
            return
        self.closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._on_close(self)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _look(self) -> None:
        """Whether the client is too slow; if not, looks again when twice as much waits for it."""
        waiting = len(self._ready) - self._from_beginning
        if waiting > self._buffer_events or sum(map(len, self._ready[self._from_beginning :])) > BUFFER_BYTES:
            self.close()
        else:
            self._room = self._from_beginning + min(2 * waiting, self._buffer_events)

    def _bookmark(self, version: int) -> None:
        if version >= self._after:
            self.emit(bookmark_line(self.kind, version))

    def _in_its_version(self, kind: str, commit: Commit) -> bytes:
        """The event for a watch in another version than the stored one."""
        stored = commit.last if kind == "DELETED" else commit.new
        return event_line(kind, self.kind.rendered(stored)) if stored is not None else b""

    def _later(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, act)
