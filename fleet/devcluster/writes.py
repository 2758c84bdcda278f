"""Create, update, patch and delete on the storage, with the rules of the real server's generic registry.

Synchronous: every function ends with at most one commit, so nothing can come between a check and its write.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fleet.devcluster import statuses
from fleet.devcluster.causes import Cause
from fleet.devcluster.deletion import DeleteOptions, check_preconditions, finalizers_after, grace_seconds
from fleet.devcluster.resources import NAMESPACES, ResourceType
from fleet.devcluster.storage import Storage, Stored, Table, encode, object_key
from fleet.devcluster.strategy import check_namespace, patched_body, prepare_create, prepare_update
from shards.objects import Object

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_PREFIX_LIMIT = 58


@dataclass(frozen=True, slots=True)
class Outcome:
    """stored: the object after the write; the last state of a removed one. created: a PUT that created."""

    stored: Stored
    created: bool = False
    removed: bool = False


@dataclass(slots=True)
class Writer:
    """Applies writes. wall_seconds: seconds since 1970, for timestamps."""

    storage: Storage
    namespaces: Table
    rng: random.Random
    wall_seconds: Callable[[], float]
    _names: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._names = random.Random(self.rng.getrandbits(64))

    def create(self, table: Table, namespace: str, body: Object, *, dry_run: bool = False) -> Outcome:
        """Raises StatusError."""
        kind, metadata = table.kind, body["metadata"]
        check_namespace(metadata, namespace if kind.namespaced else "")
        self._check_namespace_serves(kind, namespace)
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self._generated(metadata["generateName"])
        if metadata.pop("resourceVersion", ""):
            raise statuses.StatusError(500, "", "resourceVersion should not be set on objects to be created")
        prepare_create(kind, body, uid=self._uid(), timestamp=self._timestamp())
        name = metadata["name"]
        if object_key(metadata.get("namespace", ""), name) in table.objects:
            raise statuses.already_exists(kind, name)
        return Outcome(self._put(table, body, dry_run), created=True)

    def update(
        self, table: Table, namespace: str, name: str, body: Object, subresource: str = "", *, dry_run: bool = False
    ) -> Outcome:
        """PUT. Raises StatusError."""
        kind, metadata = table.kind, body["metadata"]
        _check_name(metadata, name)
        metadata["name"] = name
        check_namespace(metadata, namespace if kind.namespaced else "")
        key = object_key(namespace, name)
        stored = table.objects.get(key)
        uid = metadata.get("uid", "")
        if stored is None:
            if not kind.create_on_update or subresource:
                raise statuses.not_found(kind, name)
            if uid:
                raise _uid_conflict(kind, key, name, uid, "")
            metadata.pop("resourceVersion", None)
            return self.create(table, namespace, body, dry_run=dry_run)
        if uid and uid != stored.meta.uid:
            raise _uid_conflict(kind, key, name, uid, stored.meta.uid)
        return self._replace(table, stored, stored.decode(), body, subresource, dry_run)

    def patch(
        self,
        table: Table,
        namespace: str,
        name: str,
        change: Callable[[Object], Any],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> Outcome:
        """PATCH. change: makes the new object of a copy of the old one. Raises StatusError."""
        stored = table.objects.get(object_key(namespace, name))
        if stored is None:
            raise statuses.not_found(table.kind, name)
        old = stored.decode()
        body = patched_body(table.kind, change(stored.decode()))
        _check_name(body["metadata"], name)
        check_namespace(body["metadata"], namespace if table.kind.namespaced else "")
        return self._replace(table, stored, old, body, subresource, dry_run)

    def delete(
        self, table: Table, namespace: str, name: str, options: DeleteOptions, *, dry_run: bool = False
    ) -> Outcome:
        """Removes the object, or marks it as deleted while finalizers or a grace period hold it. Raises StatusError."""
        kind = table.kind
        stored = table.objects.get(object_key(namespace, name))
        if stored is None:
            raise statuses.not_found(kind, name)
        check_preconditions(kind, stored, options.preconditions)
        body = stored.decode()
        metadata = body["metadata"]
        if kind.resource.plural == "pods" and metadata.get("deletionGracePeriodSeconds"):
            if options.grace_period_seconds is None or options.grace_period_seconds > 0:
                return Outcome(stored)
            metadata["deletionGracePeriodSeconds"] = 0
        finalizers = finalizers_after(metadata, options)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        grace = grace_seconds(kind, body, options)
        holding = bool(finalizers) or grace > 0 or kind.resource == NAMESPACES.resource
        if holding or kind.resource.plural == "pods":
            self._mark_deleted(kind, body, grace)
            if holding and _same(body, stored):
                return Outcome(stored)
            stored = self._put(table, body, dry_run)
        if holding:
            return Outcome(stored)
        return Outcome(stored if dry_run else self.storage.delete(table, stored.key).last, removed=True)

    def _mark_deleted(self, kind: ResourceType, body: Object, grace: int) -> None:
        metadata = body["metadata"]
        if "deletionTimestamp" not in metadata:
            if metadata.get("generation"):
                metadata["generation"] += 1
            metadata["deletionTimestamp"] = self._timestamp(grace)
            if kind.resource != NAMESPACES.resource:
                metadata["deletionGracePeriodSeconds"] = grace
        if kind.resource == NAMESPACES.resource:
            body["status"] = {**body.get("status", {}), "phase": "Terminating"}

    def _replace(
        self, table: Table, stored: Stored, old: Object, body: Object, subresource: str, dry_run: bool
    ) -> Outcome:
        kind, name = table.kind, stored.meta.name
        version = body["metadata"].get("resourceVersion", "")
        if version in ("", "0"):
            if not kind.unconditional_update:
                cause = Cause(
                    "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
                )
                raise statuses.invalid(kind, name, [cause], by_plural=True)
        elif version != str(stored.version):
            raise statuses.conflict(kind, name)
        new = prepare_update(kind, body, old, subresource)
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(stored.version)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and self._may_vanish(kind, new, old):
            last = encode(kind, new, stored.version)
            if not dry_run:
                self.storage.delete(table, stored.key)
            return Outcome(last, removed=not dry_run)
        if _same(new, stored):
            return Outcome(stored)
        return Outcome(self._put(table, new, dry_run))

    @staticmethod
    def _may_vanish(kind: ResourceType, new: Object, old: Object) -> bool:
        """Whether an object that is being deleted goes with its last finalizer."""
        if kind.resource == NAMESPACES.resource:
            return not (new.get("spec") or {}).get("finalizers")
        return not old["metadata"].get("deletionGracePeriodSeconds")

    def _put(self, table: Table, body: Object, dry_run: bool) -> Stored:
        if dry_run:
            version = int(body["metadata"].get("resourceVersion") or 0)
            return encode(table.kind, body, version)
        stored = self.storage.put(table, body).new
        if stored is None:
            raise AssertionError("a put stores an object")
        return stored

    def _check_namespace_serves(self, kind: ResourceType, namespace: str) -> None:
        if not kind.namespaced:
            return
        found = self.namespaces.objects.get(namespace)
        if found is None:
            raise statuses.not_found(NAMESPACES, namespace)
        if found.meta.deletion_timestamp:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise statuses.forbidden(kind, "", why, [cause])

    def _generated(self, prefix: str) -> str:
        return prefix[:_GENERATED_PREFIX_LIMIT] + "".join(self._names.choices(_SUFFIX_ALPHABET, k=5))

    def _uid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def _timestamp(self, later_seconds: int = 0) -> str:
        moment = datetime.fromtimestamp(self.wall_seconds(), UTC) + timedelta(seconds=later_seconds)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _check_name(metadata: Object, name: str) -> None:
    if metadata.get("name", name) != name:
        raise statuses.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )


def _same(body: Object, stored: Stored) -> bool:
    """Whether a write would change nothing: the real server skips it, and the version stays."""
    return body == stored.decode()


def _uid_conflict(kind: ResourceType, key: str, name: str, wanted: str, found: str) -> statuses.StatusError:
    group = kind.resource.group
    prefix = f"/registry/{group}/{kind.resource.plural}" if kind.custom else f"/registry/{kind.resource.plural}"
    why = (
        f"StorageError: invalid object, Code: 4, Key: {prefix}/{key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return statuses.conflict(kind, name, why)
