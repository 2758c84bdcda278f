"""A server whose history goes back: what was written, read and decided before says nothing about what is there now.

Decision 18. The embedded server is restored from a backup, and its versions begin again below those that views have.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck, Silence
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import NotReadyYet
from shards.gates.watermark import ResourceMark, Watermark
from shards.informers.informer import Informer
from shards.objects import Object, Resource
from shards.ownership.fence import Fence
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime


def controller(body: Any) -> Controller:
    made = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


async def opened(world: World, body: Any) -> Shard:
    shard = world.shard(controller(body))
    await shard.prewarm()
    await shard.activate(world.tenure(), None, previous_epoch=0)
    return shard


def goes_on(world: World, *, begin: int = 0) -> None:
    """History that has nothing to do with any view's objects."""
    for index in range(begin, begin + 50):
        world.server.seed(CONFIGMAPS, {"metadata": {"name": f"other-{index}", "namespace": "default"}})


def goes_back(shard: Shard, resource: Resource, version: str = "1") -> None:
    """The view alone, as by a list of a restored server."""
    view = shard.views[str(resource)]
    assert isinstance(view.informer, Informer)
    view.informer._writer.replace([], version)
    view.progressed()


async def page_for_each_site(ctx: Context, request: Request) -> Result:
    """A page whose name the server chooses: only the view says that there is one."""
    if ctx.store.get() is not None and not ctx.store.owned(CONFIGMAPS):
        page: Object = {"metadata": {"generateName": "page-"}}
        await ctx.client.create(CONFIGMAPS, page, allow_generate_name=True)
    return Result(requeue_after_seconds=0.1)


def pages(world: World) -> list[str]:
    """Those that the server has."""
    table = next(each for each in world.server.storage.tables() if each.kind.resource == CONFIGMAPS)
    names = [each.decode()["metadata"]["name"] for each in table.scan("default/")]
    return [name for name in names if name.startswith("page-")]


async def test_a_run_that_began_before_writes_nothing_although_its_first_write_comes_after(world: World) -> None:
    """A live read of another key shows that the history went back, while this one waits for something else."""
    refused: list[str] = []

    async def body(ctx: Context, request: Request) -> None:
        if refused or ctx.store.get() is None:
            return
        fence = shard._engines[0].fence
        assert fence is not None
        fence.history_lost(CONFIGMAPS)
        try:
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})
        except NotReadyYet as error:
            refused.append(str(error))
            raise

    shard = await opened(world, body)
    world.website("a")
    await asyncio.sleep(5)
    assert refused == ["the server's history went back while this was decided"]
    assert not await world.exists(CONFIGMAPS, "page")


async def test_what_the_restore_undid_is_done_once_more_and_no_more_than_once(world: World) -> None:
    world.website("a")
    backup = world.server.storage.snapshot()
    await opened(world, page_for_each_site)
    await asyncio.sleep(1)
    goes_on(world)
    (before,) = pages(world)
    world.server.storage.restore(backup)
    await asyncio.sleep(120)
    (after,) = pages(world)
    assert before != after
    assert len(world.transport.writes()) == 2


async def _created_behind_the_views_back(world: World) -> None:
    """The view of the pages does not notice the restore: its version is above all that the server gives out now, so
    that every write looks as if the view showed it."""
    goes_on(world)
    world.website("a")
    backup = world.server.storage.snapshot()
    goes_on(world, begin=50)
    shard = await opened(world, page_for_each_site)
    await asyncio.sleep(1)
    pages_only = Match(verbs=("watch", "list"), resource=str(CONFIGMAPS))
    world.server.faults.inject(Silence(match=pages_only, until_seconds=20))
    world.server.storage.restore(backup)
    world.website("b")
    await shard.views[str(WEBSITES)].informer.relist()
    await asyncio.sleep(5)
    assert shard.views[str(CONFIGMAPS)].store.regressions == 0


async def test_an_answer_that_is_older_than_the_view_shows_that_its_history_is_over(world: World) -> None:
    await _created_behind_the_views_back(world)
    assert len(pages(world)) == 1
    await asyncio.sleep(120)
    assert len(pages(world)) == 2
    assert len(world.transport.writes()) == 3, "one for each site, and one more for what the restore undid"
    counted = "shardfleet_histories_lost_total"
    assert world.metric(counted, controller="sites", resource=str(CONFIGMAPS)) >= 1


async def test_without_a_look_at_the_answer_such_a_view_has_children_made_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fence, "compare_answer", lambda *_, **__: None)
    await _created_behind_the_views_back(world)
    assert len(pages(world)) > 1


async def test_a_reconcile_that_began_before_it_writes_nothing_after_it(world: World) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    runs = []

    async def body(ctx: Context, request: Request) -> None:
        runs.append(world.clock())
        begun.set()
        await go_on.wait()
        await ctx.client.patch_status({"phase": "ready"})

    world.website("a")
    shard = await opened(world, body)
    await begun.wait()
    goes_back(shard, CONFIGMAPS)
    go_on.set()
    await asyncio.sleep(0.1)
    assert world.transport.writes() == []
    await asyncio.sleep(2)
    assert len(runs) >= 2
    assert len(world.transport.writes()) == 1
    assert world.metric("controller_runtime_reconcile_total", controller="sites", result="error") == 0


