"""What a reconcile is given that is an ordinary function: the same as a coroutine's, in calls that block its thread."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from shards.authoring.context import Context, LiveReads, StoreReads
from shards.objects import Object, ObjectName, Resource
from shards.ownership.acts import Absent
from shards.ownership.confirmed import Confirmed
from shards.ownership.fenced import FencedClient
from shards.ownership.listing import Listing

T = TypeVar("T")

PLAIN_SLICE = 256
"""Objects that are decoded for a plain function at a time, before the event loop goes on."""


class _Plain:
    """Runs coroutines on the event loop from a thread, and waits for them."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class PlainContext(_Plain):
    """The same for an ordinary function, which runs in a thread: every call blocks until the event loop has done it.

    store and live are offered through methods of the same names; client's are `create`, `ensure`, `update`, `patch`,
    `patch_status`, `delete` and `scale`.
    """

    __slots__ = ("_context", "client", "live", "log", "memory", "request", "store")

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._context = context
        self.request = context.request
        self.log = context.log
        self.memory = context.memory
        self.store = _PlainStore(context.store, loop)
        self.live = _PlainLive(context.live, loop)
        self.client = _PlainClient(context.client, loop)

    def confirm_absent(self, resource: str | Resource, name: str | ObjectName) -> bool:
        return self._wait(self._context.confirm_absent(resource, name))

    def confirm_lease_expired(self, namespace: str, name: str) -> bool:
        return self._wait(self._context.confirm_lease_expired(namespace, name))

    @contextmanager
    def confirmed(
        self, object: Object, *others: Object, reason: str, reads: Sequence[Object | Absent] = ()
    ) -> Iterator[Confirmed]:
        """An ordinary `with`; what is yielded may be asked from the thread."""

        async def confirmed() -> Confirmed:
            return self._context.confirmed(object, *others, reason=reason, reads=reads)

        act = self._wait(confirmed())
        self._wait(act.__aenter__())
        try:
            yield act
        except BaseException as error:
            self._wait(act.__aexit__(type(error), error, None))
            raise
        self._wait(act.__aexit__(None, None, None))


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

    def delete(
        self,
        resource: str | Resource,
        name: str | ObjectName | Object,
        *,
        propagation: str = "Background",
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        self._wait(self._client.delete(resource, name, propagation=propagation, reads=reads))

    def scale(
        self,
        resource: str | Resource,
        name: str | ObjectName | Object,
        replicas: int,
        *,
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        self._wait(self._client.scale(resource, name, replicas, reads=reads))
