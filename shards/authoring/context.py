"""What a reconcile is given: its request, reads of the shard's view, live reads, and the fenced client."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from shards.authoring.reconcile_log import ReconcileLog
from shards.errors import NotReadyYet
from shards.objects import Key, Object, ObjectName, Resource
from shards.ownership.acts import Absent, basis_of, resource_of
from shards.ownership.confirmed import Confirmed
from shards.ownership.fence import Fence
from shards.ownership.fenced import FencedClient
from shards.ownership.lease_sightings import Sign
from shards.ownership.listing import Listing
from shards.ownership.view import View
from shards.veil import Veil

T = TypeVar("T")

LEASES = Resource("coordination.k8s.io", "v1", "leases")

LATER_SECONDS = 0.01
"""A look at a Lease that comes a rounding error too early costs another one."""


class Request(msgspec.Struct, frozen=True, order=True, gc=False):
    """Which primary to reconcile. uid is part of it: a recreated object is another request."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name, self.uid)


class StoreReads:
    """Reads of this shard's view. What it does not hold may exist all the same: filters hide other shards' objects."""

    __slots__ = ("_view",)

    def __init__(self, view: View) -> None:
        self._view = view

    def get(self, resource: str | Resource | None = None, name: str | ObjectName | None = None) -> Object | None:
        """Without arguments the primary; None when it is gone, or when a successor with another UID has its name.

        With arguments an object of an owned or watched resource, by its name in the primary's namespace or by an
        ObjectName; None when it is not in this view, which is no proof of absence (`ctx.live` gives one). Every call
        returns a copy. Raises ConfigError for a resource that the controller has not declared.
        """
        if resource is None or name is None:
            return self._view.own()
        return self._view.get(resource_of(resource), _named(self._view, name))

    def get_as(
        self, type: type[T], resource: str | Resource | None = None, name: str | ObjectName | None = None
    ) -> T | None:
        """The same as the caller's own `msgspec.Struct`: its fields are decoded and checked, all others skipped.

        Raises msgspec.ValidationError, which names the field, where the object does not fit.
        """
        if resource is None or name is None:
            return self._view.own_as(type)
        return self._view.get_as(resource_of(resource), _named(self._view, name), type)

    def list(
        self,
        resource: str | Resource,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Listing:
        """The objects of this view that have all these labels, in one namespace or in all (None).

        What is missing from it may exist all the same, as with `get`. Iterate over it within one step of the event
        loop, or be prepared for objects that changed meanwhile.
        """
        return self._view.select(resource_of(resource), namespace=namespace, labels=labels)

    def find(self, resource: str | Resource, index: str, value: str) -> Listing:
        """The objects of this view that a declared index has under the value.

        `.unknown` of the result names those for which the index's function failed.
        """
        return self._view.find(resource_of(resource), index, value)

    def owned(self, resource: str | Resource) -> builtins.list[Object]:
        """The objects of that resource that the primary controls, in order of name."""
        return self._view.owned(resource_of(resource))


class LiveReads:
    """Quorum reads from the server, within the controller's budget. Raises NotReadyYet when it is exhausted."""

    __slots__ = ("_fence", "_view")

    def __init__(self, fence: Fence, view: View) -> None:
        self._fence = fence
        self._view = view

    async def get(self, resource: str | Resource, name: str | ObjectName) -> Object | None:
        """The object as it is now; None when it does not exist. Later writes of this reconcile build on it.

        The next reconcile of the key waits until its view shows as much.
        """
        resource, name = resource_of(resource), _named(self._view, name)
        found = await self._fence.read_live(self._view, resource, name, "author")
        if found is not None:
            self._fence.given(self._view, resource, name, found)
        elif (held := self._view.snapshot(resource, name)) is not None:
            self._fence.found_gone(self._view, resource, name, *held)
        return found


class Context:
    """One reconcile's world.

    store: reads of the shard's view. live: budgeted reads from the server. client: the only way to write. The methods
    here confirm what an act that cannot be taken back rests on.
    log: carries controller, key and shard. memory: what earlier runs of the key on this worker left in it. It is empty
    at first, after a restart or a move of the shard, and goes with the object: a cache, never a record.
    """

    __slots__ = (
        "_client",
        "_ended",
        "_fence",
        "_live",
        "_log",
        "_setbacks",
        "_shard",
        "_view",
        "memory",
        "request",
        "store",
    )

    def __init__(
        self, request: Request, fence: Fence, view: View, shard: str, memory: dict[str, Any] | None = None
    ) -> None:
        """shard: as logs name it. What most reconciles do not touch is made when somebody does."""
        self.request = request
        self.memory = {} if memory is None else memory
        self.store = StoreReads(view)
        self._fence = fence
        self._setbacks = fence.setbacks
        self._view = view
        self._shard = shard
        self._client: FencedClient | None = None
        self._live: LiveReads | None = None
        self._log: ReconcileLog | None = None
        self._ended = ""

    @property
    def client(self) -> FencedClient:
        if self._client is None:
            self._client = FencedClient(self._fence, self._view, self._setbacks)
            if self._ended:
                self._client.revoke(self._ended)
        return self._client

    @property
    def live(self) -> LiveReads:
        if self._live is None:
            self._live = LiveReads(self._fence, self._view)
        return self._live

    async def confirm_absent(self, resource: str | Resource, name: str | ObjectName) -> bool:
        """Whether the object does not exist, by a live read. The only proof of absence."""
        return await self.live.get(resource, name) is None

    async def confirm_lease_expired(self, namespace: str, name: str) -> bool:
        """Whether the holder of a Lease has gone, by what this worker saw and by its own clock; never by timestamps.

        True when one version of it was seen by live reads for as long as the largest leaseDurationSeconds that was ever
        seen in it; likewise for a Lease that is gone, or names no holder. False when it was renewed within that time.
        Raises NotReadyYet until then: the key runs again when the rest of the time has passed. A look costs a live
        read. ApiError and Unreachable as they come.
        """
        fence, lease = self._fence, ObjectName(namespace, name)
        asked = fence.clock()
        found = await fence.read_live(self._view, LEASES, lease, "lease")
        sign, seconds = fence.leases.look(lease, found, asked, fence.clock())
        if sign is Sign.WAIT:
            raise NotReadyYet(
                f"the Lease {lease} is watched for {seconds:.1f} s more", after_seconds=seconds + LATER_SECONDS
            )
        return sign is Sign.EXPIRED

    def confirmed(
        self, object: Object, *others: Object, reason: str, reads: Sequence[Object | Absent] = ()
    ) -> Confirmed:
        """For an act outside the API, such as a failover or the deletion of a cloud resource: `async with`.

        The block is entered when live reads have shown that the objects, and those of `reads`, are as the decision was
        made on: give them as ctx.store or ctx.live gave them, and Absent(resource, name) for what must not exist.
        reason: a constant word, for metrics, log and journal. Raises what `client.delete` raises. See `Confirmed` for
        what holds inside.
        """
        bases = [basis_of(self._view, each) for each in (object, *others, *reads)]
        return Confirmed(self.client.acts, bases, reason)

    @property
    def log(self) -> ReconcileLog:
        if self._log is None:
            key = str(self._view.key)
            extra = {"controller": self._fence.controller, "key": key, "shard": self._shard}
            self._log = ReconcileLog(extra, self.veil)
        return self._log

    def veil(self) -> Veil | None:
        """What hides the values of the Secrets that this reconcile saw or sent; None for none."""
        return self._view.secrets.veil()

    @property
    def sent_back(self) -> bool:
        """Whether an act has to be decided anew."""
        return self._client is not None and self._client.acts.sent_back

    @property
    def acts_matter(self) -> bool:
        """Whether this run did, or might show, anything that has to do with acts that are paused."""
        return self._view.own_conditions is not None or (self._client is not None and self._client.acts.tried)

    @property
    def acted(self) -> bool:
        """Whether an act went through, or found its work done."""
        return self._client is not None and self._client.acts.done

    @property
    def gone(self) -> bool:
        """Whether the primary is, as far as this run knows."""
        return not self._view.shows_own()

    @property
    def own_conditions(self) -> Any:
        """Those in the status of the primary, as this run read them."""
        return self._view.own_conditions

    @property
    def paused(self) -> str:
        """Why the breaker refused an act; "" for none."""
        return "" if self._client is None else self._client.acts.paused

    def revoke(self, why: str) -> None:
        """This reconcile may no longer write, though its shard may; whoever kept its client may not either."""
        self._ended = self._ended or why
        if self._client is not None:
            self._client.revoke(why)


def _named(view: View, name: str | ObjectName) -> ObjectName:
    return name if isinstance(name, ObjectName) else ObjectName(view.key.namespace, name)
