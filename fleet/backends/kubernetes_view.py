"""A watched cache of a fleet's records on an API server: one informer per kind, live lists on demand."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping

from fleet.backends.record_api import RecordApi, resource_of, scope_of
from fleet.backends.record_cache import CachedView, Record, RecordCache
from fleet.records.coordination import ProtocolMismatch
from fleet.records.object_names import Kind
from shards.clock import Clock
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import ObjectName
from shards.stores.store import Change as StoreChange
from shards.versions import at_least
from shards.watching.source import FilterMode, Source

log = logging.getLogger(__name__)

_NEVER = float("-inf")


class KubernetesView(CachedView):
    """See `fleet.records.coordination.CoordinationView`. Needs a running loop; `close` it."""

    def __init__(
        self,
        api: RecordApi,
        *,
        members: bool,
        clock: Clock,
        rng: random.Random,
        on_close: Callable[[KubernetesView], None] = lambda view: None,
    ) -> None:
        super().__init__(members=members)
        self._clock = clock
        self._on_close = on_close
        self._links = [_Link(kind, api, self._cache, clock, rng) for kind in self._cache.kinds]

    @property
    def confirmed_at(self) -> float:
        return min(link.confirmed_at for link in self._links)

    @property
    def trouble(self) -> str:
        """Why the view is not being kept current; "" when it is."""
        return next((link.trouble for link in self._links if link.trouble), "")

    async def confirm(self) -> None:
        outcomes = await asyncio.gather(*(link.confirm() for link in self._links), return_exceptions=True)
        # All of them are over before one is told: no list is left behind to run into the next confirmation, or a close.
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    def noted(self, kind: Kind, name: str, record: Record) -> None:
        """A record as this process wrote it or read it live."""
        self._cache.noted(kind, name, record)

    async def close(self) -> None:
        self._on_close(self)
        for link in self._links:
            link.task.cancel()
        await asyncio.gather(*(link.task for link in self._links), return_exceptions=True)
        self._cache.close()


class _Link:
    """One collection's informer, and what it says to the cache.

    Invariant: while `_relisting`, the informer may still be in the history before a restore, and is not listened to.
    """

    def __init__(self, kind: Kind, api: RecordApi, cache: RecordCache, clock: Clock, rng: random.Random) -> None:
        self.kind = kind
        self._api = api
        self._cache = cache
        self._clock = clock
        self._mismatches: dict[str, ProtocolMismatch] = {}
        self._regressions = 0
        self._restarts = 0
        self._relisting: asyncio.Future[str] | None = None
        self._heard = self._live = _NEVER
        # The whole key space under the key that every object has: no object of the scope is left out.
        source = Source(
            resource_of(kind), WHOLE, PartitionKey.UID, scope_of(kind, api.names), FilterMode.LOCAL, "primary"
        )
        self._informer = Informer(
            api.transport,
            source,
            handler=self._changed,
            on_progress=self._progressed,
            clock=clock,
            rng=rng,
            namespace=api.names.namespace,
            user_agent=api.user_agent(),
        )
        self.task = asyncio.create_task(self._informer.run(), name=f"{kind} records")

    @property
    def trouble(self) -> str:
        return next((str(error) for error in self._mismatches.values()), self._informer.trouble)

    @property
    def confirmed_at(self) -> float:
        """What the informer holds counts, and what it was confirmed with; not that a server accepts a watch."""
        if self._relisting is None:
            self._heard = self._informer.current_at
        return max(self._heard, self._live)

    async def confirm(self) -> None:
        """One live list. Raises CoordinationUnavailable."""
        began, before, restarts = self._clock(), self._cache.complete(self.kind), self._restarts
        found, version = await self._api.list_records(self.kind, strict=False)
        now = self._cache.complete(self.kind)
        if before and restarts == self._restarts and not at_least(version, before) and not at_least(version, now):
            self._went_back(found, version)
        else:
            # After a restart meanwhile, `before` was of the other history: only what the cache holds now compares.
            self._cache.listed(self.kind, found, version)
        if self._relisting is not None or at_least(version, self._informer.store.resource_version or version):
            # The list had no such record, and the watch does not know better.
            self._mismatches.clear()
        self._live = max(self._live, began)

    def _went_back(self, found: Mapping[str, Record], version: str) -> None:
        log.warning("%s records: resource versions went back to %s", self.kind, version)
        self._restarts += 1
        self._cache.restarted(self.kind, found, version)
        self._relisting = self._informer.relist()
        self._relisting.add_done_callback(self._relisted)

    def _relisted(self, outcome: asyncio.Future[str]) -> None:
        if outcome is self._relisting and not outcome.cancelled():
            self._relisting = None
            self._regressions = self._informer.store.regressions
            self._cache.listed(self.kind, self._everything(), self._informer.store.resource_version)

    def _changed(self, change: StoreChange) -> None:
        meta = change.new or change.old
        store = self._informer.store
        if meta is None or self._relisting is not None or store.regressions != self._regressions:
            return
        self._cache.watched(self.kind, meta.name, self._record(meta.name), store.resource_version)

    def _progressed(self) -> None:
        store = self._informer.store
        if self._relisting is not None or not store.resource_version:
            return
        if store.regressions != self._regressions:
            self._regressions = store.regressions
            self._restarts += 1
            self._cache.restarted(self.kind, self._everything(), store.resource_version)
        elif self._informer.synced.is_set():
            self._cache.progressed(self.kind, store.resource_version, lambda name: self._object(name) in store)

    def _everything(self) -> dict[str, Record]:
        self._mismatches.clear()
        records = ((meta.name, self._record(meta.name)) for meta in self._informer.store.metas())
        return {name: record for name, record in records if record is not None}

    def _record(self, name: str) -> Record | None:
        """What the informer holds under the name; a foreign one for a record of another protocol, if one can be."""
        raw = self._informer.store.raw(self._object(name))
        self._mismatches.pop(name, None)
        if raw is None:
            return None
        try:
            return self._api.record(self.kind, raw)
        except ProtocolMismatch as error:
            log.error("%s record %s is not followed: %s", self.kind, name, error)
            self._mismatches[name] = error
            return self._api.foreign(self.kind, raw)

    def _object(self, name: str) -> ObjectName:
        return ObjectName(self._api.names.namespace, name)
