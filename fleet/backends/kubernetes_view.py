"""A watched cache of a fleet's records on an API server: one informer per kind, live lists on demand."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from functools import partial

from fleet.backends.record_api import RecordApi, resource_of, scope_of
from fleet.backends.record_cache import CachedView, Record, RecordCache
from fleet.backends.record_link import RecordLink
from fleet.records.coordination import ProtocolMismatch
from fleet.records.object_names import Kind
from shards.clock import Clock
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import ObjectName
from shards.stores.store import Change as StoreChange
from shards.watching.source import FilterMode, Source

log = logging.getLogger(__name__)


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


class _Link(RecordLink):
    """One collection's informer, as a link's feed."""

    def __init__(self, kind: Kind, api: RecordApi, cache: RecordCache, clock: Clock, rng: random.Random) -> None:
        super().__init__(kind, cache, clock, partial(api.list_records, kind, strict=False))
        self.feed = self
        self._api = api
        self._mismatches: dict[str, ProtocolMismatch] = {}
        # The whole key space under the key that every object has: no object of the scope is left out.
        source = Source(
            resource_of(kind), WHOLE, PartitionKey.UID, scope_of(kind, api.names), FilterMode.LOCAL, "primary"
        )
        self._informer = Informer(
            api.transport,
            source,
            handler=self._handle,
            on_progress=self.progressed,
            clock=clock,
            rng=rng,
            namespace=api.names.namespace,
            user_agent=api.user_agent(),
        )
        self.task = asyncio.create_task(self._informer.run(), name=f"{kind} records")

    @property
    def trouble(self) -> str:
        return next((str(error) for error in self._mismatches.values()), self._informer.trouble)

    def _handle(self, change: StoreChange) -> None:
        meta = change.new or change.old
        if meta is not None:
            self.changed(meta.name)

    def _knows_better(self) -> None:
        # The list had no such record, and the watch does not know better.
        self._mismatches.clear()

    # -- the feed ---------------------------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        return self._informer.store.resource_version

    @property
    def regressions(self) -> int:
        return self._informer.store.regressions

    @property
    def current_at(self) -> float:
        return self._informer.current_at

    @property
    def synced(self) -> bool:
        return self._informer.synced.is_set()

    def relist(self) -> asyncio.Future[str]:
        return self._informer.relist()

    def everything(self) -> dict[str, Record]:
        self._mismatches.clear()
        records = ((meta.name, self.record(meta.name)) for meta in self._informer.store.metas())
        return {name: record for name, record in records if record is not None}

    def holds(self, name: str) -> bool:
        return self._object(name) in self._informer.store

    def record(self, name: str) -> Record | None:
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
