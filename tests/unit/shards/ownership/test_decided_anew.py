"""A decision that was sent back is not good enough for being made on the same old view again, gate or no gate."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shards import Context, Controller, Request
from shards.objects import Object
from shards.settings import GateSettings, ShardSettings
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime


async def removes_pages_that_nobody_keeps(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None:
        return
    page = ctx.store.get(CONFIGMAPS, "a")
    if page is None:
        await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"keep": "yes"}})
    elif site["spec"].get("clean") and page["data"]["keep"] == "no":
        await ctx.client.delete(CONFIGMAPS, "a")


@pytest.mark.parametrize("gate", [True, False], ids=["gate on", "gate off"])
async def test_a_page_that_somebody_keeps_meanwhile_stays_however_often_the_old_view_says_otherwise(gate: bool) -> None:
    world = World(ShardSettings(gate=GateSettings(enabled=gate)))
    try:
        pages = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
        pages.reconcile(removes_pages_that_nobody_keeps)
        world.website()
        await world.running(pages)
        await asyncio.sleep(1.0)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "a", {"data": {"keep": "no"}})
        await asyncio.sleep(1.0)
        world.lag(CONFIGMAPS)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "a", {"data": {"keep": "yes"}})
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"clean": True}})
        await asyncio.sleep(60.0)
        assert await world.exists(CONFIGMAPS, "a")
    finally:
        await world.close()


@pytest.mark.parametrize("named", [True, False], ids=["by its name", "by the object"])
@pytest.mark.parametrize(("part", "exists"), [("status", False), ("spec", True)])
async def test_only_what_changes_beside_its_generation_is_deleted_in_the_end(
    world: World, named: bool, part: str, exists: bool
) -> None:
    world.website("a", drop=True)
    sites = Controller("websites", primary=str(WEBSITES))

    @sites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and site["spec"].get("drop"):
            await ctx.client.delete(WEBSITES, request.name if named else site)

    changing: list[asyncio.Task[Object]] = []

    def change(sent: Sent) -> None:
        if sent.method == "GET" and sent.agent.reason == "delete":
            patch: dict[str, Any] = {part: {"beat": str(world.clock())}}
            within = "status" if part == "status" else ""
            changing.append(
                asyncio.create_task(world.kubectl.merge_patch(WEBSITES, "default", "a", patch, subresource=within))
            )

    world.transport.before = change
    world.transport.latency_seconds = 0.05
    await world.running(sites)
    await asyncio.sleep(20)
    assert len(changing) > 3
    assert await world.exists(WEBSITES, "a") is exists
