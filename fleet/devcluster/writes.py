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
from fleet.devcluster.deletion import check_mortal, ends_already, mark_deleted, may_vanish, settle_finalizers
from fleet.devcluster.fields.applying import Conflicts
from fleet.devcluster.fields.gaps import gaps_of, reopen
from fleet.devcluster.fields.ledger import Entries, LedgerError
from fleet.devcluster.fields.manager import APPLY, UNKNOWN, Manager
from fleet.devcluster.fields.tracking import Tracking, Types, set_entries, unchanged
from fleet.devcluster.preconditions import (
    check_name,
    check_namespace_serves,
    check_preconditions,
    check_version,
    not_corrupt,
    require_name,
    uid_conflict,
    uid_mismatch,
)
from fleet.devcluster.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType
from fleet.devcluster.stamps import Stamps
from fleet.devcluster.storage import Storage, Stored, Table, encode, object_key
from fleet.devcluster.strategy import (
    check_namespace,
    checked_body,
    complete_body,
    patched_body,
    prepare_create,
    prepare_update,
    warnings_of,
)
from shards.objects import Object


@dataclass(frozen=True, slots=True)
class Outcome:
    """stored: the object after the write; the last state of a removed one. created: a PUT that created."""

    stored: Stored
    created: bool = False
    removed: bool = False


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

    def __post_init__(self) -> None:
        self._stamps = Stamps(self.rng, self.wall_seconds)

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
        return self._insert(kind, table, body, entries, dry_run)

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
            return self._insert(kind, table, body, entries, dry_run)
        complete_body(kind, body, creating=False)
        reopen(body, gaps)
        return self._replace(kind, table, stored, old, body, entries, subresource, dry_run)

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
        check_mortal(kind, name)
        body = stored.decode()
        metadata = body["metadata"]
        if kind.resource == CUSTOM_RESOURCE_DEFINITIONS.resource and "deletionTimestamp" not in metadata:
            mark_definition_deleted(body, self._stamps.time())
            return Outcome(self._put(table, body, dry_run))
        if ends_already(kind, metadata, options):
            return Outcome(stored)
        holding, grace = settle_finalizers(kind, body, options)
        if holding or kind.resource.plural == "pods":
            mark_deleted(kind, body, grace, self._stamps.time(grace))
            if holding and body == stored.decode():
                return Outcome(stored)
            stored = self._put(table, body, dry_run)
        if holding:
            return Outcome(stored)
        return Outcome(stored if dry_run else self.storage.delete(table, stored.key).last, removed=True)

    # ------------------------------------------------------------------ steps of the above

    def _tracking(self, kind: ResourceType, manager: Manager) -> Tracking:
        version = kind.resource.api_version
        # A write through scale has no time on the real server: it is written in terms of another kind.
        time = "" if manager.subresource == "scale" else self._stamps.time()
        complete = Manager(manager.name, manager.operation, manager.subresource, version, time)
        return Tracking(kind, complete, self.types)

    def _insert(
        self, kind: ResourceType, table: Table, body: Object, entries: Entries | None, dry_run: bool
    ) -> Outcome:
        metadata = body["metadata"]
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self._stamps.name(metadata["generateName"])
        if metadata.pop("resourceVersion", ""):
            raise statuses.StatusError(500, "", "resourceVersion should not be set on objects to be created")
        asked = kind
        reshaping = kind.reshaping
        if reshaping is not None:
            kind, body = table.kind, reshaping.store(body)
            metadata = body["metadata"]
        prepare_create(kind, body, uid=self._stamps.uid(), timestamp=self._stamps.time(), asked=asked)
        name = metadata["name"]
        there = table.objects.get(object_key(metadata.get("namespace", ""), name))
        if there is not None:
            refusal = statuses.already_exists(asked, name, dying=bool(there.meta.deletion_timestamp))
            refusal.warnings = tuple(warnings_of(kind, body, None))  # the object was valid, and remarked on
            raise refusal
        if entries:
            metadata["managedFields"] = entries
        return Outcome(self._put(table, body, dry_run), created=True)

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
        return self._replace(kind, table, stored, old, body, entries, subresource, dry_run)

    def _replace(
        self,
        kind: ResourceType,
        table: Table,
        stored: Stored,
        old: Object,
        body: Object,
        entries: Entries | None,
        subresource: str,
        dry_run: bool,
    ) -> Outcome:
        check_version(kind, stored, body["metadata"].get("resourceVersion", ""))
        asked = kind
        reshaping = kind.reshaping
        if reshaping is not None:
            body, old, kind = reshaping.store(body), stored.decode(), table.kind
        new = prepare_update(kind, body, old, subresource, asked=asked)
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(stored.version)
        new["kind"], new["apiVersion"] = kind.kind, kind.resource.api_version
        set_entries(metadata, entries)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and may_vanish(kind, new, old):
            last = encode(kind, new, stored.version)
            if not dry_run:
                self.storage.delete(table, stored.key)
            return Outcome(last, removed=not dry_run)
        if unchanged(old, new):
            return Outcome(stored)
        return Outcome(self._put(table, new, dry_run))

    def _put(self, table: Table, body: Object, dry_run: bool) -> Stored:
        if table.kind.schema is not None and body.get("apiVersion") != table.kind.resource.api_version:
            table.kind.schema.complete(body)
        if dry_run:
            version = int(body["metadata"].get("resourceVersion") or 0)
            return encode(table.kind, body, version)
        stored = self.storage.put(table, body).new
        if stored is None:
            raise AssertionError("a put stores an object")
        return stored
