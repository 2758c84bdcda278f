"""Create, update, patch, apply and delete on the storage, with the rules of the real server's generic registry.

Synchronous: every function ends with at most one commit, so nothing can come between a check and its write.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fleet.devcluster.changes.deleteoptions import DeleteOptions
from fleet.devcluster.changes.deletion import check_mortal, ends_already, mark_deleted, settle_finalizers
from fleet.devcluster.changes.preconditions import (
    check_name,
    check_namespace_serves,
    check_preconditions,
    not_corrupt,
    require_name,
    uid_conflict,
    uid_mismatch,
)
from fleet.devcluster.changes.stamps import Stamps
from fleet.devcluster.changes.storing import Storing
from fleet.devcluster.changes.strategy import (
    check_namespace,
    checked_body,
    complete_body,
    patched_body,
)
from fleet.devcluster.definitions.crds import mark_definition_deleted
from fleet.devcluster.fields.gaps import gaps_of, has_blanks, reopen
from fleet.devcluster.fields.ledger import Entries, LedgerError
from fleet.devcluster.fields.manager import APPLY, UNKNOWN, Manager
from fleet.devcluster.fields.tracking import Tracking, Types
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.storage.outcome import Outcome
from fleet.devcluster.storage.storage import Storage, Stored, Table, encode, object_key
from fleet.devcluster.wire import patchstatuses, statuses
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
            version = metadata.pop("resourceVersion", "")
            outcome = self.create(table, namespace, body, dry_run=dry_run, manager=manager, kind=kind)
            return _as_sent(table.kind, outcome, version) if dry_run and version else outcome
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
        """PATCH of server-side apply: creates what is absent. Raises StatusError, and Conflicts, which callers word."""
        kind = kind or table.kind
        stored = table.objects.get(object_key(namespace, name))
        if stored is None and subresource:
            raise statuses.not_found(kind, name)
        old = None if stored is None else kind.decoded(stored)
        tracking = self._tracking(kind, Manager(manager.name, APPLY, manager.subresource))
        try:
            found, entries = tracking.apply(old, wanted, force=force)
        except LedgerError as error:
            raise statuses.StatusError(500, "", f"failed to decode managed fields: {error}") from None
        gaps = gaps_of(found) if kind.custom else []
        blanks = kind.custom and not subresource and has_blanks(found["metadata"])
        body = self._read_applied(kind, found, wanted)
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
            reopen(body, gaps)
            return self._storing.insert(kind, table, body, entries, dry_run=dry_run, blanks=blanks)
        complete_body(kind, body, creating=False)
        reopen(body, gaps)
        return self._storing.replace(
            kind, table, stored, old, body, entries, subresource, dry_run=dry_run, blanks=blanks
        )

    def scale(
        self, kind: ResourceType, table: Table, stored: Stored, body: Object, entries: Entries, *, dry_run: bool
    ) -> Outcome:
        """An update of the number that a scale shows. entries: of managedFields. Raises StatusError."""
        complete_body(kind, body, creating=False)
        return self._storing.replace(kind, table, stored, kind.decoded(stored), body, entries, "scale", dry_run=dry_run)

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
        if not dry_run:
            self._storing.blanks.discard(stored.meta.uid)
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

    def stamped(self, manager: Manager, kind: ResourceType) -> Manager:
        """The manager of a write of this kind at this moment."""
        version, time = kind.api_version, self._stamps.time()
        return Manager(manager.name, manager.operation, manager.subresource, version, time)

    def _tracking(self, kind: ResourceType, manager: Manager) -> Tracking:
        return Tracking(kind, self.stamped(manager, kind), self.types)

    @staticmethod
    def _read_applied(kind: ResourceType, found: Object, wanted: Object) -> Object:
        try:
            return checked_body(kind, found)
        except statuses.StatusError as error:
            if kind.custom or error.code != 400:
                raise
            why = error.message.partition(f" cannot be handled as a {kind.kind}: ")[2]
            raise patchstatuses.unconverted(kind, wanted["metadata"], why) from None

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


def _as_sent(kind: ResourceType, outcome: Outcome, version: str) -> Outcome:
    """Under the version that the client sent: a dry run stores nothing that would have another."""
    return msgspec.structs.replace(outcome, stored=encode(kind, outcome.stored.decode(), int(version)))
