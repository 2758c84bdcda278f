"""What went wrong with other people's queues, retries and their metrics, replayed. docs/cases.md lists them all."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from itertools import pairwise

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Result
from shards.errors import TerminalError
from shards.keyrange import equal_boundaries, ranges_from
from shards.listeners.listener import STATES
from shards.objects import Meta
from shards.queue.workqueue import WorkQueue
from shards.settings import QueueSettings
from tests.unit.shards.listeners.test_listener import Ear, meta, turns
from tests.unit.shards.reconciling.test_engine import change
from tests.unit.shards.reconciling.test_reconcile import controller
from tests.unit.shards.world import WEBSITES, World

pytestmark = pytest.mark.looptime

RANGES = ranges_from(equal_boundaries(32))


OBJECTS, EVENTS = 100, 60_000


@pytest.mark.parametrize("labels", [1, 1_000_000], ids=["states that are alike", "states that differ"])
async def test_b50_what_waits_for_a_handler_that_blocks_is_bounded_by_the_objects(labels: int) -> None:
    """A thousand events a second, and nobody takes them: what client-go buffers until the process is killed."""
    ear = Ear()
    queue = WorkQueue[str](QueueSettings(), random.Random(1))
    for number in range(OBJECTS):
        queue.add(f"o{number}", 0)
        queue.get(0)  # its reconcile hangs
    known: list[Meta] = [meta(f"o{number}") for number in range(OBJECTS)]
    blocks = 0
    for step in range(EVENTS):
        number = step % OBJECTS
        new = meta(f"o{number}", step + 2, a=str(step % labels))
        ear.change(known[number], new)
        queue.add(f"o{number}", step / 1000)
        known[number] = new
        if step == EVENTS // 10:
            blocks = sys.getallocatedblocks()
    assert sys.getallocatedblocks() - blocks < 20 * OBJECTS
    assert queue.depth(EVENTS) == 0
    await turns(5000)
    assert ear.mapped <= 2 * OBJECTS * STATES
    assert ear.names


async def test_b55_b56_gaps_of_a_key_that_keeps_failing_double_up_to_the_limit_and_begin_again_after_a_success(
    world: World,
) -> None:
    """B56: what limited the rate of all began the delay of each anew. B55: an exponent that overflowed."""
    starts: list[float] = []
    works = False

    async def body(ctx: Context, request: Request) -> None:
        starts.append(world.clock())
        if not works:
            raise RuntimeError("boom")

    world.website("a")
    await world.running(controller(body))
    await asyncio.sleep(3000)
    gaps = [after - before for before, after in pairwise(starts)]
    limit = world.settings.queue.max_delay_seconds
    below = [gap for gap in gaps if gap < 0.4 * limit]
    assert len(below) >= 12
    assert all(1.5 < after / before < 2.6 for before, after in pairwise(below[2:]))
    assert all(0.8 * limit <= gap <= limit + 0.01 for gap in gaps[len(below) + 1 :])
    assert len(gaps) - len(below) > 6
    works = True
    await change(world, "a", "works")
    await asyncio.sleep(1)
    works, before = False, len(starts)
    await change(world, "a", "fails again")
    await asyncio.sleep(1)
    assert len(starts) - before >= 5


async def test_b57_b63_no_key_is_starved_by_those_that_change_all_the_time_and_no_delay_is_lost(world: World) -> None:
    """Objects that change take every slot for two minutes; others, known from the first list, want runs 20 s apart."""
    due: dict[str, float] = {}
    late: list[float] = []

    async def body(ctx: Context, request: Request) -> Result | None:
        if request.name.startswith("hot"):
            await asyncio.sleep(0.5)
            return None
        late.append(world.clock() - due.get(request.name, began))
        due[request.name] = world.clock() + 20.0
        return Result(requeue_after_seconds=20.0)

    slots = world.settings.queue.max_concurrent_reconciles
    hot = [f"hot-{number}" for number in range(3 * slots)]
    names = [f"cold-{number}" for number in range(10)]
    for name in (*hot, *names):
        world.website(name)
    began = world.clock()
    await world.running(controller(body))
    for step in range(120):
        for name in hot:
            await change(world, name, str(step))
        await asyncio.sleep(1.0)
    assert set(due) == set(names)
    assert max(late) < 15.0
    assert all(world.clock() < at + 15.0 for at in due.values())
    assert len(late) >= 4 * len(names)


def series_of(world: World) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    """Every series of the worker's page."""
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in world.registry.collect()
        for sample in family.samples
    }


async def test_b60_series_do_not_grow_with_keys_nor_with_shards_that_came_and_went(world: World) -> None:
    """A series for each key or each restart of a queue filled the memory of whoever scraped them."""

    async def body(ctx: Context, request: Request) -> None:
        await ctx.client.patch_status({"seen": True})
        match int(request.name[1:]) % 3:
            case 0:
                raise RuntimeError(f"odd: {request.name}")
            case 1:
                raise TerminalError(f"for good: {request.name}")

    async def life_of_a_shard(of: int, objects: range) -> None:
        for number in objects:
            world.website(f"s{number}")
        shard = world.shard(controller(body), RANGES[of])
        await shard.activate(world.tenure(epoch=of + 1, of=RANGES[of]), None, previous_epoch=of)
        await asyncio.sleep(3)
        await shard.stop()

    await life_of_a_shard(0, range(100))
    before = series_of(world)
    for of in range(1, 9):
        await life_of_a_shard(of, range(100 * of, 100 * of + 50))
    assert len(series_of(world)) <= len(before) + 3


async def test_b62_a_key_whose_object_goes_while_it_runs_is_run_again_when_that_is_back(world: World) -> None:
    """Between the queue and the read, during the read, and after it."""
    seen: list[str] = []

    async def body(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and site["spec"].get("text") == "goes":
            await world.kubectl.delete(WEBSITES, "default", request.name)
            await asyncio.sleep(0.2)
        await ctx.live.get(WEBSITES, request.name)
        seen.append(site["spec"].get("text", "") if site else "gone")

    world.website("a", text="goes")
    shard = await world.running(controller(body))
    await asyncio.sleep(2)
    world.website("a", text="back")
    await asyncio.sleep(5)
    assert seen[-1] == "back"
    assert shard.unsettled() == []


async def test_b64_a_key_has_one_write_under_way_and_conflicts_are_rare(world: World) -> None:
    """Status writes that make events of their own, while another write of the same object waits."""
    under_way: Counter[str] = Counter()
    most = 0

    async def body(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        assert site is not None
        text = site["spec"].get("text", "")
        await asyncio.gather(ctx.client.patch_status({"text": text}), ctx.client.patch_status({"twice": text}))

    request = world.transport.inner.request

    async def counted(method: str, path: str, **options: object) -> bytes:
        nonlocal most
        if method == "GET" or "websites" not in path:
            return await request(method, path, **options)  # type: ignore[arg-type]
        under_way[path] += 1
        most = max(most, under_way[path])
        try:
            await asyncio.sleep(0.02)
            return await request(method, path, **options)  # type: ignore[arg-type]
        finally:
            under_way[path] -= 1

    world.transport.inner.request = counted  # type: ignore[method-assign]
    world.website("a")
    await world.running(controller(body))
    for step in range(60):
        await asyncio.sleep(0.5)
        await change(world, "a", str(step))
    await asyncio.sleep(0.5)
    writes = [each for each in world.transport.writes() if each.path.endswith("/status")]
    assert len(writes) >= 100
    assert sum(each.error == "Conflict" for each in writes) <= len(writes) / 100
    assert most == 1
