"""Reconciles under a limit of requests: what waits has not been sent, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import NotOwner
from shards.settings import ClientSettings, QueueSettings, ShardSettings
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


@pytest.fixture
async def world() -> AsyncIterator[World]:
    client = ClientSettings(requests_per_second=100.0)
    world = World(ShardSettings(client=client, queue=QueueSettings(reconcile_timeout_seconds=4.0)))
    yield world
    await world.close()


async def starve(world: World, rate: float) -> None:
    """From now on one request every 1/rate seconds. What the views ask for at first has gone by then."""
    await asyncio.sleep(1)
    limit(world, rate)
    await world.runtime.limiter.take("GET")


def limit(world: World, rate: float) -> None:
    limiter = world.runtime.limiter
    assert limiter._own is not None
    limiter._own.change(rate, 1.0, world.clock())
    limiter._let_through()


def controller(body: Callable[[Context, Request], Any]) -> Controller:
    made = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


async def settle(ctx: Context, request: Request) -> Result | None:
    site = ctx.store.get()
    if site is not None:
        await ctx.client.patch_status({"looks": 1})
    return None


async def test_writes_wait_for_their_turn(world: World) -> None:
    await world.running(controller(settle))
    await starve(world, 1.0)
    began = world.clock()
    for name in "abc":
        world.website(name)
    await asyncio.sleep(10)
    assert [round(each.at - began) for each in world.transport.writes()] == [1, 2, 3]


async def test_a_write_that_is_cancelled_while_it_waits_leaves_nothing_in_doubt(world: World) -> None:
    """The reconcile's timeout ends its wait. A write in doubt would hold the key back, and cost a live read."""
    shard = await world.running(controller(settle))
    await starve(world, 0.001)
    world.website("a")
    await asyncio.sleep(5)
    assert world.metric("controller_runtime_reconcile_timeouts_total", controller="sites") == 1
    assert world.transport.writes() == []
    [engine] = shard._engines
    assert engine.fence is not None
    assert not engine.fence.writes.unseen(engine.stores)
    assert world.metric("shardfleet_writes_total", controller="sites", reason="status", result="in_doubt") == 0

    limit(world, 1.0)
    await asyncio.sleep(5)
    assert len(world.transport.writes()) == 1, "it is tried again as if nothing had been sent"


async def test_a_write_whose_tenure_ends_while_it_waits_is_not_sent(world: World) -> None:
    raised: list[Exception] = []

    async def body(ctx: Context, request: Request) -> None:
        try:
            await ctx.client.patch_status({"looks": 1})
        except NotOwner as error:
            raised.append(error)
            raise

    shard = world.shard(controller(body))
    tenure = world.tenure()
    await shard.activate(tenure, None, previous_epoch=0)
    await starve(world, 0.001)
    world.website("a")
    await asyncio.sleep(1)
    tenure.end()
    limit(world, 1000.0)
    await asyncio.sleep(1)
    assert len(raised) == 1
    assert world.transport.writes() == []


async def test_a_view_s_requests_wait_too(world: World) -> None:
    shard = world.shard(controller(settle))
    await starve(world, 1.0)
    began = world.clock()
    await shard.prewarm()
    assert world.clock() - began >= 1.0
