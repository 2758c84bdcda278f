"""From one owner to the next: nothing is written or destroyed on a view that is behind the previous owner's."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Silence
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.gates.watermark import ResourceMark, Watermark
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime


def pruner(runs: list[float], world: World) -> Controller:
    """Keeps the page of each site that has `keep`, and deletes that of every other one."""
    websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result | None:
        runs.append(world.clock())
        site = ctx.store.get()
        if site is None:
            return None
        if site["spec"].get("keep"):
            await ctx.client.ensure(CONFIGMAPS, {"kind": "ConfigMap", "metadata": {"name": f"{request.name}-page"}})
        else:
            for page in ctx.store.owned(CONFIGMAPS):
                await ctx.client.delete(CONFIGMAPS, page["metadata"]["name"])
        return None

    return websites


def deletions(world: World) -> list[str]:
    return [each.path for each in world.transport.writes() if each.method == "DELETE"]


async def test_before_the_gate_is_open_nothing_is_decided_written_or_destroyed(world: World) -> None:
    runs: list[float] = []
    world.website("a")
    shard = world.shard(pruner(runs, world))
    await shard.prewarm()
    digests = {name: view.source.digest for name, view in shard.views.items()}
    marks = {name: ResourceMark(digest, "9000") for name, digest in digests.items()}
    silence = world.server.faults.inject(Silence(match=Match(verbs=("list",))))
    opening = asyncio.create_task(shard.activate(world.tenure(epoch=2), Watermark(1, marks), previous_epoch=1))
    await asyncio.sleep(300)
    assert not opening.done()
    assert runs == []
    assert world.transport.writes() == []
    assert shard.closed
    silence.release()
    await asyncio.wait_for(opening, 120)
    await asyncio.sleep(1)
    assert runs
    assert world.metric("shardfleet_handover_gate_seconds_count", how="list") == 1


@pytest.mark.parametrize("gated", [True, False])
async def test_a_new_owners_deletions_come_after_a_live_read_each(world: World, gated: bool) -> None:
    """Also where the version gate is off, so that the owner acts at once: what is destroyed is never a cache's word."""
    world.runtime.change(ShardSettings(gate=GateSettings(enabled=gated)))
    world.website("keeps", keep=True)
    first = await world.running(pruner([], world))
    await asyncio.sleep(1)
    mark = await first.drain(1.0)
    await first.stop()
    await world.kubectl.merge_patch(WEBSITES, "default", "keeps", {"spec": {"keep": False}})
    runs: list[float] = []
    new = world.shard(pruner(runs, world))
    await new.prewarm()
    world.transport.sent.clear()
    await new.activate(world.tenure(epoch=2), mark, previous_epoch=1)
    await asyncio.sleep(5)
    (deleted,) = deletions(world)
    asked = [each.path for each in world.transport.reads("delete")]
    assert asked == [deleted]
    order = [each.method for each in world.transport.sent if each.path == deleted]
    assert order == ["GET", "DELETE"]


async def test_what_the_old_owners_view_never_showed_must_be_in_the_new_ones(world: World) -> None:
    """Its last write, and its last deletion: each is named in the mark, and waited for one by one."""
    for name in ("made", "gone"):
        world.website(name, keep=name == "gone")
    first = await world.running(pruner([], world))
    await asyncio.sleep(1)
    seen: dict[str, int] = {}
    new = world.shard(counter(seen))
    await new.prewarm()
    hold = world.lag(CONFIGMAPS)
    await world.kubectl.merge_patch(WEBSITES, "default", "made", {"spec": {"keep": True}})
    await world.kubectl.merge_patch(WEBSITES, "default", "gone", {"spec": {"keep": False}})
    await asyncio.sleep(0.1)
    mark = await first.drain(1.0)
    await first.stop()
    unseen = mark.marks[str(CONFIGMAPS)].unseen
    assert [(each.name, each.deleted) for each in sorted(unseen, key=lambda each: each.name)] == [
        ("gone-page", True),
        ("made-page", False),
    ]
    opening = asyncio.create_task(new.activate(world.tenure(epoch=2), mark, previous_epoch=1))
    await asyncio.sleep(1)
    assert not opening.done()
    hold()
    await opening
    await asyncio.sleep(1)
    assert seen == {"made": 1, "gone": 0}


async def test_what_a_list_told_the_old_owner_to_be_gone_must_be_gone_in_the_new_ones_view(world: World) -> None:
    """No object's version says so: the mark is as high as the list."""
    world.website("a", keep=True)
    maker = await world.running(pruner([], world))
    await asyncio.sleep(1)
    await maker.drain(1.0)
    await maker.stop()
    first, seen = await world.running(counter({})), dict[str, int]()
    new = Shard(first.range, [counter(seen)], world.worker(), "worker-0")
    world.shards.append(new)
    await new.prewarm()
    hold = world.lag(CONFIGMAPS)
    await world.kubectl.delete(CONFIGMAPS, "default", "a-page")
    listed = await first.views[str(CONFIGMAPS)].informer.relist()
    mark = await first.drain(1.0)
    await first.stop()
    assert mark.marks[str(CONFIGMAPS)].resource_version == listed
    opening = asyncio.create_task(new.activate(world.tenure(epoch=2), mark, previous_epoch=1))
    await asyncio.sleep(1)
    assert not opening.done()
    hold()
    await opening
    await asyncio.sleep(1)
    assert seen == {"a": 0}


def counter(seen: dict[str, int]) -> Controller:
    """Notes how many pages each site was first seen with."""
    websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        seen.setdefault(request.name, len(ctx.store.owned(CONFIGMAPS)))

    return websites
