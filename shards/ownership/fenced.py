"""The only way for a reconcile to write: while ownership is certain, on what was read, recorded in the gate.

Design 5.6. What a request carries: the deadline of the tenure (checked with the connection in hand), UID and
resourceVersion of the snapshot as preconditions, a timeout below the remaining lease, and a User-Agent that says who.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from shards.errors import (
    AlreadyExists,
    BreakerOpen,
    ConfigError,
    Conflict,
    ConflictingOwner,
    NotFound,
    NotReadyYet,
    TerminalError,
)
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object, ObjectName, Resource
from shards.ownership.child import completed
from shards.ownership.desired import merge_changes, status_changes
from shards.ownership.fence import Fence
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.view import Snapshot, View, controller_uid

REDECISIONS = 3
"""Times that a deletion is decided anew because only the version moved. Then the last live read is good enough: an
object whose status changes ten times a second must still be deletable."""


class FencedClient:
    """Writes of one reconcile. A resource is given as text, such as "v1/configmaps", or parsed.

    A name is a plain name in the primary's namespace, or an ObjectName. Every method raises NotOwner when the tenure is
    over (nothing was sent), Conflict when the object is not as this reconcile read it (the next one reads it live),
    ApiError and Unreachable.
    """

    __slots__ = ("_fence", "_requests", "_turns", "_view", "sent_back")

    def __init__(self, fence: Fence, view: View) -> None:
        self._fence = fence
        self._view = view
        self._requests = FencedRequests(fence, view)
        self._turns: defaultdict[tuple[Resource, ObjectName], asyncio.Lock] = defaultdict(asyncio.Lock)
        """Patches of one object go one after the other: of two at a time, one would name a version that is past."""
        self.sent_back = False
        """Whether a deletion has to be decided anew."""

    def revoke(self, why: str) -> None:
        """This reconcile may no longer write, though its shard may."""
        self._requests.revoked = self._requests.revoked or why

    async def create(self, resource: str | Resource, body: Object, *, allow_generate_name: bool = False) -> Object:
        """Creates the object. An owned one gets the primary as its controller, its namespace, and the slot label.

        Names must be deterministic: a create whose answer was lost may still land, and only its name makes it once.
        allow_generate_name waives that. Raises AlreadyExists, Invalid, ConfigError. An own object that lost its slot
        label gets it again before AlreadyExists is raised, so that the next reconcile sees it.
        """
        resource = resource_of(resource)
        body = await completed(self._fence, self._view, resource, body)
        metadata = body["metadata"]
        if not metadata.get("name") and not (allow_generate_name and metadata.get("generateName")):
            raise ConfigError(f"{resource}.metadata.name", "give a name that follows from the primary")
        name = ObjectName(metadata.get("namespace", ""), metadata.get("name", ""))
        try:
            return await self._post(resource, name, body)
        except AlreadyExists:
            if self._fence.owns(resource) and name.name:
                await self._unhide(resource, name)
            raise

    async def ensure(self, resource: str | Resource, desired: Object) -> Object:
        """Brings an owned object to the desired state: creates it, patches fields that differ, or does nothing.

        Fields that `desired` does not name are left alone; a list counts as equal when each of its elements contains
        what is desired of it (servers add defaults). Raises ConflictingOwner when another primary controls the object,
        NotReadyYet while a predecessor of it is being deleted.
        """
        resource = resource_of(resource)
        if not self._fence.owns(resource):
            raise ConfigError(str(resource), "ensure is for resources that the controller owns; declare it with owns()")
        body = await completed(self._fence, self._view, resource, desired)
        name = self._named(body)
        current = self._view.get(resource, name)
        if current is None:
            try:
                return await self._post(resource, name, body)
            except AlreadyExists:
                current = await self._requests.read(resource, name, "adopt")
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
        """Replaces the object. The body carries the resourceVersion that was read; raises ValueError otherwise.

        Raises TerminalError, as every write does, when the primary is meant and a successor has its name; ConfigError
        where the body was read from a trimmed view.
        """
        resource = resource_of(resource)
        name = self._named(body)
        if not body["metadata"].get("resourceVersion"):
            raise ValueError("an update needs metadata.resourceVersion: it replaces what was read, not what is there")
        if self._view.trimmed(resource, name, body["metadata"]["resourceVersion"]):
            raise ConfigError(
                str(resource), "its view is trimmed, and an update would remove the rest from the server; use patch"
            )
        snapshot = self._view.snapshot(resource, name)
        metadata = {**body["metadata"]}
        own = (resource, name) == (self._view.primary, self._view.name)
        known = self._view.key.uid if own else snapshot.uid if snapshot is not None else ""
        if known:
            metadata.setdefault("uid", known)
        sent = _preconditions(metadata)
        body = {**body, "metadata": metadata}
        return await self._requests.write("update", resource, name, body, method="PUT", snapshot=sent)

    async def patch(
        self, resource: str | Resource, name: str | ObjectName, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge patch (RFC 7386) of the object as this reconcile read it; what it has not read is read live first.

        A uid and a resourceVersion in the patch stand for another read of it. Raises NotFound.
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
        self._requests.deadline()
        fence.room_for_destruction(view.key)
        self._unless_paused(fence.live.refuse_destructive())
        decided = view.snapshot(resource, name)
        found = await self._requests.read(resource, name, "delete", decided=decided)
        if found is None:
            return
        if self._fence.owns(resource):
            self._check_controller(resource, name, found)
        live = Snapshot.of(found)
        self._decide_again(resource, name, decided, live)
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": {"uid": live.uid, "resourceVersion": live.resource_version},
        }
        self._requests.deadline()
        self._unless_paused(fence.live.admit_destructive())
        try:
            await self._requests.write("delete", resource, name, options, method="DELETE", snapshot=live)
        except NotFound:
            fence.found_gone(view, resource, name, *live)
        fence.redecided.get(view.key, {}).pop((resource, name), None)

    def _unless_paused(self, refusal: str | None) -> None:
        if refusal is not None:
            raise BreakerOpen(f"destructive acts of {self._fence.controller} are paused: {refusal}")

    def _decide_again(self, resource: Resource, name: ObjectName, decided: Snapshot | None, live: Snapshot) -> None:
        """Raises Conflict when the decision was made on another state than the live one, within REDECISIONS."""
        if decided is None or decided == live:
            return
        times = self._fence.redecided.setdefault(self._view.key, {})
        times[resource, name] = times.get((resource, name), 0) + 1
        if decided.uid == live.uid and times[resource, name] > REDECISIONS:
            return
        self.sent_back = True
        writes, key = self._fence.writes, self._view.key
        if resource in self._fence.sources and not writes.expects(key, resource, live.uid):
            writes.stale(writes.begin(key, resource, name, *decided))
        raise Conflict(409, "Conflict", f"{resource} {name} has changed since the deletion was decided")

    async def _patch(
        self, reason: str, resource: Resource, name: ObjectName, patch: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        async with self._turns[resource, name]:
            return await self._patch_in_turn(reason, resource, name, patch, subresource)

    async def _patch_in_turn(
        self, reason: str, resource: Resource, name: ObjectName, patch: Mapping[str, Any], subresource: str
    ) -> Object:
        snapshot = self._view.snapshot(resource, name)
        if snapshot is None:
            found = await self._requests.read(resource, name, "author")
            if found is None:
                raise NotFound(404, "NotFound", f"{resource} {name} does not exist")
            snapshot = Snapshot.of(found)
        metadata = {"uid": snapshot.uid, "resourceVersion": snapshot.resource_version, **(patch.get("metadata") or {})}
        body = {**patch, "metadata": metadata}
        sent = _preconditions(metadata)
        return await self._requests.write(
            reason, resource, name, body, method="PATCH", subresource=subresource, snapshot=sent
        )

    async def _post(self, resource: Resource, name: ObjectName, body: Object) -> Object:
        fence, key = self._fence, self._view.key
        child = self._fence.owns(resource) and bool(name.name)
        if child and fence.created_lately(key, (resource, name)):
            await self._confirm_primary()
        made = await self._requests.write("create", resource, name, body, method="POST", snapshot=None)
        if child:
            fence.note_created(key, (resource, name))
        return made

    async def _confirm_primary(self) -> None:
        """A child that vanishes as soon as it is made: its owner may be gone, and the garbage collector at work.

        A view that lags would have it made again and again. Raises TerminalError when the primary is gone.
        """
        view = self._view
        known = view.snapshot(view.primary, view.name)
        found = await self._requests.read(view.primary, view.name, "owner")
        if found is None or found["metadata"]["uid"] != view.key.uid:
            version = known.resource_version if known is not None and known.uid == view.key.uid else ""
            self._fence.found_gone(view, view.primary, view.name, view.key.uid, version)
            raise TerminalError(f"{view.key} is gone: nothing can be created for it")

    async def _unhide(self, resource: Resource, name: ObjectName) -> None:
        """An own child that lost its slot label is in no view: without a new one it would be created again for ever."""
        found = await self._requests.read(resource, name, "adopt")
        slot = slot_of(self._view.key.uid)
        if found is None or controller_uid(found) != self._view.key.uid:
            return
        if (found["metadata"].get("labels") or {}).get(SLOT_LABEL) != slot:
            await self._patch("patch", resource, name, {"metadata": {"labels": {SLOT_LABEL: slot}}})

    def _check_controller(self, resource: Resource, name: ObjectName, found: Object) -> None:
        uid = controller_uid(found)
        if uid != self._view.key.uid:
            whose = f"is controlled by {uid}" if uid else "has no controller"
            raise ConflictingOwner(f"{resource} {name} {whose}, not by {self._view.key} ({self._view.key.uid})")

    def _named(self, body: Object) -> ObjectName:
        metadata = body.get("metadata", {})
        if not metadata.get("name"):
            raise ConfigError("metadata.name", "missing")
        return ObjectName(metadata.get("namespace", ""), metadata["name"])

    def _resolve(self, name: str | ObjectName) -> ObjectName:
        return name if isinstance(name, ObjectName) else ObjectName(self._view.key.namespace, name)


def _preconditions(metadata: Mapping[str, Any]) -> Snapshot:
    """What the write is based on. Raises ValueError where the server would take it for "whatever is there"."""
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion")
    if not isinstance(uid, str) or not isinstance(version, str) or ("uid" in metadata and not uid):
        raise ValueError("metadata.uid and metadata.resourceVersion are those of the object that was read, or left out")
    if not version.strip("0"):
        raise ValueError(f"metadata.resourceVersion is {version!r}, which servers take for whatever is there")
    return Snapshot(uid, version)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Resource:
    return Resource.parse(text)


def resource_of(resource: str | Resource) -> Resource:
    """Raises ConfigError for text that names no resource."""
    return _parsed(resource) if isinstance(resource, str) else resource
