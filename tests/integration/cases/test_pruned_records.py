"""Case of records that the server prunes, and of what waits for them. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from shards import Context, Controller, Request, Result
from shards.errors import NotReadyYet
from shards.objects import Object, Resource
from shards.reconciling.reconcile import Reconciler
from tests.integration.cases.finalizers import MINE, leave
from tests.integration.cases.gated import ON_AND_OFF, Gated, gated_world
from tests.unit.shards.world import CRDS, Sent

pytestmark = pytest.mark.looptime

SITES = Resource.parse("example.com/v1/sites")

_STATUS = {"type": "object", "properties": {"ready": {"type": "integer"}}}
_SPEC = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PRUNING: Object = {
    "metadata": {"name": "sites.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}},
            }
        ],
    },
}
"""Sites, of whose status the server keeps `ready` only."""


MOST_A_MINUTE = 20


class Pruned:
    """Takes ten seconds to create something, and records what it does in fields that the server does not keep.

    then: what it does when a record is not there.
    """

    def __init__(self, then: Callable[[], Result | None] | None) -> None:
        self.then = then

    def controller(self) -> Controller:
        sites = Controller("websites", primary=str(SITES))
        sites.reconcile(self.reconcile)
        return sites

    async def reconcile(self, ctx: Context, request: Request) -> Result | None:
        site = ctx.store.get()
        if site is None:
            return None
        status = site.get("status") or {}
        if not site["metadata"].get("deletionTimestamp"):
            await asyncio.sleep(10.0)
            await ctx.client.patch_status({"created": True})
            return None
        if not status.get("cleaned"):
            await ctx.client.patch_status({"cleaned": True})
            if self.then is not None:
                return self.then()
        await leave(ctx, SITES, site, MINE)
        return None


def _waits() -> Result | None:
    raise NotReadyYet("that it is cleaned is not recorded")


def _fails() -> Result | None:
    raise ValueError("that it is cleaned is not recorded")


async def _deleted_while_it_is_created(world: Gated) -> list[Sent]:
    """Returns the writes of the ten minutes that follow."""
    metadata = {"name": "a", "namespace": "default", "finalizers": [MINE]}
    world.server.seed(SITES, {"metadata": metadata, "spec": {}})
    await asyncio.sleep(1.0)
    await world.kubectl.delete(SITES, "default", "a")
    await asyncio.sleep(600.0)
    return world.transport.writes()


def _busiest_minute(writes: list[Sent]) -> int:
    return max((len([each for each in writes if 0.0 <= each.at - first.at < 60.0]) for first in writes), default=0)


async def _played(gate: bool, then: Callable[[], Result | None] | None) -> tuple[int, bool, list[str]]:
    """The most writes in a minute, whether the object is still there, and what is told of keys that do not get on."""
    async with gated_world(gate=gate) as world:
        world.server.seed(CRDS, PRUNING)
        shard = await world.running(Pruned(then).controller())
        writes = await _deleted_while_it_is_created(world)
        told = [each.why for each in shard.waiting(5)] + [each.error for each in shard.failing(5)]
        return _busiest_minute(writes), bool(world.there(SITES)), told


@ON_AND_OFF
@pytest.mark.parametrize("then", [_waits, _fails, lambda: Result(requeue=True)], ids=["waits", "fails", "requeues"])
async def test_b91_an_author_who_waits_for_a_record_that_is_pruned_writes_a_bounded_number_of_times_and_is_told_of(
    gate: bool, then: Callable[[], Result | None]
) -> None:
    most, held, told = await _played(gate, then)
    assert held
    assert 2 <= most <= MOST_A_MINUTE
    assert len(told) == 1


@ON_AND_OFF
async def test_b91_a_pruned_record_holds_up_nobody_who_does_not_wait_for_it(gate: bool) -> None:
    most, held, told = await _played(gate, None)
    assert not held
    assert most <= 4
    assert told == []


async def test_b91_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reconciler, "_patience", lambda self, waits, owner: 0.5)
    most, _, _ = await _played(True, _waits)
    assert most > MOST_A_MINUTE
