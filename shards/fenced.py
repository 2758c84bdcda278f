"""The only way for a reconcile to write: while ownership is certain, on what was read, recorded in the gate.

Design 5.6. What a request carries: the deadline of the tenure (checked with the connection in hand), UID and
resourceVersion of the snapshot as preconditions, a timeout below the remaining lease, and a User-Agent that says who.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from shards.client import JSON, MERGE_PATCH, Transport
from shards.clock import Clock
from shards.desired import merge_changes, status_changes
from shards.errors import (
    AlreadyExists,
    ApiError,
    BreakerOpen,
    ConfigError,
    Conflict,
    ConflictingOwner,
    NotFound,
    NotOwner,
    NotReadyYet,
    TerminalError,
    Unreachable,
)
from shards.gate import Barrier, OwnWrites
from shards.keyrange import slot_of
from shards.live import LiveReader
from shards.metrics import ShardMetrics
from shards.objects import SLOT_LABEL, Key, Object, ObjectName, Resource, newest
from shards.source import Source
from shards.tenure import Tenure
from shards.useragent import UserAgent
from shards.view import Place, Snapshot, View, Views, controller_uid, meta_of

REQUEST_SECONDS = 30.0
"""Longest request; the remaining lease usually says less."""

LEASE_PART = 0.9
"""Of the remaining lease that one request may take."""

REDECISIONS = 3
"""Times that a deletion is decided anew because only the version moved. Then the last live read is good enough: an
object whose status changes ten times a second must still be deletable."""


@dataclass(slots=True)
class Fence:
    """What all writes of one controller in one shard have in common, for one tenure.

    sources: the controller's views, by resource. highest: per resource, the highest version of an object of the range
    that a write or a live read returned (for the watermark). redecided: how often a deletion was decided anew.
    """

    transport: Transport
    tenure: Tenure
    clock: Clock
    metrics: ShardMetrics
    controller: str
    product: str
    stores: Views
    sources: Mapping[Resource, Source]
    live: LiveReader
    writes: OwnWrites = field(default_factory=OwnWrites)
    kinds: dict[Resource, str] = field(default_factory=dict)
    highest: dict[Resource, str] = field(default_factory=dict)
    redecided: dict[Key, dict[Place, int]] = field(default_factory=dict)

    def user_agent(self, view: View, resource: Resource, reason: str) -> str:
        key = view.key
        return str(
            UserAgent(
                product=self.product,
                member=self.tenure.member,
                epoch=str(self.tenure.member_epoch),
                range=str(self.tenure.range),
                key=str(key),
                uid=key.uid,
                cache=view.version(resource),
                reason=reason,
            )
        )

    def reached(self, resource: Resource, body: Object) -> bool:
        """Notes the version of an object that came in an answer. Whether this shard's informers deliver it."""
        source = self.sources.get(resource)
        if source is None:
            return False
        meta = meta_of(body)
        # A Scale carries its parent's identity but not its labels or owners, hence the second question.
        if not source.admits(meta) and self.stores[resource].name_of(meta.uid) is None:
            return False
        self.highest[resource] = newest(self.highest.get(resource, ""), meta.resource_version)
        return True

    async def kind_of(self, resource: Resource) -> str:
        """`kind` of the resource's objects, from discovery; asked once. Raises ConfigError when the server has none."""
        kind = self.kinds.get(resource)
        if kind is None:
            path = resource.path().removesuffix(f"/{resource.plural}")
            found = msgspec.json.decode(await self.transport.request("GET", path))
            kind = next((each["kind"] for each in found["resources"] if each["name"] == resource.plural), "")
            if not kind:
                raise ConfigError(str(resource), "the server has no such resource")
            self.kinds[resource] = kind
        return kind


