"""What becomes of one object that may be garbage: the decisions of kube-controller-manager's garbage collector.

From kubernetes pkg/controller/garbagecollector: attemptToDeleteItem and processDeletingDependentsItem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.changes.deleteoptions import DeleteOptions, Preconditions
from fleet.devcluster.changes.deletion import FOREGROUND, ORPHAN
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.fields.manager import Manager
from fleet.devcluster.kinds.resources import Registry, ResourceType
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.storage.storage import Storage, Stored, Table, object_key
from shards.objects import Object, Resource

USER_AGENT = "kube-controller-manager/embedded garbage-collector"
MANAGER = Manager("kube-controller-manager")

Where = tuple[Resource, str]
"""Resource and key of an object."""


@dataclass(slots=True)
class _Owners:
    """UIDs of the owners that an object names, by what is known of them.

    misplaced: a cluster-scoped object names a namespaced owner, or one of an unknown kind: nothing is done then.
    """

    solid: list[str] = field(default_factory=list)
    dangling: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    misplaced: bool = False


@dataclass(slots=True)
class Collector:
    """Examines objects. dependents: by the UID of an owner, the objects whose owner references name it."""

    storage: Storage
    registry: Registry
    writer: Writer
    log: RequestLog
    dependents: Mapping[str, set[Where]]
    _kinds: dict[tuple[str, str], ResourceType] = field(default_factory=dict)

    def learn_kinds(self) -> None:
        """Follows the registry. To be called before a round."""
        self._kinds = {(each.resource.api_version, each.kind): each for each in self.registry}

    def find(self, where: Where) -> Stored | None:
        table = self._table(where[0])
        return table.objects.get(where[1]) if table else None

    def examine(self, where: Where) -> tuple[int, set[Where]]:
        """How many objects it deleted, and which ones are to be examined next."""
        table = self._table(where[0])
        stored = table.objects.get(where[1]) if table else None
        if table is None or stored is None:
            return 0, set()
        if stored.meta.deletion_timestamp:
            return self._finalize(table, stored)
        if not stored.meta.owner_references:
            return 0, set()
        return self._judge(table, stored), set()

    def _table(self, resource: Resource) -> Table | None:
        kind = self.registry.get(resource)
        return self.storage.table(kind) if kind else None

    # ------------------------------------------------------------------ objects with owners

    def _judge(self, table: Table, stored: Stored) -> int:
        owners = self._owners(stored)
        if owners.misplaced:
            return 0
        if owners.solid:
            if owners.dangling or owners.waiting:
                self._disown(table, stored, [*owners.dangling, *owners.waiting])
            return 0
        if owners.waiting and self.dependents.get(stored.meta.uid):
            if any(self._is_ending(self.find(each)) for each in self.dependents[stored.meta.uid]):
                self._unblock(table, stored)
            return self._delete(table, stored, "Foreground")
        finalizers = _finalizers(stored)
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        return self._delete(table, stored, policy)

    def _owners(self, stored: Stored) -> _Owners:
        found = _Owners()
        for reference in stored.meta.owner_references or ():
            kind = self._kinds.get((reference.api_version, reference.kind))
            if kind is None or (kind.namespaced and not stored.meta.namespace):
                found.misplaced = True
                continue
            key = object_key(stored.meta.namespace if kind.namespaced else "", reference.name)
            owner = self.storage.table(kind).objects.get(key)
            if owner is None or owner.meta.uid != reference.uid:
                found.dangling.append(reference.uid)
            elif self._is_ending(owner):
                found.waiting.append(reference.uid)
            else:
                found.solid.append(reference.uid)
        return found

    @staticmethod
    def _is_ending(stored: Stored | None) -> bool:
        """Whether it is being deleted in the foreground: it waits for its dependents."""
        return stored is not None and bool(stored.meta.deletion_timestamp) and FOREGROUND in _finalizers(stored)

    # ------------------------------------------------------------------ objects that are being deleted

    def _finalize(self, table: Table, stored: Stored) -> tuple[int, set[Where]]:
        finalizers = _finalizers(stored)
        uid = stored.meta.uid
        dependents = sorted(self.dependents.get(uid, set()))
        if ORPHAN in finalizers:
            for where in dependents:
                self._disown_at(where, uid)
            return self._remove_finalizer(table, stored, ORPHAN), set()
        if FOREGROUND not in finalizers:
            return 0, set()
        if any(self._blocks(where, uid) for where in dependents):
            return 0, {where for where in dependents if not self._is_ending(self.find(where))}
        return self._remove_finalizer(table, stored, FOREGROUND), set(dependents)

    def _blocks(self, where: Where, uid: str) -> bool:
        """Whether a dependent holds the owner with that UID."""
        found = self.find(where)
        owners = found.decode()["metadata"].get("ownerReferences") or [] if found else []
        return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)

    # ------------------------------------------------------------------ writes

    def _disown_at(self, where: Where, uid: str) -> None:
        table, found = self._table(where[0]), self.find(where)
        if table is not None and found is not None:
            self._disown(table, found, [uid])

    def _disown(self, table: Table, stored: Stored, uids: list[str]) -> None:
        def kept(owners: list[Object]) -> list[Object]:
            return [owner for owner in owners if owner["uid"] not in uids]

        self._patch(table, stored, "ownerReferences", kept)

    def _unblock(self, table: Table, stored: Stored) -> None:
        """Breaks a circle of owners that wait for each other."""

        def free(owners: list[Object]) -> list[Object]:
            return [
                owner | {"blockOwnerDeletion": False} if "blockOwnerDeletion" in owner else owner for owner in owners
            ]

        self._patch(table, stored, "ownerReferences", free)

    def _remove_finalizer(self, table: Table, stored: Stored, finalizer: str) -> int:
        return self._patch(table, stored, "finalizers", lambda found: [each for each in found if each != finalizer])

    def _patch(self, table: Table, stored: Stored, name: str, change: Callable[[list[Any]], list[Any]]) -> int:
        """Changes a list in the metadata; one that becomes empty goes. Answers 1 where that removed the object."""

        def changed(body: Object) -> Object:
            metadata = {**body["metadata"], name: change(body["metadata"].get(name) or [])}
            if not metadata[name]:
                del metadata[name]
            return {**body, "metadata": metadata}

        outcome = self.writer.patch(table, stored.meta.namespace, stored.meta.name, changed, manager=MANAGER)
        self.log.own_write("patch", table.kind, outcome, USER_AGENT)
        return int(outcome.removed)

    def _delete(self, table: Table, stored: Stored, policy: str) -> int:
        options = DeleteOptions(propagation_policy=policy, preconditions=Preconditions(uid=stored.meta.uid))
        outcome = self.writer.delete(table, stored.meta.namespace, stored.meta.name, options)
        self.log.own_write("delete", table.kind, outcome, USER_AGENT)
        return int(outcome.removed)


def _finalizers(stored: Stored) -> list[str]:
    found: list[str] = stored.decode()["metadata"].get("finalizers") or []
    return found
