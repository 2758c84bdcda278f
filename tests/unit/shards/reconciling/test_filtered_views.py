"""Writes whose objects the view's filter hides: waited for as long as the view may show them, and never for ever.

KEP-5647: a version gate must register writes within the filter only, or expect bookmarks.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.settings import ScopeSettings, ShardSettings
from shards.shard import Shard
from tests.unit.shards.world import SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime


def controller(body: Any) -> Controller:
    made = Controller("sites", primary=str(WEBSITES))
    made.watches(str(SECRETS), map=lambda _: [], label_selector="app=web")
    made.reconcile(body)
    return made


async def opened(world: World, body: Any) -> Shard:
    shard = world.shard(controller(body))
    await shard.prewarm()
    await shard.activate(world.tenure(), None, previous_epoch=0)
    return shard


async def test_a_primary_that_its_own_reconcile_takes_out_of_the_selector_is_seen_to_leave(world: World) -> None:
    world.settings = ShardSettings(scope=ScopeSettings(label_selector="app=web"))
    world.runtime = world.worker()
    seen: list[bool] = []

    async def body(ctx: Context, request: Request) -> Result | None:
        seen.append(ctx.store.get() is not None)
        if seen[-1]:
            await ctx.client.patch(WEBSITES, "a", {"metadata": {"labels": {"app": None}}})
            return Result(requeue_after_seconds=0.1)
        return None

    labelled = {"name": "a", "namespace": "default", "labels": {"app": "web"}}
    world.server.seed(WEBSITES, {"metadata": labelled, "spec": {}})
    shard = await opened(world, body)
    await asyncio.sleep(5)
    assert seen[0]
    assert set(seen[1:]) == {False}
    assert len(world.transport.writes()) == 1
    assert world.transport.reads("gate") == []
    assert shard.unsettled() == []


@pytest.mark.parametrize("labels", [{"app": "web"}, {"app": "other"}], ids=["inside", "outside"])
async def test_what_is_made_outside_a_selector_costs_one_live_read_and_what_is_made_inside_none(
    world: World, labels: dict[str, str]
) -> None:
    runs: list[float] = []

    async def body(ctx: Context, request: Request) -> Result:
        runs.append(world.clock())
        if len(runs) == 1:
            metadata = {"name": "s", "namespace": "default", "labels": labels}
            await ctx.client.create(SECRETS, {"kind": "Secret", "metadata": metadata})
        return Result(requeue_after_seconds=0.1)

    world.website("a")
    await opened(world, body)
    await asyncio.sleep(20)
    inside = labels["app"] == "web"
    assert (runs[1] - runs[0] < 0.3) == inside
    assert runs[1] - runs[0] < 5.0
    reads = len(world.transport.reads("gate"))
    assert reads == 0 if inside else 1 <= reads <= 5
    await asyncio.sleep(60)
    later = len(world.transport.reads("gate"))
    before = len(runs)
    await asyncio.sleep(60)
    assert len(world.transport.reads("gate")) == later, "a bookmark has passed the write"
    assert len(runs) - before > 300
