"""Garbage collection: dependents without owners, foreground and orphan finalizers, namespaces that end.

What the garbage collector and the namespace controller of kube-controller-manager do, on the server's own storage.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from fleet.devcluster.deletion import FOREGROUND, ORPHAN, DeleteOptions
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.resources import NAMESPACES, Registry
from fleet.devcluster.storage import Commit, Storage, Stored, Table
from fleet.devcluster.writes import Writer
from shards.objects import Object, Resource

USER_AGENT = "kube-controller-manager/embedded garbage-collector"


class Garbage:
    """Follows every commit, so that a collection looks only at what may have become garbage.

    Invariants: `_live` maps the UID of every stored object to where it is; `_dependents` maps
    an owner's UID to the objects whose owner references name it.
    """

    def __init__(self, storage: Storage, registry: Registry, writer: Writer, log: RequestLog) -> None:
        self._storage = storage
        self._registry = registry
        self._writer = writer
        self._log = log
        self._live: dict[str, tuple[Resource, str]] = {}
        self._dependents: dict[str, set[tuple[Resource, str]]] = defaultdict(set)
        self._suspects: set[tuple[Resource, str]] = set()
        self._wake = asyncio.Event()
        storage.listeners.append(self._follow)

    async def run(self, interval_seconds: float = 0.1) -> None:
        """Collects in the background until cancelled. interval_seconds: from a cause to its collection."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(interval_seconds)
            self._wake.clear()
            self.collect()

    def collect(self) -> int:
        """Works until nothing is left to do; answers how many objects were deleted."""
        deleted = 0
        while self._suspects:
            suspects, self._suspects = self._suspects, set()
            deleted += sum(self._examine(resource, key) for resource, key in sorted(suspects))
        return deleted

    def _follow(self, commit: Commit) -> None:
        stored = commit.new or commit.old
        if stored is None:
            return
        resource, uid = commit.kind.resource, stored.meta.uid
        where = (resource, stored.key)
        for owner in (commit.old.meta.owner_references or ()) if commit.old else ():
            self._dependents[owner.uid].discard(where)
            if not self._dependents[owner.uid]:
                del self._dependents[owner.uid]
        if commit.new is None:
            self._live.pop(uid, None)
            self._suspects |= self._dependents.get(uid, set())
            self._suspect_owners(commit.old)
            self._suspect_namespace(stored)
        else:
            self._live[uid] = where
            owners = commit.new.meta.owner_references or ()
            for owner in owners:
                self._dependents[owner.uid].add(where)
            if commit.new.meta.deletion_timestamp or any(owner.uid not in self._live for owner in owners):
                self._suspects.add(where)
        if self._suspects:
            self._wake.set()

    def _suspect_owners(self, old: Stored | None) -> None:
        """An owner that waits for its dependents (foreground) may be free to go."""
        for owner in (old.meta.owner_references or ()) if old else ():
            if owner.uid in self._live:
                self._suspects.add(self._live[owner.uid])

    def _suspect_namespace(self, gone: Stored) -> None:
        namespace = gone.meta.namespace
        found = self._storage.table(NAMESPACES).objects.get(namespace) if namespace else None
        if found is not None and found.meta.deletion_timestamp:
            self._suspects.add((NAMESPACES.resource, namespace))

    def _examine(self, resource: Resource, key: str) -> int:
        kind = self._registry.get(resource)
        table = self._storage.table(kind) if kind else None
        stored = table.objects.get(key) if table else None
        if table is None or stored is None:
            return 0
        if stored.meta.deletion_timestamp:
            if resource == NAMESPACES.resource:
                return self._end_namespace(table, stored)
            return self._finalize(table, stored)
        owners = stored.meta.owner_references or ()
        if owners and not any(owner.uid in self._live for owner in owners):
            return self._delete(table, stored)
        return 0

    def _finalize(self, table: Table, stored: Stored) -> int:
        """Does the work of the two garbage finalizers; answers how many objects were deleted."""
        finalizers = stored.decode()["metadata"].get("finalizers", [])
        dependents = sorted(self._dependents.get(stored.meta.uid, set()))
        deleted = 0
        if ORPHAN in finalizers:
            for resource, key in dependents:
                self._disown(resource, key, stored.meta.uid)
            deleted += self._remove_finalizer(table, stored, ORPHAN)
        elif FOREGROUND in finalizers:
            for resource, key in dependents:
                deleted += self._delete_dependent(resource, key)
            if not self._dependents.get(stored.meta.uid):
                deleted += self._remove_finalizer(table, stored, FOREGROUND)
        return deleted

    def _delete_dependent(self, resource: Resource, key: str) -> int:
        kind = self._registry.get(resource)
        found = self._storage.table(kind).objects.get(key) if kind else None
        if kind is None or found is None or found.meta.deletion_timestamp:
            return 0
        return self._delete(self._storage.table(kind), found)

    def _disown(self, resource: Resource, key: str, uid: str) -> None:
        kind = self._registry.get(resource)
        if kind is None:
            return
        table = self._storage.table(kind)
        found = table.objects.get(key)
        if found is None:
            return

        def change(body: Object) -> Object:
            owners = body["metadata"].get("ownerReferences", [])
            body["metadata"]["ownerReferences"] = [owner for owner in owners if owner["uid"] != uid]
            return body

        outcome = self._writer.patch(table, found.meta.namespace, found.meta.name, change)
        self._log.own_write("patch", table.kind, outcome, USER_AGENT)

    def _remove_finalizer(self, table: Table, stored: Stored, finalizer: str) -> int:
        def change(body: Object) -> Object:
            kept = [each for each in body["metadata"].get("finalizers", []) if each != finalizer]
            body["metadata"]["finalizers"] = kept
            return body

        outcome = self._writer.patch(table, stored.meta.namespace, stored.meta.name, change)
        self._log.own_write("patch", table.kind, outcome, USER_AGENT)
        return int(outcome.removed)

    def _end_namespace(self, namespaces: Table, namespace: Stored) -> int:
        """Deletes the content; the namespace goes with the last object."""
        name, deleted, left = namespace.meta.name, 0, 0
        for table in self._storage.tables():
            for stored in tuple(table.scan(f"{name}/")) if table.kind.namespaced else ():
                if not stored.meta.deletion_timestamp:
                    deleted += self._delete(table, stored)
            left += sum(1 for _ in table.scan(f"{name}/")) if table.kind.namespaced else 0
        if left:
            return deleted

        def change(body: Object) -> Object:
            body.get("spec", {}).pop("finalizers", None)
            return body

        outcome = self._writer.patch(namespaces, "", name, change)
        self._log.own_write("update", NAMESPACES, outcome, USER_AGENT)
        return deleted + int(outcome.removed)

    def _delete(self, table: Table, stored: Stored) -> int:
        options = DeleteOptions(propagation_policy="Background")
        outcome = self._writer.delete(table, stored.meta.namespace, stored.meta.name, options)
        self._log.own_write("delete", table.kind, outcome, USER_AGENT)
        return int(outcome.removed)
