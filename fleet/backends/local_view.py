"""The watched cache of `fleet.backends.local`, which shows changes as late as its client's faults say."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from fleet.backends.local_store import Faults, LocalStore, Step, Unreadable
from fleet.backends.record_cache import CachedView, Record
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord
from shards.clock import Clock
from shards.versions import at_least


class LocalView(CachedView):
    """See `fleet.records.coordination.CoordinationView`. Needs a running loop only while `faults.lag_seconds` is set.

    Invariant: `_pending` holds, in order, everything that happened in the store and was not told to the cache.
    """

    def __init__(
        self,
        store: LocalStore,
        faults: Faults,
        *,
        members: bool,
        clock: Clock,
        on_close: Callable[[LocalView], None] = lambda view: None,
    ) -> None:
        self._store = store
        self._faults = faults
        self._clock = clock
        self._on_close = on_close
        super().__init__(members=members)
        self._pending: deque[Callable[[], None]] = deque()
        self._watched: set[tuple[Kind, str]] = set()
        self._confirmed_at = float("-inf")
        store.listeners.append(self._happened)
        self._put(self._listing())

    @property
    def confirmed_at(self) -> float:
        """Now, while nothing is pending and nothing keeps news away: a store in memory is never silent."""
        if not (self._pending or self._faults.held or self._faults.unavailable):
            self._confirmed_at = self._clock()
        return self._confirmed_at

    async def confirm(self) -> None:
        await self._faults.reach()
        at = str(self._store.revision)
        for kind in self._cache.kinds:
            before = self._cache.complete(kind)
            if before and not at_least(at, before):
                self._cache.restarted(kind, self._store.of(kind), at)
            else:
                self._cache.listed(kind, self._store.of(kind), at)
        self._confirmed_at = self._clock()

    def noted(self, kind: Kind, name: str, record: Record) -> None:
        """A record as this client wrote it or read it live."""
        self._cache.noted(kind, name, record)

    def deliver(self) -> None:
        """Shows everything that is pending."""
        while self._pending:
            self._pending.popleft()()

    async def close(self) -> None:
        self._on_close(self)
        self._store.listeners.remove(self._happened)
        self._pending.clear()
        self._cache.close()

    def _happened(self, step: Step | None) -> None:
        if step is None:
            self._put(self._listing())
        elif step.kind in self._cache.kinds:
            self._put(lambda: self._show(step))

    def _put(self, news: Callable[[], None]) -> None:
        self._pending.append(news)
        if self._faults.lag_seconds > 0:
            asyncio.get_running_loop().call_later(self._faults.lag_seconds, self._deliver_next)
        elif not self._faults.held:
            self.deliver()

    def _deliver_next(self) -> None:
        if self._pending and not self._faults.held:
            self._pending.popleft()()

    def _show(self, step: Step) -> None:
        if step.found is None:
            self._watched.discard((step.kind, step.name))
        else:
            self._watched.add((step.kind, step.name))
        found = None if isinstance(step.found, Unreadable | CoordinatorRecord) else step.found
        self._cache.watched(step.kind, step.name, found, step.at)
        self._progress(step.kind, step.at)

    def _progress(self, kind: Kind, at: str) -> None:
        self._cache.progressed(kind, at, lambda name: (kind, name) in self._watched)

    def _listing(self) -> Callable[[], None]:
        """The store as it is at this moment, told to the cache later."""
        at = str(self._store.revision)
        found = {kind: self._store.of(kind) for kind in self._cache.kinds}

        def show() -> None:
            self._watched = {(kind, name) for kind, records in found.items() for name in records}
            for kind, records in found.items():
                before = self._cache.complete(kind)
                if before and not at_least(at, before):
                    self._cache.restarted(kind, records, at)
                else:
                    self._cache.listed(kind, records, at)
                self._progress(kind, at)

        return show
