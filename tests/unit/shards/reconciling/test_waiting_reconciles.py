"""What a shard says about keys that are neither failing nor getting anywhere, and about itself before it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import BreakerOpen, NotReadyYet, TooManyRequests, Unreachable
from shards.keyrange import WHOLE
from shards.queue.waiting_keys import WaitingKey
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


def controller(body: Callable[[Context, Request], Any]) -> Controller:
    made = Controller("sites", primary=str(WEBSITES), reconcile_timeout_seconds=300).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


async def only_wait(world: World, shard: Shard) -> WaitingKey:
    """The one key that waits, by every way in which it is told."""
    shard.measure()
    assert (shard.load()["waiting"], shard.load()["failing"]) == (1, 0)
    [told] = shard.waiting(9)
    labels = {"controller": "sites", "shard": str(WHOLE)}
    assert world.metric("shardfleet_waiting_keys", **labels) == 1
    assert world.metric("shardfleet_waiting_keys", **labels, waits_for=told.waits_for.value) == 1
    assert (told.controller, told.key) == ("sites", "default/a")
    return told


async def running(world: World, body: Callable[[Context, Request], Any], seconds: float = 40.0) -> Shard:
    world.website("a")
    shard = await world.running(controller(body))
    await asyncio.sleep(seconds)
    return shard


async def test_one_that_is_not_ready_is_told_with_what_its_reconcile_said(world: World) -> None:
    ready = False

    async def body(ctx: Context, request: Request) -> None:
        if not ready:
            raise NotReadyYet("the volume of\n a is not bound")

    shard = await running(world, body, 29.0)
    assert shard.waiting(9) == []
    began = world.clock() - 29.0
    await asyncio.sleep(11.0)
    told = await only_wait(world, shard)
    assert (told.waits_for, told.why) == ("not ready", "the volume of a is not bound")
    assert told.since == pytest.approx(began, abs=0.1)
    assert told.times > 5
    ready = True
    await asyncio.sleep(6.0)
    assert (shard.waiting(9), shard.load()["waiting"]) == ([], 0)


async def test_one_whose_child_belongs_to_another_is_told(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await ctx.client.ensure(str(CONFIGMAPS), {"metadata": {"name": "a"}, "data": {}})

    owner = {"apiVersion": "demo.shardfleet.dev/v1", "kind": "Website", "name": "b", "uid": "other", "controller": True}
    world.server.seed(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "default", "ownerReferences": [owner]}})
    told = await only_wait(world, await running(world, body))
    assert told.waits_for == "not ready"
    assert "is controlled by other" in told.why


async def test_one_that_asks_to_run_again_and_again_is_told(world: World) -> None:
    async def body(ctx: Context, request: Request) -> Result:
        return Result(requeue=True)

    told = await only_wait(world, await running(world, body))
    assert (told.waits_for, told.why) == ("requeue", "its reconcile asks to run again")
    assert told.times > 5


async def test_one_that_asks_for_a_look_at_a_time_of_its_own_does_not_wait(world: World) -> None:
    async def body(ctx: Context, request: Request) -> Result:
        return Result(requeue_after_seconds=2.0)

    assert (await running(world, body)).waiting(9) == []


async def test_one_whose_reconcile_does_not_end_is_told(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(250)

    told = await only_wait(world, await running(world, body))
    assert (told.waits_for, told.why) == ("reconcile", "its reconcile has not ended")


async def test_one_whose_view_does_not_show_its_write_is_told(world: World) -> None:
    async def body(ctx: Context, request: Request) -> Result:
        site = ctx.store.get()
        assert site is not None
        await ctx.client.patch_status({"seen": site["metadata"]["resourceVersion"]})
        return Result(requeue_after_seconds=1.0)

    world.website("a")
    world.lag(WEBSITES)
    world.transport.fail = lambda sent: Unreachable("no route") if sent.agent.reason == "gate" else None
    shard = await world.running(controller(body))
    await asyncio.sleep(40.0)
    told = await only_wait(world, shard)
    assert told.waits_for == "view"
    assert "does not show its own write" in told.why


async def test_one_whose_deletions_are_paused_is_told(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        raise BreakerOpen("3 live reads failed in a row")

    told = await only_wait(world, await running(world, body))
    assert told.waits_for == "breaker"
    assert "3 live reads failed in a row" in told.why


async def test_one_that_a_server_asked_to_come_back_much_later_is_told_before_it_has_failed_often(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        raise TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=600)

    told = await only_wait(world, await running(world, body))
    assert told.waits_for == "server"
    assert told.why.startswith("it asked for 600 s: TooManyRequests: 429")


async def test_one_that_keeps_failing_does_not_wait_as_well(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        raise TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=8)

    shard = await running(world, body, 80.0)
    assert len(shard.failing(9)) == 1
    assert shard.waiting(9) == []


async def test_one_that_waits_and_then_fails_waits_no_more(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        if world.clock() < 1040.0:
            raise NotReadyYet("later")
        raise ValueError

    shard = await running(world, body, 39.0)
    assert len(shard.waiting(9)) == 1
    await asyncio.sleep(20)
    assert (len(shard.waiting(9)), len(shard.failing(9))) == (0, 1)


async def test_a_shard_that_has_not_opened_says_why(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None: ...

    broken = True
    world.transport.fail = lambda sent: Unreachable("no route to it") if broken and sent.method == "GET" else None
    shard = world.shard(controller(body))
    assert shard.closed == "its views are being listed"
    opening = asyncio.create_task(shard.activate(world.tenure(), None, previous_epoch=0))
    await asyncio.sleep(5)
    assert "no route to it" in shard.closed
    broken = False
    await opening
    assert shard.closed == ""


async def test_that_deletions_are_paused_is_logged_once_for_a_key(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(ctx: Context, request: Request) -> None:
        raise BreakerOpen("3 live reads failed in a row")

    caplog.set_level("INFO")
    await running(world, body, 60.0)
    told = [record for record in caplog.records if "3 live reads failed in a row" in record.getMessage()]
    assert [record.levelname for record in told] == ["INFO"]
