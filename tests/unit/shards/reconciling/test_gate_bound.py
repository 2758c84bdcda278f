"""What the gate of one controller remembers is bounded, and what a key costs whose view stays behind is, too."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import NotReadyYet
from shards.gates.parking import LONGEST_PROBE_SECONDS
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


def controller(body: Any) -> Controller:
    made = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


async def opened(world: World, body: Any, *, most: int | None = None) -> Shard:
    """most: writes that the gate remembers one by one."""
    shard = world.shard(controller(body))
    await shard.prewarm()
    await shard.activate(world.tenure(), None, previous_epoch=0)
    fence = shard._engines[0].fence
    assert fence is not None
    if most is not None:
        fence.writes._most = most
    return shard


def lists(world: World) -> list[str]:
    """Lists and watches of pages."""
    return [path for path, _ in world.transport.accepted if path.endswith("/configmaps")]


class TestTheBound:
    async def test_a_run_that_writes_more_waits_for_its_view_without_live_reads(self, world: World) -> None:
        seen: list[int] = []

        async def body(ctx: Context, request: Request) -> Result:
            found = len(ctx.store.owned(CONFIGMAPS))
            seen.append(found)
            for index in range(found, 10):
                await ctx.client.create(CONFIGMAPS, {"metadata": {"name": f"p{index}"}})
            return Result(requeue_after_seconds=0.1)

        shard = await opened(world, body, most=3)
        hold = world.lag(CONFIGMAPS)
        world.website("a")
        await asyncio.sleep(60)
        assert seen == [0]
        assert world.transport.reads("gate") == []
        assert (
            "more writes than are remembered one by one"
            in next(iter(shard._engines[0].parked.parking.keys.values())).blocked.reason
        )
        hold()
        await asyncio.sleep(1)
        assert len(seen) > 1
        assert set(seen[1:]) == {10}

    async def test_nothing_is_destroyed_while_it_is_reached(self, world: World) -> None:
        refused: list[str] = []

        async def body(ctx: Context, request: Request) -> None:
            if request.name == "maker":
                for index in range(5):
                    await ctx.client.create(CONFIGMAPS, {"metadata": {"name": f"p{index}"}})
                return
            try:
                await ctx.client.delete(WEBSITES, "old")
            except NotReadyYet as error:
                refused.append(str(error))
                raise

        await opened(world, body, most=3)
        hold = world.lag(CONFIGMAPS)
        world.website("maker")
        await asyncio.sleep(1)
        world.website("old")
        await asyncio.sleep(5)
        assert refused
        assert "nothing is destroyed until they do" in refused[0]
        assert world.transport.reads("delete") == [], "nor is the server asked"
        assert await world.exists(WEBSITES, "old")
        hold()
        await asyncio.sleep(10)
        assert not await world.exists(WEBSITES, "old")
        assert world.metric("controller_runtime_reconcile_total", controller="sites", result="error") == 0

    async def test_a_doubt_beyond_it_is_settled_by_one_list(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> Result | None:
            if not ctx.store.owned(CONFIGMAPS):
                await ctx.client.create(CONFIGMAPS, {"metadata": {"generateName": "p-"}}, allow_generate_name=True)
            return Result(requeue_after_seconds=0.1)

        await opened(world, body, most=0)
        hold = world.lag(CONFIGMAPS)
        before = len(lists(world))
        world.website("a")
        await asyncio.sleep(10)
        assert len(world.transport.writes()) == 1
        assert world.transport.reads("gate") == []
        hold()
        await asyncio.sleep(10)
        assert len(world.transport.writes()) == 1
        assert len(lists(world)) - before <= 2


class TestAKeyWhoseViewStaysBehind:
    async def stale(self, world: World, seconds: float) -> list[float]:
        """Readings of the clock at each run of the key that is kept stale."""
        runs: list[float] = []

        async def body(ctx: Context, request: Request) -> Result:
            if request.name == "stale":
                runs.append(world.clock())
                if len(runs) == 1:
                    await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})
                assert len(runs) == 1 or ctx.store.get(CONFIGMAPS, "page") is not None, "ran on the old view"
            return Result(requeue_after_seconds=0.05)

        await opened(world, body)
        world.lag(CONFIGMAPS)
        world.website("stale")
        await asyncio.sleep(seconds)
        assert world.metric("controller_runtime_reconcile_total", controller="sites", result="error") == 0
        return runs

    async def test_costs_at_most_one_live_read_a_probe_interval(self, world: World) -> None:
        await self.stale(world, 140)  # then it is listed, as nothing is heard of it
        reads = [each.at for each in world.transport.reads("gate")]
        assert 25 < len(reads) < 140 / (0.8 * LONGEST_PROBE_SECONDS) + 1
        settled = [after - before for before, after in pairwise(reads) if before > reads[0] + 30]
        assert min(settled) >= 0.8 * LONGEST_PROBE_SECONDS - 0.01

    async def test_runs_on_what_was_read_and_never_on_the_old_view(self, world: World) -> None:
        runs = await self.stale(world, 60)
        assert len(runs) == len(world.transport.reads("gate")) + 1

    async def test_is_looked_at_quickly_again_once_its_view_has_caught_up(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> Result:
            if not ctx.store.owned(CONFIGMAPS):
                await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})
            return Result(requeue_after_seconds=0.05)

        shard = await opened(world, body)
        parking = shard._engines[0].parked.parking
        hold = world.lag(CONFIGMAPS)
        world.website("a")
        await asyncio.sleep(60)
        hold()
        await asyncio.sleep(0.2)
        assert not parking.keys
        world.lag(CONFIGMAPS)
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        world.website("b")
        await asyncio.sleep(0.09)
        (parked,) = parking.keys.values()
        assert parked.probes == 0