class FencedClient:
    """Writes of one reconcile. A resource is given as text, such as "v1/configmaps", or parsed.

    A name is a plain name in the primary's namespace, or an ObjectName. Every method raises NotOwner when the tenure is
    over (nothing was sent), Conflict when the object is not as this reconcile read it (the next one reads it live),
    ApiError and Unreachable.
    """

    __slots__ = ("_fence", "_view", "revoked")

    def __init__(self, fence: Fence, view: View) -> None:
        self._fence = fence
        self._view = view
        self.revoked = ""
        """Why this reconcile may no longer write though its shard may; "" while it may."""

    async def create(self, resource: str | Resource, body: Object, *, allow_generate_name: bool = False) -> Object:
        """Creates the object. An owned one gets the primary as its controller, its namespace, and the slot label.

        Names must be deterministic: a create whose answer was lost may still land, and only its name makes it once.
        allow_generate_name waives that. Raises AlreadyExists, Invalid, ConfigError.
        """
        resource = resource_of(resource)
        body = await self._complete(resource, body)
        metadata = body["metadata"]
        if not metadata.get("name") and not (allow_generate_name and metadata.get("generateName")):
            raise ConfigError(f"{resource}.metadata.name", "give a name that follows from the primary")
        name = ObjectName(metadata.get("namespace", ""), metadata.get("name", ""))
        return await self._write("create", resource, name, body, method="POST", snapshot=None)

    async def ensure(self, resource: str | Resource, desired: Object) -> Object:
        """Brings an owned object to the desired state: creates it, patches fields that differ, or does nothing.

        Fields that `desired` does not name are left alone; a list counts as equal when each of its elements contains
        what is desired of it (servers add defaults). Raises ConflictingOwner when another primary controls the object,
        NotReadyYet while a predecessor of it is being deleted.
        """
        resource = resource_of(resource)
        if not self._owns(resource):
            raise ConfigError(str(resource), "ensure is for resources that the controller owns; declare it with owns()")
        body = await self._complete(resource, desired)
        name = self._named(body)
        current = self._view.get(resource, name)
        if current is None:
            try:
                return await self._write("create", resource, name, body, method="POST", snapshot=None)
            except AlreadyExists:
                current = await self._read(resource, name, "adopt")
                if current is None:
                    raise
        self._check_controller(resource, name, current)
        if current["metadata"].get("deletionTimestamp"):
            raise NotReadyYet(f"{resource} {name} is being deleted")
        patch = merge_changes(current, body)
        if not patch:
            return current
        return await self._patch("patch", resource, name, patch)

    async def update(self, resource: str | Resource, body: Object) -> Object:
        """Replaces the object. The body carries the resourceVersion that was read; raises ValueError otherwise."""
        resource = resource_of(resource)
        name = self._named(body)
        if not body["metadata"].get("resourceVersion"):
            raise ValueError("an update needs metadata.resourceVersion: it replaces what was read, not what is there")
        snapshot = self._view.snapshot(resource, name)
        metadata = {**body["metadata"]}
        if snapshot is not None:
            metadata.setdefault("uid", snapshot.uid)
        sent = Snapshot(metadata.get("uid", ""), metadata["resourceVersion"])
        return await self._write("update", resource, name, {**body, "metadata": metadata}, method="PUT", snapshot=sent)

    async def patch(
        self, resource: str | Resource, name: str | ObjectName, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge patch (RFC 7386) of the object as this reconcile read it; what it has not read is read live first.

        Raises NotFound.
        """
        return await self._patch("patch", resource_of(resource), self._resolve(name), patch, subresource)

    async def patch_status(self, status: Mapping[str, Any]) -> Object:
        """Merge patch of the primary's status; no request when nothing differs. Raises TerminalError without one."""
        view = self._view
        current = view.own()
        if current is None:
            raise TerminalError(f"{view.key} is gone: it has no status")
        changes = status_changes(current.get("status") or {}, status)
        if not changes:
            return current
        return await self._patch("status", view.primary, view.name, {"status": changes}, "status")

    async def delete(
        self, resource: str | Resource, name: str | ObjectName, *, propagation: str = "Background"
    ) -> None:
        """Deletes the object that this reconcile decided on, after a live read; one that is gone already is a success.

        Raises BreakerOpen while destructive acts are paused, NotReadyYet when live reads are over their budget,
        Conflict when the object has changed since (decide again), ConflictingOwner when another primary controls it.
        """
        resource, name = resource_of(resource), self._resolve(name)
        fence, view = self._fence, self._view
        self._deadline()
        refusal = fence.live.admit_destructive()
        if refusal is not None:
            raise BreakerOpen(f"destructive acts of {fence.controller} are paused: {refusal}")
        decided = view.snapshot(resource, name)
        found = await self._read(resource, name, "delete", keep_snapshot=decided)
        if found is None:
            return
        if self._owns(resource):
            self._check_controller(resource, name, found)
        live = Snapshot(found["metadata"]["uid"], found["metadata"]["resourceVersion"])
        self._decide_again(resource, name, decided, live)
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": {"uid": live.uid, "resourceVersion": live.resource_version},
        }
        try:
            await self._write("delete", resource, name, options, method="DELETE", snapshot=live)
        except NotFound:
            self._found_gone(resource, name, live)
        fence.redecided.pop(view.key, None)

    def _decide_again(self, resource: Resource, name: ObjectName, decided: Snapshot | None, live: Snapshot) -> None:
        """Raises Conflict when the decision was made on another state than the live one, within REDECISIONS."""
        if decided is None or decided == live:
            return
        times = self._fence.redecided.setdefault(self._view.key, {})
        times[resource, name] = times.get((resource, name), 0) + 1
        if decided.uid == live.uid and times[resource, name] > REDECISIONS:
            return
        if resource in self._fence.sources:
            writes = self._fence.writes
            writes.stale(writes.begin(self._view.key, resource, name, decided.uid, decided.resource_version))
        raise Conflict(409, "Conflict", f"{resource} {name} has changed since the deletion was decided")

    async def _patch(
        self, reason: str, resource: Resource, name: ObjectName, patch: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        snapshot = self._view.snapshot(resource, name)
        if snapshot is None:
            found = await self._read(resource, name, "author")
            if found is None:
                raise NotFound(404, "NotFound", f"{resource} {name} does not exist")
            snapshot = Snapshot(found["metadata"]["uid"], found["metadata"]["resourceVersion"])
        metadata = {"uid": snapshot.uid, "resourceVersion": snapshot.resource_version, **patch.get("metadata", {})}
        body = {**patch, "metadata": metadata}
        return await self._write(
            reason, resource, name, body, method="PATCH", subresource=subresource, snapshot=snapshot
        )

    async def _write(
        self,
        reason: str,
        resource: Resource,
        name: ObjectName,
        body: Object,
        *,
        method: str,
        snapshot: Snapshot | None,
        subresource: str = "",
    ) -> Object:
        """One request, with the barrier set before it and settled by whatever comes of it."""
        fence, view = self._fence, self._view
        deadline = self._deadline()
        uid, version = snapshot or ("", "")
        path = resource.path(name.namespace, "" if method == "POST" else name.name, subresource)
        barrier = None
        if resource in fence.sources:
            barrier = fence.writes.begin(view.key, resource, name, uid, version)
        result = "in_doubt"
        try:
            answer = await fence.transport.request(
                method,
                path,
                body=msgspec.json.encode(body),
                content_type=MERGE_PATCH if method == "PATCH" else JSON,
                user_agent=fence.user_agent(view, resource, reason),
                timeout_seconds=min(REQUEST_SECONDS, (deadline - fence.clock()) * LEASE_PART),
                not_after=deadline,
            )
            result = "ok"
        except NotOwner:
            result = "not_sent"
            raise
        except ApiError as error:
            result = _outcome(error, snapshot)
            raise
        except Unreachable as error:
            result = "in_doubt" if error.maybe_applied else "not_sent"
            raise
        finally:
            # Also on cancellation, which leaves the write in doubt.
            fence.metrics.writes.labels(fence.controller, reason, result).inc()
            if barrier is not None and result != "ok":
                _settle(fence.writes, barrier, result)
        return self._took(barrier, resource, name, answer, deletion=method == "DELETE", subresource=subresource)

    def _took(
        self,
        barrier: Barrier | None,
        resource: Resource,
        name: ObjectName,
        answer: bytes,
        *,
        deletion: bool,
        subresource: str,
    ) -> Object:
        """The server carried the write out: the gate and this reconcile's view learn what the answer says."""
        fence, view = self._fence, self._view
        body: Object = msgspec.json.decode(answer)
        if deletion and not _lingers(body):
            version = barrier.resource_version if barrier is not None else ""
            if barrier is not None:
                fence.writes.deleted(barrier, barrier.uid, version)
                view.remember(resource, name, None, version)
            return body
        if barrier is None:
            return body
        metadata = body["metadata"]
        barrier.name = name = ObjectName(metadata.get("namespace", ""), metadata["name"])
        if fence.reached(resource, body):
            fence.writes.landed(barrier, metadata["uid"], metadata["resourceVersion"])
        else:
            fence.writes.failed(barrier)
        if subresource in ("", "status"):
            view.remember(resource, name, body)
        else:
            view.wrote(resource, name, Snapshot(metadata["uid"], metadata["resourceVersion"]))
        return body

    async def _read(
        self, resource: Resource, name: ObjectName, purpose: str, *, keep_snapshot: Snapshot | None = None
    ) -> Object | None:
        """A live read, taken over into this reconcile's view.

        keep_snapshot: of the decision that is being checked; where the object turns out to be gone, the gate then waits
        for the view to show that.
        """
        fence, view = self._fence, self._view
        agent = fence.user_agent(view, resource, purpose)
        found = await fence.live.get(resource, name, purpose=purpose, user_agent=agent)
        if resource not in fence.sources:
            return found
        if found is not None:
            fence.reached(resource, found)
            view.remember(resource, name, found)
        elif keep_snapshot is not None:
            self._found_gone(resource, name, keep_snapshot)
        return found

    def _found_gone(self, resource: Resource, name: ObjectName, last: Snapshot) -> None:
        """The server says that the object is gone: the key waits until its view says so too."""
        if resource in self._fence.sources:
            writes = self._fence.writes
            barrier = writes.begin(self._view.key, resource, name, last.uid, last.resource_version)
            writes.deleted(barrier, last.uid, last.resource_version)
            self._view.remember(resource, name, None, last.resource_version)

    def _deadline(self) -> float:
        """Boot-clock reading up to which this reconcile may send. Raises NotOwner when that is past."""
        fence = self._fence
        deadline = fence.tenure.deadline()
        if self.revoked or fence.clock() >= deadline:
            raise NotOwner(self.revoked or f"the tenure of {fence.tenure.range} is over")
        return deadline

    def _owns(self, resource: Resource) -> bool:
        source = self._fence.sources.get(resource)
        return source is not None and source.role == "owned"

    def _check_controller(self, resource: Resource, name: ObjectName, found: Object) -> None:
        uid = controller_uid(found)
        if uid != self._view.key.uid:
            whose = f"is controlled by {uid}" if uid else "has no controller"
            raise ConflictingOwner(f"{resource} {name} {whose}, not by {self._view.key} ({self._view.key.uid})")

    async def _complete(self, resource: Resource, desired: Object) -> Object:
        """The body with what the framework fills in. The caller's object is left as it is."""
        metadata = {**desired.get("metadata", {})}
        body = {"apiVersion": resource.api_version, **desired, "metadata": metadata}
        if "kind" not in body:
            body["kind"] = await self._fence.kind_of(resource)
        if not self._owns(resource):
            return body
        view, key = self._view, self._view.key
        primary = view.own()
        if primary is None:
            raise TerminalError(f"{key} is gone: nothing can be created for it")
        if key.namespace and metadata.setdefault("namespace", key.namespace) != key.namespace:
            raise ConfigError(f"{resource}.metadata.namespace", f"must be {key.namespace}, where its owner is")
        metadata["labels"] = {**(metadata.get("labels") or {}), SLOT_LABEL: slot_of(key.uid)}
        owners = [each for each in metadata.get("ownerReferences") or () if each.get("uid") != key.uid]
        if any(each.get("controller") for each in owners):
            raise ConfigError(f"{resource}.metadata.ownerReferences", "the controller is filled in by the framework")
        reference = {
            "apiVersion": view.primary.api_version,
            "kind": primary.get("kind") or await self._fence.kind_of(view.primary),
            "name": key.name,
            "uid": key.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata["ownerReferences"] = [*owners, reference]
        return body

    def _named(self, body: Object) -> ObjectName:
        metadata = body.get("metadata", {})
        if not metadata.get("name"):
            raise ConfigError("metadata.name", "missing")
        return ObjectName(metadata.get("namespace", ""), metadata["name"])

    def _resolve(self, name: str | ObjectName) -> ObjectName:
        return name if isinstance(name, ObjectName) else ObjectName(self._view.key.namespace, name)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Resource:
    return Resource.parse(text)


def resource_of(resource: str | Resource) -> Resource:
    """Raises ConfigError for text that names no resource."""
    return _parsed(resource) if isinstance(resource, str) else resource


def _outcome(error: ApiError, snapshot: Snapshot | None) -> str:
    """What a failure answer says about the write. A 5xx may come from a proxy, after the server carried it out."""
    if error.status >= 500:
        return "in_doubt"
    stale = isinstance(error, Conflict) or (isinstance(error, NotFound) and snapshot is not None)
    return "conflict" if stale else "refused"


def _settle(writes: OwnWrites, barrier: Barrier, result: str) -> None:
    if result == "in_doubt":
        writes.in_doubt(barrier)
    elif result == "conflict":
        writes.stale(barrier)
    else:
        writes.failed(barrier)


def _lingers(body: Object) -> bool:
    """Whether the answer to a deletion is an object that stays for now: finalizers or a grace period hold it."""
    metadata = body.get("metadata") or {}
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp") and held)