async def test_what_was_read_live_in_a_history_that_is_over_is_not_run_on(world: World) -> None:
    seen: list[int] = []

    async def body(ctx: Context, request: Request) -> Result:
        seen.append(len(ctx.store.owned(CONFIGMAPS)))
        if len(seen) == 1:
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})
        return Result(requeue_after_seconds=0.1)

    world.website("a")
    shard = await opened(world, body)
    world.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))

    def restored_meanwhile(sent: Sent) -> None:
        if sent.agent.reason == "gate":
            world.server.faults.inject(Silence(match=Match(verbs=("list",), resource=str(CONFIGMAPS))))
            goes_back(shard, CONFIGMAPS)

    world.transport.before = restored_meanwhile
    world.lag(CONFIGMAPS)
    await asyncio.sleep(10)
    assert len(world.transport.reads("gate")) == 1
    assert len(seen) == 1, "neither on the old object, nor on a view that is listed again"
    assert "went back in history" in shard._engines[0].parked.parking.keys.popitem()[1].blocked.reason


async def test_keys_that_wait_for_nothing_wait_for_the_list_too(world: World) -> None:
    runs: list[float] = []

    async def body(ctx: Context, request: Request) -> Result:
        runs.append(world.clock())
        return Result(requeue_after_seconds=0.1)

    world.website("a")
    shard = await opened(world, body)
    await asyncio.sleep(1)
    silence = world.server.faults.inject(Silence(match=Match(verbs=("list",), resource=str(CONFIGMAPS))))
    goes_back(shard, CONFIGMAPS)
    await asyncio.sleep(10)
    before = len(runs)
    await asyncio.sleep(5)
    assert len(runs) == before
    silence.release()
    await asyncio.sleep(80)
    assert len(runs) > before
    assert world.transport.reads("gate") == []


async def test_memories_of_what_was_deleted_and_created_are_of_the_history_that_is_over(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await ctx.client.ensure(CONFIGMAPS, {"kind": "ConfigMap", "metadata": {"name": "page"}})

    world.website("a")
    shard = await opened(world, body)
    await asyncio.sleep(1)
    fence = shard._engines[0].fence
    assert fence is not None
    key = next(iter(fence.created))[0]
    fence.redecided[key] = {}
    assert fence.highest
    goes_back(shard, CONFIGMAPS)
    world.website("b")
    await asyncio.sleep(0.01)
    assert not fence.redecided
    assert CONFIGMAPS not in fence.highest
    assert key not in {of for of, _ in fence.created}


async def test_no_mark_is_left_of_a_view_whose_history_went_back(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None: ...

    world.website("a")
    shard = await opened(world, body)
    goes_back(shard, CONFIGMAPS)
    await asyncio.sleep(5)
    mark = await shard.drain(1.0)
    assert set(mark.marks) == {str(WEBSITES)}


async def test_a_gate_that_waits_for_a_mark_asks_for_a_list_at_once_when_the_history_goes_back(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None: ...

    world.website("a")
    shard = world.shard(controller(body))
    await shard.prewarm()
    digests = {name: view.source.digest for name, view in shard.views.items()}
    marks = {name: ResourceMark(digest, "9000" if name == str(CONFIGMAPS) else "") for name, digest in digests.items()}
    began = world.clock()
    opening = asyncio.create_task(shard.activate(world.tenure(epoch=5), Watermark(4, marks), previous_epoch=4))
    await asyncio.sleep(0.5)
    goes_back(shard, CONFIGMAPS)
    shard._moved.set()
    await opening
    assert world.clock() - began < 1.0
    assert world.metric("shardfleet_handover_gate_seconds_count", how="list") == 1


async def test_with_the_gate_switched_off_nothing_is_held_back(world: World) -> None:
    world.runtime.change(replace(world.settings, gate=replace(world.settings.gate, enabled=False)))
    runs: list[float] = []

    async def body(ctx: Context, request: Request) -> Result:
        runs.append(world.clock())
        await ctx.client.patch_status({"rounded": len(runs) // 5})
        return Result(requeue_after_seconds=0.1)

    world.website("a")
    shard = await opened(world, body)
    await asyncio.sleep(1)
    before = len(runs)
    goes_back(shard, CONFIGMAPS)
    await asyncio.sleep(1)
    assert len(runs) > before + 5
    fence = shard._engines[0].fence
    assert fence is not None
    assert fence.writes.levels.lists() == (CONFIGMAPS,), "it stays on record for when the gate is on again"


async def test_a_live_read_that_is_older_than_the_view_shows_that_its_history_is_over(world: World) -> None:
    """Nothing was written yet: the first thing that comes of the new history is what a live read finds."""
    seen: list[str] = []

    async def body(ctx: Context, request: Request) -> Result:
        site = ctx.store.get()
        assert site is not None
        seen.append(site["spec"]["text"])
        if len(seen) == 3:
            await ctx.live.get(WEBSITES, "a")
        return Result(requeue_after_seconds=1.0)

    world.website("a", text="old")
    backup = world.server.storage.snapshot()
    goes_on(world)
    shard = await opened(world, body)
    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "new"}})
    await asyncio.sleep(0.5)
    world.server.faults.inject(Silence(match=Match(verbs=("watch",), resource=str(WEBSITES))))
    world.server.storage.restore(backup)
    await asyncio.sleep(5)
    assert seen[-1] == "old"
    assert shard.views[str(WEBSITES)].store.regressions == 1
