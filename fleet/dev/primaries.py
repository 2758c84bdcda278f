"""How many primary objects there are, and with how many of them their controller is done."""

from __future__ import annotations

import random
from collections.abc import Callable

from shards.api.client import Transport
from shards.clock import Clock, boot_seconds
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Object, ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.store import Change
from shards.watching.source import FilterMode, Source


class Primaries:
    """Follows one resource. `run` until cancelled.

    trouble: what the author's `settled` raised last, "" if nothing.
    """

    def __init__(
        self,
        transport: Transport,
        resource: Resource,
        settled: Callable[[Object], bool],
        *,
        user_agent: str = "",
        clock: Clock = boot_seconds,
    ) -> None:
        self.resource = resource
        self.trouble = ""
        self._judge = settled
        self._settled: set[ObjectName] = set()
        self._expected: dict[ObjectName, tuple[str, str]] = {}
        self._informer = Informer(
            transport,
            Source(resource, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "watched"),
            handler=self._changed,
            on_progress=lambda: None,
            clock=clock,
            rng=random.Random(),
            user_agent=user_agent,
        )

    def expect(self, created: Object) -> None:
        """Count this answer to a create as existing until the view has caught up with it."""
        meta = created["metadata"]
        name = ObjectName(meta.get("namespace", ""), meta["name"])
        self._expected[name] = (meta["uid"], meta["resourceVersion"])

    @property
    def total(self) -> int:
        """Objects that exist."""
        store = self._informer.store
        for name, (uid, version) in list(self._expected.items()):
            if store.shows(name, uid, version):
                del self._expected[name]
        return len(store) + sum(store.meta(name) is None for name in self._expected)

    @property
    def settled(self) -> int:
        """Objects of which `settled` was true when they were last seen."""
        return len(self._settled)

    def unsettled(self) -> list[ObjectName]:
        """Those that exist and are not settled, by name."""
        there = {ObjectName(meta.namespace, meta.name) for meta in self._informer.store.metas()}
        return sorted((there | self._expected.keys()) - self._settled)

    async def run(self) -> None:
        await self._informer.run()

    def _changed(self, change: Change) -> None:
        meta = change.new or change.old
        if meta is None:
            return
        name = ObjectName(meta.namespace, meta.name)
        obj = self._informer.store.get(name) if change.new is not None else None
        try:
            done = obj is not None and self._judge(obj)
        except Exception as error:  # the author's function may raise anything; the object then does not count
            self.trouble = f"settled() raised {type(error).__name__}: {error}"
            done = False
        if done:
            self._settled.add(name)
        else:
            self._settled.discard(name)
