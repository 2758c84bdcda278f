"""The runtime as it is, and a stand-in for one without its protections against stale views, for the same reconciles.

The stand-in is what controllers elsewhere have by default: views that may begin with any replica's cache, no wait for
own writes nor for what a predecessor saw, deletions and scaling by name. Everything else stays: queues, level-triggered
keys, names that follow from the primary, preconditions of updates and patches, owner checks of `ensure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

from shards.errors import NotFound
from shards.objects import Object, ObjectName, Resource
from shards.ownership.acts import Absent, resource_of
from shards.ownership.fence import Fence
from shards.ownership.fenced import FencedClient
from shards.ownership.view import View
from shards.settings import GateSettings, ShardSettings
from shards.watching.listing import Listing
from shards.watching.watch_requests import ListPage

GATES = "gates"
"""Feature gate VersionGate: a key waits for its own writes, a new owner for its predecessor's view or a list."""
LISTS = "lists"
"""The first list of a view is consistent. Without: resourceVersion=0, as in client-go."""
ACTS = "acts"
"""A deletion, and a scale-down, is sent after live reads of what it was decided on, with UID and version as
preconditions; what is not as it was is decided again on live reads, of the primary as well. And a child is made only
for an owner that is there: in the view, and of a child that was made lately, live. Without: by name, unconditionally,
for whomever."""

WITH = frozenset({GATES, LISTS, ACTS})
"""The product as it is."""
WITHOUT: frozenset[str] = frozenset()


def settings_of(protections: frozenset[str]) -> ShardSettings:
    return ShardSettings(gate=GateSettings(enabled=GATES in protections))


@contextmanager
def runtime_of(protections: frozenset[str]) -> Iterator[ShardSettings]:
    """The settings to run with, while the product has these protections and no others."""
    with pytest.MonkeyPatch.context() as patch:
        if LISTS not in protections:
            _lists_from_any_cache(patch)
        if ACTS not in protections:
            _acts_by_name(patch)
        yield settings_of(protections)


def _lists_from_any_cache(patch: pytest.MonkeyPatch) -> None:
    """client-go's reflector: the first list of a process takes whatever a server's cache holds; later ones do not go
    back behind it."""
    asked, completed = Listing.next_page, Listing.complete
    begun: set[int] = set()
    kept: list[Listing] = []

    def next_page(self: Listing) -> ListPage:
        page = asked(self)
        if id(self) in begun or not page.first:
            return page
        return ListPage((*page.query, ("resourceVersion", "0")), first=True)

    def complete(self: Listing, version: str) -> str:
        begun.add(id(self))
        kept.append(self)  # so that no other one gets its id
        return completed(self, version)

    patch.setattr(Listing, "next_page", next_page)
    patch.setattr(Listing, "complete", complete)


def _acts_by_name(patch: pytest.MonkeyPatch) -> None:
    async def delete(
        self: FencedClient,
        resource: str | Resource,
        name: str | ObjectName | Object,
        *,
        propagation: str = "Background",
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        basis = self._basis(resource_of(resource), name)
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        with suppress(NotFound):
            await self._requests.write(
                "delete", basis.resource, basis.name, options, method="DELETE", snapshot=basis.snapshot
            )

    async def scale(
        self: FencedClient,
        resource: str | Resource,
        name: str | ObjectName | Object,
        replicas: int,
        *,
        reads: Sequence[Object | Absent] = (),
    ) -> None:
        basis = self._basis(resource_of(resource), name)
        found = self._view.get(basis.resource, basis.name)
        if found is not None and found["spec"]["replicas"] != replicas:
            body = {"spec": {"replicas": replicas}}
            await self._requests.write(
                "scale",
                basis.resource,
                basis.name,
                body,
                method="PATCH",
                snapshot=basis.snapshot,
                subresource="scale",
            )

    patch.setattr(FencedClient, "delete", delete)
    patch.setattr(FencedClient, "scale", scale)
    patch.setattr(Fence, "created_lately", lambda self, key, place: False)
    patch.setattr(View, "shows_own", lambda self: True)
