"""The requests of one reconcile: each while ownership is certain, with a barrier in the gate before it is sent."""

from __future__ import annotations

import asyncio

import msgspec

from shards.api.client import JSON, MERGE_PATCH
from shards.errors import ApiError, Conflict, NotFound, NotOwner, NotReadyYet, TerminalError, Unreachable
from shards.gates.doomed import Doom
from shards.gates.own_writes import Barrier, OwnWrites
from shards.objects import Object, ObjectName, Resource, meta_in
from shards.ownership.fence import Fence
from shards.ownership.overlay import Snapshot
from shards.ownership.view import View, controller_uid
from shards.versions import Version

REQUEST_SECONDS = 30.0
"""Longest request; the remaining lease usually says less."""

LEASE_PART = 0.9
"""Of the remaining lease that one request may take."""


class FencedRequests:
    """Sends what the fenced client asks for, and tells the gate and the reconcile's view what came of it.

    revoked: why this reconcile may no longer write though its shard may; "" while it may. setbacks: of the fence, when
    the reconcile began.
    """

    __slots__ = ("fence", "revoked", "setbacks", "view")

    def __init__(self, fence: Fence, view: View, setbacks: int) -> None:
        self.fence = fence
        self.view = view
        self.revoked = ""
        self.setbacks = setbacks

    def deadline(self) -> float:
        """Boot-clock reading up to which this reconcile may send.

        Raises NotOwner when that is past, NotReadyYet when the history of a view went back under this reconcile.
        """
        fence = self.fence
        deadline = fence.tenure.deadline()
        if self.revoked or fence.clock() >= deadline:
            raise NotOwner(self.revoked or f"the tenure of {fence.tenure.range} is over")
        if (self.view.went_back or fence.setbacks != self.setbacks) and fence.gated():
            raise NotReadyYet("the server's history went back while this was decided")
        return deadline

    async def write(
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
        """One request, with the barrier set before it and settled by whatever comes of it.

        snapshot: None for a create. Raises TerminalError for a write to a successor of the primary, NotOwner, ApiError,
        Unreachable.
        """
        fence, view = self.fence, self.view
        self.deadline()
        # Before the barrier: what is cancelled while it waits was not sent, and leaves nothing in doubt.
        await fence.limiter.take(method)
        deadline = self.deadline()
        uid, version = snapshot or ("", "")
        if uid not in ("", view.key.uid) and (resource, name) == (view.primary, view.name):
            # The successor may be another worker's.
            raise TerminalError(f"{view.key} is gone: the object that has its name now is another one")
        view.secrets.saw(resource, body)
        path = resource.path(name.namespace, "" if method == "POST" else name.name, subresource)
        barrier = seen = None
        if method == "DELETE":
            fence.room_for_destruction(view.key)
        if resource in fence.sources:
            barrier = fence.writes.begin(view.key, resource, name, uid, version)
            seen = fence.stores[resource].version
        result = "in_doubt"
        task = asyncio.current_task()
        assert task is not None, "requests are sent from tasks"
        fence.on_the_wire.add(task)
        try:
            fence.asking()
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
            fence.refused(view.key, error)
            raise
        except Unreachable as error:
            result = "in_doubt" if error.maybe_applied else "not_sent"
            raise
        finally:
            # Also on cancellation, which leaves the write in doubt.
            fence.on_the_wire.discard(task)
            fence.count_write(reason, result)
            if barrier is not None and result != "ok":
                _settle(fence.writes, barrier, result)
        return self._took(
            barrier, resource, name, answer, deletion=method == "DELETE", subresource=subresource, seen=seen
        )

    def _took(
        self,
        barrier: Barrier | None,
        resource: Resource,
        name: ObjectName,
        answer: bytes,
        *,
        deletion: bool,
        subresource: str,
        seen: Version | None,
    ) -> Object:
        """The server carried the write out: the gate and this reconcile's view learn what the answer says.

        seen: version of the resource's view when the request was sent; None without a view.
        """
        fence, view = self.fence, self.view
        body: Object = msgspec.json.decode(answer)
        if _ends(body, deletion=deletion):
            if barrier is not None:
                fence.writes.deleted(barrier, barrier.uid, barrier.resource_version)
                view.remember(resource, name, None, barrier.resource_version)
            return body
        if barrier is None:
            return body
        metadata = body["metadata"]
        uid, version = metadata["uid"], metadata["resourceVersion"]
        if seen is not None:
            fence.compare_answer(Version(resource, version), based_on=barrier.resource_version, view=seen)
        barrier.name = name = ObjectName(metadata.get("namespace", ""), metadata["name"])
        # The answer to a subresource may lack what the filter looks at, of an object that the view has yet to show.
        delivered = fence.reached(resource, meta_in(answer)) or fence.writes.expects(view.key, resource, uid)
        # A child that the filter hides has been seen once the view is past its write; else a live read ends the wait.
        if delivered or (fence.owns(resource) and controller_uid(body) == view.key.uid):
            fence.writes.landed(barrier, uid, version)
        else:
            fence.writes.outside(barrier, uid, fence.stores[resource])
        if deletion:
            fence.doomed.begin(Doom(view.key, resource, name, uid), fence.clock())
        if subresource in ("", "status"):
            view.remember(resource, name, body, hidden=not delivered, raw=answer)
        else:
            view.wrote(resource, name, Snapshot(uid, version))
        return body

    async def read(
        self, resource: Resource, name: ObjectName, purpose: str, *, decided: Snapshot | None = None
    ) -> Object | None:
        """A live read, taken over into this reconcile's view.

        decided: what the decision that is being checked was made on; where the object turns out to be gone, the gate
        then waits for the view to show that. Raises NotReadyYet, ApiError, Unreachable.
        """
        fence, view = self.fence, self.view
        found = await fence.read_live(view, resource, name, purpose)
        if found is not None:
            fence.given(view, resource, name, found)
        elif decided is not None:
            fence.found_gone(view, resource, name, *decided)
        return found


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


def _ends(body: Object, *, deletion: bool) -> bool:
    """Whether the write has removed the object, by its answer: a deletion, or the end of what held a doomed object.

    Such an answer has the object's last version, which a view shows long before it shows the end. Finalizers, a grace
    period, and what fills a namespace hold an object.
    """
    metadata = body.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return deletion
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return not (held or (body.get("spec") or {}).get("finalizers"))
