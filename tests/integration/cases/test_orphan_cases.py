"""Case of children that were deleted because their owners were not in the view yet. In virtual time."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayAnswers, DelayEvents
from shards import Absent, Context, Controller, Request
from shards.shard import Shard
from tests.integration.cases.gated import ON_AND_OFF, Gated, gated_world
from tests.unit.shards.world import CONFIGMAPS, WEBSITES

pytestmark = pytest.mark.looptime


ORPHAN = "of-nobody"


class Orphans:
    """Deletes pages whose site is gone. confirmed: it asks the server whether it is; else the view says so.

    told: the runtime is told that the deletion rests on that.
    """

    def __init__(self, *, confirmed: bool = False, told: bool = False) -> None:
        self.confirmed = confirmed
        self.told = told

    def controller(self) -> Controller:
        pages = Controller("orphans", primary=str(CONFIGMAPS), label_selector="site")
        pages.watches(str(WEBSITES), map=lambda site: [])
        pages.reconcile(self.reconcile)
        return pages

    async def reconcile(self, ctx: Context, request: Request) -> None:
        page = ctx.store.get()
        if page is None:
            return
        site = page["metadata"]["labels"]["site"]
        if ctx.store.get(WEBSITES, site) is not None:
            return
        if not self.confirmed or await ctx.confirm_absent(WEBSITES, site):
            await ctx.client.delete(CONFIGMAPS, request.name, reads=[Absent(WEBSITES, site)] if self.told else ())


def _page_of(world: Gated, site: str) -> None:
    metadata = {"name": f"of-{site}", "namespace": "default", "labels": {"site": site}}
    world.server.seed(CONFIGMAPS, {"metadata": metadata})


async def _taken_over(gate: bool, orphans: Orphans) -> list[str]:
    """The next owner stands by and sees new pages, but no new sites, when the owner is gone. What both delete: an
    orphan, and what they take for one."""
    async with gated_world(gate=gate) as world:
        owner = await world.running(orphans.controller())
        standby = Shard(owner.range, [orphans.controller()], world.worker(), "worker-1")
        world.shards.append(standby)
        await standby.prewarm()
        world.server.faults.inject(DelayEvents(match=Match(member="worker-1", resource=str(WEBSITES))))
        world.website("new")
        _page_of(world, "new")
        _page_of(world, "nobody")
        await asyncio.sleep(1.0)
        await owner.stop()
        await standby.activate(world.tenure(epoch=2), None, previous_epoch=1)
        await asyncio.sleep(60.0)
        return [each.path.rpartition("/")[2] for each in world.carried_out("DELETE", CONFIGMAPS)]


async def test_b13_a_new_owner_that_has_seen_the_children_only_deletes_none() -> None:
    assert await _taken_over(True, Orphans(confirmed=False)) == [ORPHAN]


async def test_b13_without_the_gate_it_deletes_those_whose_owners_it_has_not_seen() -> None:
    assert await _taken_over(False, Orphans(confirmed=False)) == [ORPHAN, "of-new"]


@ON_AND_OFF
async def test_b13_an_author_who_confirms_that_the_owner_is_absent_deletes_none(gate: bool) -> None:
    assert await _taken_over(gate, Orphans(confirmed=True)) == [ORPHAN]


@ON_AND_OFF
async def test_b13_nor_does_one_who_says_that_the_deletion_rests_on_it(gate: bool) -> None:
    assert await _taken_over(gate, Orphans(told=True)) == [ORPHAN]


@ON_AND_OFF
async def test_b13_nothing_is_decided_before_all_views_are_there(gate: bool) -> None:
    """The children are listed at once, their owners half a minute later."""
    assert await _listed_late(gate) == set()


async def _listed_late(gate: bool) -> set[str]:
    """The pages that went."""
    async with gated_world(gate=gate) as world:
        world.website("old")
        _page_of(world, "old")
        lists = Match(verbs=("list",), resource=str(WEBSITES))
        world.server.faults.inject(DelayAnswers(match=lists, seconds=30.0, times=1))
        await world.running(Orphans(confirmed=False).controller())
        await asyncio.sleep(60.0)
        return {"of-old"} - set(world.there())


async def test_b13_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_soon_as_children_are_there(self: Shard) -> None:
        self._open_views()
        await next(view for view in self.views.values() if view.source.role == "primary").informer.synced.wait()

    monkeypatch.setattr(Shard, "prewarm", as_soon_as_children_are_there)
    assert await _listed_late(False) == {"of-old"}
