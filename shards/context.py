"""What a reconcile is given: its request, reads of the shard's view, live reads, and the fenced client."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from typing import Any, NamedTuple, TypeVar

from shards.fence import Fence
from shards.fenced import FencedClient, resource_of
from shards.objects import Key, Object, ObjectName, Resource
from shards.view import Listing, View

T = TypeVar("T")


PLAIN_SLICE = 256
"""Objects that are decoded for a plain function at a time, before the event loop goes on."""


class Request(NamedTuple):
    """Which primary to reconcile. uid is part of it: a recreated object is another request."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        return Key(*self)


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

    async def confirm_absent(self, resource: str | Resource, name: str | ObjectName) -> bool:
        """Whether the object does not exist, by a live read. The only proof of absence."""
        return await self.get(resource, name) is None


class Context:
    """One reconcile's world.

    store: reads of the shard's view. live: budgeted reads from the server. client: the only way to write.
    log: carries controller, key and shard. memory: what earlier runs of the key on this worker left in it. It is empty
    at first, after a restart or a move of the shard, and goes with the object: a cache, never a record.
    """

    __slots__ = ("client", "live", "log", "memory", "request", "store")

    def __init__(
        self,
        request: Request,
        fence: Fence,
        view: View,
        log: logging.LoggerAdapter[logging.Logger],
        memory: dict[str, Any] | None = None,
    ) -> None:
        self.request = request
        self.memory = {} if memory is None else memory
        self.store = StoreReads(view)
        self.live = LiveReads(fence, view)
        self.client = FencedClient(fence, view)
        self.log = log


class PlainContext:
    """The same for an ordinary function, which runs in a thread: every call blocks until the event loop has done it.

    store and live are offered through methods of the same names; client's are `create`, `ensure`, `update`, `patch`,
    `patch_status` and `delete`.
    """

    __slots__ = ("client", "live", "log", "memory", "request", "store")

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self.request = context.request
        self.log = context.log
        self.memory = context.memory
        self.store = _PlainStore(context.store, loop)
        self.live = _PlainLive(context.live, loop)
        self.client = _PlainClient(context.client, loop)


class _Plain:
    """Runs coroutines on the event loop from a thread, and waits for them."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class PlainListing(list[Object]):
    """A `Listing` in full."""

    unknown: tuple[ObjectName, ...] = ()


class _PlainStore(_Plain):
    __slots__ = ("_store",)

    def __init__(self, store: StoreReads, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._store = store

    def get(self, resource: str | Resource | None = None, name: str | ObjectName | None = None) -> Object | None:
        return self._on_loop(lambda: self._store.get(resource, name))

    def get_as(
        self, type: type[T], resource: str | Resource | None = None, name: str | ObjectName | None = None
    ) -> T | None:
        return self._on_loop(lambda: self._store.get_as(type, resource, name))

    def list(
        self,
        resource: str | Resource,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> PlainListing:
        return self._whole(lambda: self._store.list(resource, namespace=namespace, labels=labels))

    def find(self, resource: str | Resource, index: str, value: str) -> PlainListing:
        return self._whole(lambda: self._store.find(resource, index, value))

    def owned(self, resource: str | Resource) -> builtins.list[Object]:
        return self._on_loop(lambda: self._store.owned(resource))

    def _whole(self, look: Callable[[], Listing]) -> PlainListing:
        listing = self._on_loop(look)
        found = PlainListing()
        found.unknown = listing.unknown
        for begin in range(0, len(listing), PLAIN_SLICE):
            found += self._part(listing, begin)
        return found

    def _part(self, listing: Listing, begin: int) -> builtins.list[Object]:
        return self._on_loop(lambda: [*listing.part(begin, begin + PLAIN_SLICE)])

    def _on_loop(self, read: Callable[[], T]) -> T:
        async def run() -> T:
            # On the loop, because only there the store does not change in between.
            return read()

        return self._wait(run())


class _PlainLive(_Plain):
    __slots__ = ("_live",)

    def __init__(self, live: LiveReads, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._live = live

    def get(self, resource: str | Resource, name: str | ObjectName) -> Object | None:
        return self._wait(self._live.get(resource, name))

    def confirm_absent(self, resource: str | Resource, name: str | ObjectName) -> bool:
        return self._wait(self._live.confirm_absent(resource, name))


class _PlainClient(_Plain):
    __slots__ = ("_client",)

    def __init__(self, client: FencedClient, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._client = client

    def create(self, resource: str | Resource, body: Object, *, allow_generate_name: bool = False) -> Object:
        return self._wait(self._client.create(resource, body, allow_generate_name=allow_generate_name))

    def ensure(self, resource: str | Resource, desired: Object) -> Object:
        return self._wait(self._client.ensure(resource, desired))

    def update(self, resource: str | Resource, body: Object) -> Object:
        return self._wait(self._client.update(resource, body))

    def patch(
        self, resource: str | Resource, name: str | ObjectName, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        return self._wait(self._client.patch(resource, name, patch, subresource=subresource))

    def patch_status(self, status: Mapping[str, Any]) -> Object:
        return self._wait(self._client.patch_status(status))

    def delete(self, resource: str | Resource, name: str | ObjectName, *, propagation: str = "Background") -> None:
        self._wait(self._client.delete(resource, name, propagation=propagation))


class ReconcileLog(logging.LoggerAdapter[logging.Logger]):
    """Puts controller, key and shard before each message, and into the record for structured handlers."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        extra = dict(self.extra or {})
        kwargs["extra"] = {**extra, **(kwargs.get("extra") or {})}
        return f"{extra['controller']} {extra['key']} {msg}", kwargs


def _named(view: View, name: str | ObjectName) -> ObjectName:
    return name if isinstance(name, ObjectName) else ObjectName(view.key.namespace, name)
