"""What of a range moves to its next owner, and what does not: every key runs once there, and nothing runs on here."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import pairwise

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import NotReadyYet, TerminalError
from shards.gates.watermark import Watermark
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime

LATER_SECONDS = 120.0


class Owners:
    """The same author's function on two owners, which know of their runs by the time on the world's clock."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.runs: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        """By owner and key."""
        self.memories: dict[tuple[str, str], object] = {}

    def controller(self, owner: str) -> Controller:
        sites = Controller("sites", primary=str(WEBSITES))
        sites.owns(str(CONFIGMAPS))

        @sites.reconcile
        async def reconcile(ctx: Context, request: Request) -> Result | None:
            self.runs[owner, request.name].append(self.world.clock())
            self.memories[owner, request.name] = ctx.memory.get("seen")
            ctx.memory["seen"] = True
            match request.name:
                case "delayed":
                    return Result(requeue_after_seconds=LATER_SECONDS)
                case "failing":
                    raise RuntimeError("as always")
                case "waiting":
                    raise NotReadyYet("for something else", after_seconds=LATER_SECONDS)
                case "hopeless":
                    raise TerminalError("until it changes")
                case "parked":
                    site = ctx.store.get()
                    assert site is not None, "nobody deletes it"
                    data = {"text": site["spec"]["text"]}
                    await ctx.client.ensure(str(CONFIGMAPS), {"metadata": {"name": "parked"}, "data": data})
            return None

        return sites

    async def pair(self) -> tuple[Shard, Shard]:
        """The old one has run for a while, the new one stands by."""
        old = await self.world.running(self.controller("old"))
        new = self.world.shard(self.controller("new"))
        await new.prewarm()
        await asyncio.sleep(10.0)
        return old, new


KEYS = ("delayed", "failing", "waiting", "hopeless", "parked", "quiet")


async def moved(world: World) -> tuple[Owners, float]:
    """The range has gone from old to new. When it had let go."""
    owners = Owners(world)
    for name in KEYS:
        world.website(name, text="x")
    old, new = await owners.pair()
    world.lag(CONFIGMAPS, 0.3)
    for text in ("y", "z"):
        await world.kubectl.merge_patch(WEBSITES, "default", "parked", {"spec": {"text": text}})
        await asyncio.sleep(0.05)
    assert "sites default/parked (parked)" in old.unsettled()
    mark: Watermark = await old.drain(1.0)
    let_go = world.clock()
    await old.stop()
    await new.activate(world.tenure(epoch=2), mark, previous_epoch=1)
    return owners, let_go


async def test_every_key_runs_once_on_the_new_owner_whatever_the_old_one_had_in_mind_for_it(world: World) -> None:
    owners, let_go = await moved(world)
    await asyncio.sleep(1.0)
    for name in KEYS:
        first = owners.runs["new", name][0]
        assert let_go <= first < let_go + 1.0, name
    assert len(owners.runs["new", "quiet"]) == 1


async def test_nothing_of_the_range_runs_on_the_old_owner_any_more(world: World) -> None:
    owners, let_go = await moved(world)
    await asyncio.sleep(1.5 * LATER_SECONDS)
    late = {name: [at for at in owners.runs["old", name] if at > let_go] for name in KEYS}
    assert late == {name: [] for name in KEYS}


async def test_a_key_that_was_to_run_much_later_runs_at_once_and_its_time_begins_again(world: World) -> None:
    owners, let_go = await moved(world)
    await asyncio.sleep(1.5 * LATER_SECONDS)
    runs = owners.runs["new", "delayed"]
    assert runs[0] - let_go < 1.0
    assert [round((later - sooner) / LATER_SECONDS, 3) for sooner, later in pairwise(runs)] == [1.0]


async def test_backoff_and_memory_begin_anew(world: World) -> None:
    owners, _ = await moved(world)
    await asyncio.sleep(5.0)
    old, new = owners.runs["old", "failing"], owners.runs["new", "failing"]
    assert new[1] - new[0] < 0.1 < old[-1] - old[-2], "it fails for the first time there"
    assert owners.memories["old", "failing"] is True
    assert owners.runs["new", "quiet"]
    assert owners.memories["new", "quiet"] is None


async def test_a_task_that_a_reconcile_left_behind_writes_nothing_more(world: World) -> None:
    refused: list[str] = []

    async def body(ctx: Context, request: Request) -> None:
        async def later() -> None:
            await asyncio.sleep(2.0)
            try:
                await ctx.client.patch_status({"ready": True})
            except Exception as error:  # whichever it is
                refused.append(type(error).__name__)

        left.append(asyncio.create_task(later()))

    left: list[asyncio.Task[None]] = []
    sites = Controller("sites", primary=str(WEBSITES))
    sites.reconcile(body)
    world.website("a", text="x")
    shard = await world.running(sites)
    await asyncio.sleep(0.5)
    await shard.drain(1.0)
    await asyncio.gather(*left)
    assert refused == ["NotOwner"]
    assert world.transport.writes() == []
