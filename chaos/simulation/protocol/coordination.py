"""A process's coordination on a modelled wire: `LocalCoordination`, whose requests take time, and watched views."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from chaos.simulation.happenings import Read
from chaos.simulation.process import Process
from chaos.simulation.protocol.record_watcher import RecordWatcher
from chaos.simulation.protocol.wire import Wire
from fleet.backends.local import LocalCoordination, W
from fleet.backends.record_cache import CachedView, Record
from fleet.backends.record_link import RecordLink
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord
from shards.clock import Clock
from shards.errors import Unreachable

T = TypeVar("T")

REQUEST_SHARE = 0.35
"""Of the lease, for one request: the default of the fleet's config."""


class SimulatedCoordination(LocalCoordination):
    """See `fleet.records.coordination.Coordination`. author: the process whose it is."""

    def __init__(self, wire: Wire, *, author: Process, clock: Clock, lease_seconds: float, rng: random.Random) -> None:
        super().__init__(wire.server.store, clock=clock)
        self.wire = wire
        self.author = author
        self.rng = rng
        self._timeout_seconds = min(5.0, REQUEST_SHARE * lease_seconds)

    async def _send(self, act: Callable[[], T], *, write: bool, not_after: float | None = None) -> T:
        seconds = self._timeout_seconds
        if not_after is not None:
            seconds = min(seconds, not_after - self.clock())
            if seconds <= 0:
                raise CoordinationUnavailable("not sent: the deadline has passed")
        answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def done(answer: Any, error: Exception | None) -> None:
            if answered.done():
                return
            if error is None:
                answered.set_result(answer)
            elif isinstance(error, Unreachable):
                answered.set_exception(CoordinationUnavailable(str(error), maybe_applied=error.maybe_applied))
            else:
                answered.set_exception(error)

        request = self.wire.send(act, done, self.author, write=write, seconds=seconds, direct=True)
        try:
            return await answered
        finally:
            request.abandon()

    async def _read(self, kind: Kind, name: str) -> Record | CoordinatorRecord | None:
        found = await self._send(partial(self._read_there, kind, name), write=False)
        self._note(kind, name, found)
        return found

    def _read_there(self, kind: Kind, name: str) -> Record | CoordinatorRecord | None:
        found = self.store.get(kind, name)
        version = found.version if found is not None else ""
        self.wire.server.hear(Read(self.wire.network.now, self.author.label, kind, name, version))
        return found

    async def _write(self, kind: Kind, name: str, new: W, replaces: str, not_after: float | None) -> W:
        if kind is not Kind.SHARD:
            return await super()._write(kind, name, new, replaces, not_after)

        def put() -> W:
            if self.wire.refuses_shard_writes:
                self.wire.hits["useless"] += 1
                raise CoordinationUnavailable("it may not write Leases of shards")
            return self.store.put(kind, name, new, replaces)

        written = await self._send(put, write=True, not_after=not_after)
        self._note(kind, name, written)
        return written

    async def _list(self, kind: Kind) -> list[Record]:
        found, _ = await self.listed((kind,))
        return list(found[kind].values())

    async def listed(self, kinds: tuple[Kind, ...]) -> tuple[dict[Kind, dict[str, Record]], str]:
        """Consistent lists, all at one version."""
        store = self.store
        found, version = await self._send(
            lambda: ({kind: store.of(kind) for kind in kinds}, str(store.revision)), write=False
        )
        return {kind: self._perhaps_truncated(each) for kind, each in found.items()}, version

    def _perhaps_truncated(self, found: dict[str, Record]) -> dict[str, Record]:
        if not (self.wire.truncations and found):
            return found
        self.wire.truncations -= 1
        self.wire.hits["truncated-list"] += 1
        most = self.wire.rng.randrange(len(found))
        return {name: found[name] for name in sorted(found)[:most]}

    def watch(self, *, members: bool) -> SimulatedView:  # type: ignore[override]  # another view of the same records
        view = SimulatedView(self, members=members)
        self._views.append(view)  # type: ignore[arg-type]
        return view


class SimulatedView(CachedView):
    """See `fleet.records.coordination.CoordinationView`."""

    def __init__(self, coordination: SimulatedCoordination, *, members: bool) -> None:
        super().__init__(members=members)
        self._coordination = coordination
        self._links = {kind: self._link(kind) for kind in self._cache.kinds}
        self._watchers = [link.feed for link in self._links.values()]
        for watcher in self._watchers:
            assert isinstance(watcher, RecordWatcher), "see _link"
            watcher.start()

    def _link(self, kind: Kind) -> RecordLink:
        coordination = self._coordination

        async def list_live() -> tuple[dict[str, Record], str]:
            found, version = await coordination.listed((kind,))
            return found[kind], version

        link = RecordLink(kind, self._cache, coordination.clock, list_live)
        link.feed = RecordWatcher(
            kind,
            coordination.wire,
            author=coordination.author,
            clock=coordination.clock,
            rng=coordination.rng,
            changed=link.changed,
            progressed=link.progressed,
        )
        return link

    @property
    def confirmed_at(self) -> float:
        return min(link.confirmed_at for link in self._links.values())

    async def confirm(self) -> None:
        """One way there and back for all lists, which a real view sends side by side."""
        begun = {kind: link.begin() for kind, link in self._links.items()}
        found, version = await self._coordination.listed(tuple(self._links))
        for kind, link in self._links.items():
            link.listed(begun[kind], found[kind], version)

    def noted(self, kind: Kind, name: str, record: Record) -> None:
        """A record as this process wrote it or read it live."""
        self._cache.noted(kind, name, record)

    async def close(self) -> None:
        self._coordination._views.remove(self)  # type: ignore[arg-type]
        for watcher in self._watchers:
            assert isinstance(watcher, RecordWatcher), "see _link"
            watcher.close()
        self._cache.close()
