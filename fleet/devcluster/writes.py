"""Create, update, patch, apply and delete on the storage, with the rules of the real server's generic registry.

Synchronous: every function ends with at most one commit, so nothing can come between a check and its write.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster import statuses
from fleet.devcluster.crds import mark_definition_deleted
from fleet.devcluster.deleteoptions import DeleteOptions
from fleet.devcluster.deletion import ends_already, mark_deleted, settle_finalizers
from fleet.devcluster.fields.applying import Conflicts
from fleet.devcluster.fields.gaps import gaps_of, reopen
from fleet.devcluster.fields.ledger import LedgerError
from fleet.devcluster.fields.manager import APPLY, UNKNOWN, Manager
from fleet.devcluster.fields.tracking import Tracking, Types
from fleet.devcluster.preconditions import (
    check_name,
    check_namespace_serves,
    check_preconditions,
    not_corrupt,
    require_name,
    uid_conflict,
    uid_mismatch,
)
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.stamps import Stamps
from fleet.devcluster.storage import Storage, Stored, Table, object_key
from fleet.devcluster.storing import Outcome, Storing
from fleet.devcluster.strategy import (
    check_namespace,
    checked_body,
    complete_body,
    patched_body,
)
from shards.objects import Object


@dataclass(slots=True)
class Writer:
    """Applies writes. wall_seconds: seconds since 1970, for timestamps. types: the resources by version.

    Every write names its manager; its version and time are filled in here. kind: of the request's version, where that
    is not the one that is stored.
    """

    storage: Storage
    namespaces: Table
    rng: random.Random
    wall_seconds: Callable[[], float]
    types: Types = lambda resource: None
    _stamps: Stamps = field(init=False)
    _storing: Storing = field(init=False)

    def __post_init__(self) -> None:
        self._stamps = Stamps(self.rng, self.wall_seconds)
        self._storing = Storing(self.storage, self._stamps)

    def create(
        self,
        table: Table,
        namespace: str,
        body: Object,
        *,
        dry_run: bool = False,
        manager: Manager = UNKNOWN,
        kind: ResourceType | None = None,
    ) -> Outcome:
        """POST. Raises StatusError."""
        kind = kind or table.kind
        check_namespace(body["metadata"], namespace if kind.namespaced else "")
        check_namespace_serves(self.namespaces, kind, namespace, body["metadata"].get("name", ""))
        complete_body(kind, body, creating=True)
        entries = self._tracking(kind, manager).entries(None, body)
        return self._storing.insert(kind, table, body, entries, dry_run=dry_run)

    def update(
        self,
        table: Table,
        namespace: str,
        name: str,
        body: Object,
        subresource: str = "",
        *,
        dry_run: bool = False,
        manager: Manager = UNKNOWN,
        kind: ResourceType | None = None,
    ) -> Outcome:
        """PUT. Raises StatusError."""
        kind = kind or table.kind
        metadata = body["metadata"]
        require_name(metadata, name)
        check_name(metadata, name)
        check_namespace(metadata, namespace if kind.namespaced else "")
        key = object_key(namespace, name)
        stored = table.objects.get(key)
        uid = metadata.get("uid", "")
        if stored is None:
            if not kind.create_on_update or subresource:
                raise statuses.not_found(kind, name)
            if uid:
                raise uid_conflict(kind, key, name, uid, "")
            metadata.pop("resourceVersion", None)
            return self.create(table, namespace, body, dry_run=dry_run, manager=manager, kind=kind)
        if uid and uid != stored.meta.uid:
            raise uid_conflict(kind, key, name, uid, stored.meta.uid)
        return self._change(kind, table, stored, kind.decoded(stored), body, subresource, manager, dry_run)

    def patch(
        self,
        table: Table,
        namespace: str,
        name: str,
        change: Callable[[Object], Any],
        subresource: str = "",
        *,
        read: Callable[[Any], Object] | None = None,
        dry_run: bool = False,
        manager: Manager = UNKNOWN,
        kind: ResourceType | None = None,
    ) -> Outcome:
        """PATCH other than apply. Raises StatusError.

        change: makes the new object of the old one, which stays as it is. read: how that becomes a body again.
        """
        kind = kind or table.kind
        stored = table.objects.get(object_key(namespace, name))
        if stored is None:
            raise statuses.not_found(kind, name)
        old = kind.decoded(stored)
        body = read(change(old)) if read is not None else patched_body(kind, change(old))
        require_name(body["metadata"], name)
        check_name(body["metadata"], name)
        check_namespace(body["metadata"], namespace if kind.namespaced else "")
        return self._change(kind, table, stored, old, body, subresource, manager, dry_run)

    def apply(
        self,
        table: Table,
        namespace: str,
        name: str,
        wanted: Object,
        subresource: str = "",
        *,
        force: bool = False,
        dry_run: bool = False,
        manager: Manager = UNKNOWN,
        kind: ResourceType | None = None,
    ) -> Outcome:
        """PATCH of server-side apply: creates what is absent. Raises StatusError."""
        kind = kind or table.kind
        stored = table.objects.get(object_key(namespace, name))
        if stored is None and subresource:
            raise statuses.not_found(kind, name)
        old = None if stored is None else kind.decoded(stored)
        tracking = self._tracking(kind, Manager(manager.name, APPLY, manager.subresource))
        try:
            found, entries = tracking.apply(old, wanted, force=force)
        except Conflicts as conflicts:
            raise statuses.apply_conflict(conflicts.each()) from None
        except LedgerError as error:
            raise statuses.StatusError(500, "", f"failed to decode managed fields: {error}") from None
        gaps = list(gaps_of(found)) if kind.custom else []
        body = checked_body(kind, found)
        metadata = body["metadata"]
        if old is None and metadata.get("uid"):
            raise uid_mismatch(kind, name, metadata["uid"])
        check_namespace(metadata, namespace if kind.namespaced else "")
        require_name(metadata, name)
        check_name(metadata, name)
        if stored is None or old is None:
            metadata.pop("resourceVersion", None)
            check_namespace_serves(self.namespaces, kind, namespace, name)
            complete_body(kind, body, creating=True)
            return self._storing.insert(kind, table, body, entries, dry_run=dry_run)
        complete_body(kind, body, creating=False)
        reopen(body, gaps)
        return self._storing.replace(kind, table, stored, old, body, entries, subresource, dry_run=dry_run)

    def delete(
        self,
        table: Table,
        namespace: str,
        name: str,
        options: DeleteOptions,
        *,
        dry_run: bool = False,
        asked: ResourceType | None = None,
    ) -> Outcome:
        """Removes the object, or marks it as deleted while finalizers or a grace period hold it. Raises StatusError.

        asked: of the request's version, where that is not the one that is stored.
        """
        kind = table.kind
        stored = table.objects.get(object_key(namespace, name))
        if stored is None:
            raise statuses.not_found(asked or kind, name)
        if options.unsafe:
            raise not_corrupt(kind, stored)
        check_preconditions(kind, stored, options.preconditions)
        body = stored.decode()
        metadata = body["metadata"]
        if kind.defines and "deletionTimestamp" not in metadata:
            mark_definition_deleted(body, self._stamps.time())
            return Outcome(self._storing.put(table, body, dry_run=dry_run))
        if ends_already(kind, metadata, options):
            return Outcome(stored)
        holding, grace = settle_finalizers(kind, body, options)
        if holding or kind.resource.plural == "pods":
            mark_deleted(kind, body, grace, self._stamps.time(grace))
            if holding and body == stored.decode():
                return Outcome(stored)
            stored = self._storing.put(table, body, dry_run=dry_run)
        if holding:
            return Outcome(stored)
        return Outcome(stored if dry_run else self.storage.delete(table, stored.key).last, removed=True)

    # ------------------------------------------------------------------ steps of the above

    def _tracking(self, kind: ResourceType, manager: Manager) -> Tracking:
        version = kind.api_version
        # A write through scale has no time on the real server: it is written in terms of another kind.
        time = "" if manager.subresource == "scale" else self._stamps.time()
        complete = Manager(manager.name, manager.operation, manager.subresource, version, time)
        return Tracking(kind, complete, self.types)

    def _change(
        self,
        kind: ResourceType,
        table: Table,
        stored: Stored,
        old: Object,
        body: Object,
        subresource: str,
        manager: Manager,
        dry_run: bool,
    ) -> Outcome:
        complete_body(kind, body, creating=False)
        if subresource and not manager.subresource:
            manager = Manager(manager.name, manager.operation, subresource)
        entries = self._tracking(kind, manager).entries(old, body)
        return self._storing.replace(kind, table, stored, old, body, entries, subresource, dry_run=dry_run)
