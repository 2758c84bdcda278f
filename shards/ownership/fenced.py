"""The only way for a reconcile to write: while ownership is certain, on what was read, recorded in the gate.

Design 5.6. What a request carries: the deadline of the tenure (checked with the connection in hand), UID and
resourceVersion of the snapshot as preconditions, a timeout below the remaining lease, and a User-Agent that says who.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shards.errors import AlreadyExists, ConfigError, NotFound, NotReadyYet, TerminalError
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object, ObjectName, Resource
from shards.ownership.acts import Absent, Acts, Basis, basis_of, resource_of
from shards.ownership.child import completed, mends_only, patched, replaced
from shards.ownership.degraded import mark_in
from shards.ownership.desired import merge_changes, status_changes
from shards.ownership.fence import Fence
from shards.ownership.fenced_requests import FencedRequests
from shards.ownership.overlay import Snapshot
from shards.ownership.scaling import Scaling
from shards.ownership.view import Place, View, controller_uid


class FencedClient:
    """Writes of one reconcile. A resource is given as text, such as "v1/configmaps", or parsed.

    A name is a plain name in the primary's namespace, or an ObjectName. Every method raises NotOwner when the tenure is
    over (nothing was sent), Conflict when the object is not as this reconcile read it (the next one reads it live),
    ApiError and Unreachable.
    """

    __slots__ = ("_fence", "_requests", "_turns", "_view", "acts")

    def __init__(self, fence: Fence, view: View, setbacks: int) -> None:
        self._fence = fence
        self._view = view
        self._requests = FencedRequests(fence, view, setbacks)
        self._turns: defaultdict[tuple[Resource, ObjectName], asyncio.Lock] = defaultdict(asyncio.Lock)
        """Patches of one object go one after the other: of two at a time, one would name a version that is past."""
        self.acts = Acts(self._requests)

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
        what is desired of it (servers add defaults). What lacks its slot label alone gets it, at a limited rate. Raises
        ConflictingOwner when another primary controls the object, NotReadyYet while a predecessor is being deleted.
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
        self.acts.check_controller(resource, name, current)
        if current["metadata"].get("deletionTimestamp"):
            raise NotReadyYet(f"{resource} {name} is being deleted")
        patch = merge_changes(current, body)
        if not patch or (mends_only(patch) and not self._fence.may_mend(resource)):
            return current
        return await self._patch("patch", resource, name, patch)

    async def relabel(self, places: Iterable[Place]) -> None:
        """Gives own children that were read live for this run, and lack their slot label, a new one. Raises as `patch`.

        An author who sees them may have nothing to write to them, and no view would ever tell what becomes of them.
        """
        for resource, name in places:
            if self._fence.owns(resource) and self._fence.filters_slots(resource) and self._view.shows_own():
                await self._label(resource, name, self._view.peek(resource, name))

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
        body = replaced(self._fence, self._view, resource, {**body, "metadata": metadata})
        return await self._requests.write("update", resource, name, body, method="PUT", snapshot=sent)

    async def patch(
        self, resource: str | Resource, name: str | ObjectName, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge patch (RFC 7386) of the object as this reconcile read it; what it has not read is read live first.

        A uid and a resourceVersion in the patch stand for another read of it. Raises NotFound.
        """
        resource, name = resource_of(resource), self._resolve(name)
        kept = patch if subresource else patched(self._fence, self._view, resource, name, patch)
        return await self._patch("patch", resource, name, kept, subresource)

    async def patch_status(self, status: Mapping[str, Any]) -> Object:
        """Merge patch of the primary's status; no request when nothing differs. Raises TerminalError without one.

        While destructive acts are paused, NotReadyYet where the view is older than gate.statusStaleWindowSeconds.
        """
        current = self._view.own()
        if current is None:
            raise TerminalError(f"{self._view.key} is gone: it has no status")
        acts = self.acts
        whole = self._fence.degraded.merged(status, current, paused=acts.paused, cleared=acts.done)
        return await self._patch_status("status", current, whole)

    async def mark(self, *, cleared: bool) -> None:
        """Shows in the primary's status whether acts of this run are paused. cleared: none is any more.

        No request where that shows already, and where it cannot be shown. Raises what `patch_status` raises.
        """
        view, degraded = self._view, self._fence.degraded
        current = view.own()
        if current is None:
            return
        if view.trimmed(view.primary, view.name, current["metadata"]["resourceVersion"]):
            degraded.off = "its view is trimmed: other conditions would be lost"
            return
        wanted = degraded.merged({}, current, paused=self.acts.paused, cleared=cleared)
        try:
            answer = await self._patch_status("degraded", current, wanted)
        except NotFound:
            # Of the object, or of a resource without statuses: the server answers both with the same words.
            found = await self._requests.read(view.primary, view.name, "owner", decided=Snapshot.of(current))
            if found is None or found["metadata"]["uid"] != view.key.uid:
                return
            raise
        if mark_in((answer.get("status") or {}).get("conditions")) != mark_in(wanted.get("conditions")) and wanted:
            degraded.off = "the server drops status.conditions: the resource's schema has none"

    async def _patch_status(self, reason: str, current: Object, status: Mapping[str, Any]) -> Object:
        changes = status_changes(current.get("status") or {}, status)
        if not changes:
            return current
        return await self._patch(reason, self._view.primary, self._view.name, {"status": changes}, "status")

    async def delete(
        self,
        resource: str | Resource,
        name: str | ObjectName | Object,
        *,
        propagation: str = "Background",
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        """Deletes the object that this reconcile decided on, after a live read; one that is gone already is a success.

        name: or the object itself as it was read, where the run read it more than once. reads: the other objects that
        the decision was made on; they are read live too. Raises BreakerOpen while destructive acts are paused,
        NotReadyYet when live reads are over their budget, Conflict when one of them has changed since (decide again),
        ConflictingOwner when another primary controls the object.
        """
        basis = self._basis(resource_of(resource), name)
        await self.acts.delete(basis, propagation, self._others(basis, reads))

    async def scale(
        self,
        resource: str | Resource,
        name: str | ObjectName | Object,
        replicas: int,
        *,
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        """Sets how many replicas are wanted, through the scale subresource; no request when it is that many already.

        More than before is a write as any other; fewer is a destructive act: after a live read, within budget and
        breaker, with the errors of `delete`. name, reads: as there. Raises NotFound for an object that is not there,
        ConfigError where the resource has no scale subresource, ValueError for what is no number of replicas.
        """
        resource = resource_of(resource)
        basis = self._basis(resource, name)
        async with self._turns[resource, basis.name]:
            await Scaling(self._requests, self.acts).scale(basis, replicas, self._others(basis, reads))

    def _basis(self, resource: Resource, name: str | ObjectName | Object) -> Basis:
        if isinstance(name, Mapping):
            found = basis_of(self._view, name)
            if found.resource != resource:
                raise ConfigError(str(resource), f"the object given is of {found.resource}")
            return found
        named = self._resolve(name)
        snapshot = self._view.decision(resource, named)
        body = self._view.peek(resource, named) if self._view.holds(resource) else None
        known = body is not None and Snapshot.of(body) == snapshot
        return Basis(resource, named, snapshot, body["metadata"].get("generation", 0) if body and known else 0)

    def _others(self, basis: Basis, reads: Sequence[Object | Absent]) -> list[Basis]:
        """What the act rests on besides the object itself, which is read anyway."""
        return [each for each in (basis_of(self._view, given) for given in reads) if each[:3] != basis[:3]]

    async def _patch(
        self, reason: str, resource: Resource, name: ObjectName, patch: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        if subresource == "status":
            self._fence.check_status()
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
        await self._label(resource, name, await self._requests.read(resource, name, "adopt"))

    async def _label(self, resource: Resource, name: ObjectName, found: Object | None) -> None:
        slot = slot_of(self._view.key.uid)
        if found is None or controller_uid(found) != self._view.key.uid:
            return
        if (found["metadata"].get("labels") or {}).get(SLOT_LABEL) != slot:
            await self._patch("patch", resource, name, {"metadata": {"labels": {SLOT_LABEL: slot}}})

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
