"""Garbage collection: which objects may have become garbage, and when they are looked at.

What the garbage collector and the namespace controller of kube-controller-manager do, on the server's own storage.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from fleet.devcluster.changes.deletion import FOREGROUND
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.controllers.collector import Collector, Where
from fleet.devcluster.controllers.namespaceend import NamespaceEnd
from fleet.devcluster.kinds.resources import NAMESPACES, Registry
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Commit, Storage, Stored, object_key
from shards.objects import OwnerReference

__all__ = ("Garbage",)


class Garbage:
    """Follows every commit, so that a collection looks only at what may have become garbage.

    Invariants: `_live` maps the UID of every stored object to where it is; `_dependents` maps
    an owner's UID to the objects whose owner references name it.
    """

    def __init__(
        self,
        storage: Storage,
        registry: Registry,
        writer: Writer,
        log: RequestLog,
        settings: ServerSettings | None = None,
    ) -> None:
        self._storage = storage
        self._registry = registry
        self._settings = settings or ServerSettings()
        self._live: dict[str, Where] = {}
        self._dependents: dict[str, set[Where]] = defaultdict(set)
        self._suspects: set[Where] = set()
        self._wake = asyncio.Event()
        self._collector = Collector(storage, registry, writer, log, self._dependents)
        self._namespaces = NamespaceEnd(storage, writer, log)
        storage.listeners.append(self._follow)
        storage.on_restore.append(self._begin_anew)

    async def run(self, interval_seconds: float | None = None) -> None:
        """Collects in the background until cancelled.

        interval_seconds: from a cause to its collection; None: what the settings say at that moment.
        """
        while True:
            await self._wake.wait()
            seconds = self._settings.garbage_seconds if interval_seconds is None else interval_seconds
            await asyncio.sleep(seconds)
            self._wake.clear()
            self.collect()

    def collect(self) -> int:
        """Works until nothing is left to do; answers how many objects were deleted."""
        deleted = 0
        while self._suspects:
            suspects, self._suspects = self._suspects, set()
            self._collector.learn_kinds()
            deleted += sum(self._examine(where) for where in sorted(suspects))
        return deleted

    def _examine(self, where: Where) -> int:
        resource, key = where
        if resource == NAMESPACES.resource:
            stored = self._storage.table(NAMESPACES).objects.get(key)
            if stored is not None and stored.meta.deletion_timestamp:
                return self._namespaces.advance(stored)
        deleted, more = self._collector.examine(where)
        self._suspects |= more
        return deleted

    def _begin_anew(self) -> None:
        """After a restore: everything is looked at once."""
        self._live.clear()
        self._dependents.clear()
        self._suspects.clear()
        for table in self._storage.tables():
            for stored in table.objects.values():
                self._follow(Commit(table.kind, stored.version, None, stored))
                if stored.meta.owner_references:
                    self._suspects.add((table.kind.resource, stored.key))
        if self._suspects:
            self._wake.set()

    def _follow(self, commit: Commit) -> None:
        old, new = commit.old, commit.new
        stored = new or old
        if stored is None:
            return
        where = (commit.kind.resource, stored.key)
        if old is not None and old.meta.owner_references:
            self._forget_owners(where, old)
        if new is None:
            self._live.pop(stored.meta.uid, None)
            self._suspects |= self._dependents.get(stored.meta.uid, set())
            self._suspect_namespace(stored)
        else:
            self._live[stored.meta.uid] = where
            if new.meta.deletion_timestamp:
                self._suspects.add(where)
            if new.meta.owner_references:
                self._note_owners(where, new)
        if self._suspects:
            self._wake.set()

    def _forget_owners(self, where: Where, old: Stored) -> None:
        """An owner that waits for its dependents (foreground) may be free to go."""
        for owner in old.meta.owner_references or ():
            self._dependents[owner.uid].discard(where)
            if not self._dependents[owner.uid]:
                del self._dependents[owner.uid]
            if owner.uid in self._live:
                self._suspect_if_ending(self._live[owner.uid])

    def _note_owners(self, where: Where, new: Stored) -> None:
        for owner in new.meta.owner_references or ():
            self._dependents[owner.uid].add(where)
            found = self._live.get(owner.uid)
            if found is None or not self._is_at(found, owner, new.meta.namespace) or self._ending(found):
                self._suspects.add(where)

    def _is_at(self, found: Where, owner: OwnerReference, namespace: str) -> bool:
        """Whether the object with the owner's UID is where a dependent in that namespace looks for it."""
        resource, key = found
        kind = self._registry.get(resource)
        if kind is None or kind.kind != owner.kind or resource.api_version != owner.api_version:
            return False
        return key == object_key(namespace if kind.namespaced else "", owner.name)

    def _ending(self, where: Where) -> bool:
        """Whether an owner is being deleted in the foreground."""
        stored = self._collector.find(where)
        return stored is not None and bool(stored.meta.deletion_timestamp) and FOREGROUND.encode() in stored.raw

    def _suspect_if_ending(self, where: Where) -> None:
        if self._ending(where):
            self._suspects.add(where)

    def _suspect_namespace(self, gone: Stored) -> None:
        namespace = gone.meta.namespace
        found = self._storage.table(NAMESPACES).objects.get(namespace) if namespace else None
        if found is not None and found.meta.deletion_timestamp:
            self._suspects.add((NAMESPACES.resource, namespace))
