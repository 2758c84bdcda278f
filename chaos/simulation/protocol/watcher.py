"""What stands for an informer: the project's own machine of lists and watches, on a modelled wire."""

from __future__ import annotations

import asyncio
import random
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from contextvars import Context, copy_context
from typing import Any

from chaos.simulation.process import Process
from chaos.simulation.protocol.server import Event, FrontEnd
from chaos.simulation.protocol.wire import Wire
from shards.api.collection import LIST_TIMEOUT_SECONDS
from shards.clock import Clock
from shards.errors import Expired, ShardError, Unreachable
from shards.informers.list_waiters import ListWaiters
from shards.watching.watch import WatchMachine
from shards.watching.watch_requests import ListPage, Request, WatchFrom
from shards.watching.wire import Page


class OpenWatch:
    """One watch, from a front end to the process that asked for it. What it has to say comes in order."""

    def __init__(self, watcher: Watcher, front_end: FrontEnd) -> None:
        self.author = watcher.author
        self._watcher = watcher
        self._wire = watcher.wire
        self._front_end = front_end
        self._coming: deque[tuple[float, Event]] = deque()
        self._due = 0.0
        self.broke: bool | None = None
        """Its reader was told that it broke, and whether what it knew is compacted away."""
        front_end.open(watcher.collection, self)
        self._wire.streams.append(self)

    def push(self, event: Event) -> None:
        if not self._watcher.wants(event):
            return
        wire = self._wire
        if wire.drops and self._watcher.droppable:
            wire.drops -= 1
            wire.hits["dropped-events"] += 1
            self._watcher.misses_events = True
            return
        self._due = max(self._due, wire.network.now + wire.latency())
        self._coming.append((self._due, event))
        wire.network.at(self._due, self.flush)

    @property
    def misses_events(self) -> bool:
        return self._watcher.misses_events

    def flush(self) -> None:
        """What has arrived is handed over."""
        if self._wire.muted:
            if self._wire.silent and self._coming:
                self._wire.hits["silent-watch"] += 1
            return
        arrived, now = [], self._wire.network.now
        while self._coming and self._coming[0][0] <= now:
            arrived.append(self._coming.popleft()[1])
        if arrived:
            watcher = self._watcher
            self._wire.network.hand_over(watcher.context, watcher.take, self, arrived)

    def close(self) -> None:
        self._front_end.close(self._watcher.collection, self)
        if self in self._wire.streams:
            self._wire.streams.remove(self)
        self._coming.clear()

    def break_off(self, gone: bool = False) -> None:
        """gone: what its reader knew is compacted away."""
        self.close()
        watcher = self._watcher
        self._wire.network.hand_over(watcher.context, watcher.broken, self, gone)


class Watcher:
    """Follows one collection, from `start` to `close`; both in the process whose it is. See `RecordFeed`.

    droppable: whether a strike may hide events from it. misses_events: one did, and no list has made up for it. A
    client cannot know; the server that is restarted to heal it tells nobody what its cache had lost, and everybody
    lists.
    """

    droppable = True

    def __init__(
        self,
        collection: Hashable,
        wire: Wire,
        *,
        author: Process,
        clock: Clock,
        rng: random.Random,
        changed: Callable[[str], None],
        progressed: Callable[[], None],
    ) -> None:
        self.collection = collection
        self.wire = wire
        self.context: Context = Context()
        self.synced = False
        self.current_at = float("-inf")
        self.waiters = ListWaiters()
        self.author = author
        self._clock = clock
        self._changed = changed
        self._progressed = progressed
        self._machine = WatchMachine((), rng)
        self._watch: OpenWatch | None = None
        self._answered_at: float | None = None
        self._turn = 0
        """Answers of earlier turns mean nothing any more."""
        self._timer: asyncio.TimerHandle | None = None
        self._request: Any = None
        self._gone = self._closed = self._listing = self.misses_events = False

    # -- what a subclass holds --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def version(self) -> str: ...

    @property
    @abstractmethod
    def regressions(self) -> int: ...

    def wants(self, event: Event) -> bool:
        """Whether the server sends it the event."""
        return True

    @abstractmethod
    def replace(self, found: Mapping[str, Any], version: str) -> None:
        """A complete list."""

    @abstractmethod
    def apply(self, event: Event) -> None: ...

    # -- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.context = copy_context()
        self._next()

    def close(self) -> None:
        self._closed = True
        self._end_turn()
        self.waiters.stop()

    def relist(self) -> asyncio.Future[str]:
        asked = self.waiters.ask()
        if not (asked.cancelled() or self._listing):
            self._machine.list_again()
            self._next()
        return asked

    def _end_turn(self) -> None:
        self._turn += 1
        self._listing = False
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._request is not None:
            self._request.abandon()
            self._request = None

    def _next(self) -> None:
        self._end_turn()
        if self._closed:
            return
        if self.waiters.asked and not self._machine.fresh:
            self._machine.list_again()
        request, delay = self._machine.request()
        if delay > 0:
            self._timer = asyncio.get_running_loop().call_later(delay, self._begin, request)
        else:
            self._begin(request)

    def _begin(self, request: Request) -> None:
        self._answered_at = None
        if isinstance(request, ListPage):
            self._listing = True
            self.waiters.list_began()
            self._ask(self._read_list, self._listed, self._clock())
        elif isinstance(request, WatchFrom):
            self._ask(self._open, self._opened, int(request.version))
        else:
            self._ask(self._read_version, self._checked, None)

    def _ask(self, act: Callable[[Any], Any], then: Callable[[Any, Any], None], what: Any) -> None:
        turn = self._turn

        def done(answer: Any, error: Exception | None) -> None:
            if turn != self._turn:
                return
            if error is None:
                then(what, answer)
            else:
                self._failed(error if isinstance(error, ShardError) else Unreachable(str(error)))

        self._request = self.wire.send(lambda: act(what), done, self.author, write=False, seconds=LIST_TIMEOUT_SECONDS)

    def _failed(self, error: ShardError) -> None:
        lasted = 0.0 if self._answered_at is None else self._clock() - self._answered_at
        self._machine.failed(error, lasted)
        if not self._machine.complete:
            self.synced = False
        self._next()

    # -- at the server ----------------------------------------------------------------------------------------------

    def _read_list(self, began: float) -> tuple[Mapping[str, Any], str]:
        return self.wire.server.listing(self.collection)

    def _read_version(self, nothing: None) -> str:
        return self.wire.server.version(self.collection)

    def _open(self, version: int) -> OpenWatch:
        if self._gone or (self.misses_events and self.wire.healed):
            self._gone = False
            raise Expired(410, "Expired", "too old resource version")
        server = self.wire.server
        front_end = self.wire.rng.choice(server.front_ends)
        missed = server.since(front_end, self.collection, version)
        watch = OpenWatch(self, front_end)
        for event in missed:
            watch.push(event)
        return watch

    # -- answers ----------------------------------------------------------------------------------------------------

    def _listed(self, began: float, answer: tuple[Mapping[str, Any], str]) -> None:
        found, version = answer
        try:
            self._machine.page(Page([], b"", version, ""))
        except ShardError as error:
            self._failed(error)
            return
        self.replace(found, version)
        self.misses_events = False
        self.synced = True
        self.current_at = max(self.current_at, began)
        self.waiters.listed(version)
        self._progressed()
        self._next()

    def _checked(self, nothing: None, version: str) -> None:
        self._machine.checked(version)
        if not self._machine.complete:
            self.synced = False
        self._next()

    def _opened(self, version: int, watch: OpenWatch) -> None:
        self._request = None
        self._answered_at = self._clock()
        self._watch = watch
        if watch.broke is not None:  # before its answer was here
            self.broken(watch, watch.broke)

    def take(self, watch: OpenWatch, events: list[Event]) -> None:
        """What a watch said."""
        if self._closed or (watch is not self._watch and self._watch is not None):
            return
        for event in events:
            if event.version > int(self.version or "0"):
                self.apply(event)
                self._machine.event_version(str(event.version))
                self._changed(event.name)
        self.current_at = self._clock()
        self._progressed()

    def broken(self, watch: OpenWatch, gone: bool) -> None:
        """The watch broke."""
        watch.broke = gone
        if watch is self._watch:
            self._watch = None
            self._gone = gone
            self._failed(Unreachable("the watch broke off"))
