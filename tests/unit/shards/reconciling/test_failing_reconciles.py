"""What a shard says about keys that keep failing, and what it counts of its queue and its reconciles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import TerminalError, Unreachable
from shards.keyrange import WHOLE
from shards.settings import QueueSettings, ShardSettings
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime

PASSWORD = "s3cr3t-value"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World(ShardSettings(queue=QueueSettings(reconcile_timeout_seconds=0.5)))
    yield world
    await world.close()


def controller(body: Callable[[Context, Request], Any]) -> Controller:
    made = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


def gauge(world: World) -> float:
    return world.metric("shardfleet_failing_keys", controller="sites", shard=str(WHOLE))


async def test_a_key_that_keeps_failing_is_told_until_it_succeeds(world: World) -> None:
    broken = True

    async def body(ctx: Context, request: Request) -> None:
        if request.name == "bad" and broken:
            raise ValueError(f"the password is {PASSWORD}")

    world.website("bad")
    world.website("good")
    began = world.clock()
    shard = await world.running(controller(body))
    await asyncio.sleep(10)

    [failing] = shard.failing(9)
    assert (failing.controller, failing.key, failing.terminal) == ("sites", "default/bad", False)
    assert failing.since == pytest.approx(began, abs=0.1)
    assert failing.count >= 10
    assert failing.error.startswith("ValueError at test_failing_reconciles.py:")
    assert PASSWORD not in failing.error
    assert (gauge(world), shard.load()["failing"]) == (1, 1)

    broken = False
    await asyncio.sleep(20)
    assert shard.failing(9) == []
    assert (gauge(world), shard.load()["failing"]) == (0, 0)


async def test_a_terminal_error_is_told_until_the_object_changes_and_succeeds(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and "size" not in site["spec"]:
            raise TerminalError("spec.size is missing")

    world.website("a")
    shard = await world.running(controller(body))
    await asyncio.sleep(2)
    [failing] = shard.failing(9)
    assert (failing.error, failing.terminal, failing.count) == ("TerminalError: spec.size is missing", True, 1)
    assert gauge(world) == 1

    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"size": 1}})
    await asyncio.sleep(2)
    assert shard.failing(9) == []
    assert world.metric("controller_runtime_terminal_reconcile_errors_total", controller="sites") == 1


async def test_one_that_is_deleted_is_told_no_more(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        if ctx.store.get() is not None:
            raise TerminalError("no")

    world.website("a")
    shard = await world.running(controller(body))
    await asyncio.sleep(2)
    assert len(shard.failing(9)) == 1
    await world.kubectl.delete(WEBSITES, "default", "a")
    await asyncio.sleep(2)
    assert shard.failing(9) == []


async def test_timeouts_count_as_failures_and_say_so(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(60)

    world.website("a")
    shard = await world.running(controller(body))
    await asyncio.sleep(5)
    [failing] = shard.failing(9)
    assert failing.error == "took too long"
    assert world.metric("controller_runtime_reconcile_timeouts_total", controller="sites") == failing.count
    assert world.metric("controller_runtime_reconcile_errors_total", controller="sites") == failing.count


async def test_a_shard_that_leaves_takes_its_gauge_along(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        raise TerminalError("no")

    world.website("a")
    shard = await world.running(controller(body))
    await asyncio.sleep(2)
    assert gauge(world) == 1
    await shard.stop()
    labels = {"controller": "sites", "shard": str(WHOLE)}
    assert world.registry.get_sample_value("shardfleet_failing_keys", labels) is None


async def test_the_queue_is_measured_as_client_go_s_is(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(0.4)

    for name in "abcdefghijkl":
        world.website(name)
    shard = await world.running(controller(body))
    await asyncio.sleep(1.5)
    shard.measure()

    names = {"name": "sites", "controller": "sites"}
    assert world.metric("workqueue_adds_total", **names) == 12
    assert world.metric("workqueue_queue_duration_seconds_count", **names) == 12
    assert world.metric("workqueue_queue_duration_seconds_sum", **names) == pytest.approx(4 * 0.4, abs=0.05)
    assert world.metric("workqueue_work_duration_seconds_sum", **names) == pytest.approx(12 * 0.4, abs=0.05)
    assert world.metric("controller_runtime_reconcile_time_seconds_count", controller="sites") == 12
    assert world.metric("controller_runtime_max_concurrent_reconciles", controller="sites") == 8
    assert world.metric("controller_runtime_active_workers", controller="sites") == 0


async def test_what_runs_is_measured_while_it_does(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(0.45 if request.name == "a" else 60)

    world.website("a")
    world.website("b")
    shard = await world.running(controller(body))
    measured: list[tuple[float, float, float]] = []
    labels = {"name": "sites", "controller": "sites", "shard": str(WHOLE)}
    for _ in range(30):
        await asyncio.sleep(0.1)
        shard.measure()
        measured.append(
            (
                world.metric("controller_runtime_active_workers", controller="sites"),
                world.metric("workqueue_unfinished_work_seconds", **labels),
                world.metric("workqueue_longest_running_processor_seconds", **labels),
            )
        )
    assert max(active for active, _, _ in measured) == 2
    assert 0 < max(longest for _, _, longest in measured) <= 0.5
    assert all(in_all >= longest for _, in_all, longest in measured)


async def test_the_depth_is_current_while_every_slot_is_taken(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(60)

    shard = await world.running(controller(body))
    for name in "abcdefghijkl":
        world.website(name)
    await asyncio.sleep(0.2)
    shard.measure()
    labels = {"name": "sites", "controller": "sites", "shard": str(WHOLE)}
    assert world.metric("workqueue_depth", **labels, priority="0") == 12 - 8
    assert world.metric("workqueue_depth", **labels, priority="-100") == 0


async def test_the_depth_tells_changes_from_the_first_list_as_controller_runtime_s_priority_queue_does(
    world: World,
) -> None:
    async def body(ctx: Context, request: Request) -> None:
        await asyncio.sleep(60)

    for name in "abcdefghijkl":
        world.website(name)
    shard = await world.running(controller(body))
    await asyncio.sleep(0.1)
    world.website("z")
    await asyncio.sleep(0.1)
    shard.measure()
    labels = {"name": "sites", "controller": "sites", "shard": str(WHOLE)}
    assert world.metric("workqueue_depth", **labels, priority="-100") == 12 - 8
    assert world.metric("workqueue_depth", **labels, priority="0") == 1


async def test_retries_are_all_that_comes_back_after_a_delay_as_in_client_go(world: World) -> None:
    async def body(ctx: Context, request: Request) -> Result | None:
        if request.name == "fails":
            raise ValueError
        return Result(requeue_after_seconds=10.0) if request.name == "asks" else None

    for name in ("fails", "asks", "fine"):
        world.website(name)
    await world.running(controller(body))
    await asyncio.sleep(35)
    results = {
        result: world.metric("controller_runtime_reconcile_total", controller="sites", result=result)
        for result in ("success", "error", "requeue_after")
    }
    assert (results["success"], results["requeue_after"]) == (1, 4)
    retries = world.metric("workqueue_retries_total", name="sites", controller="sites")
    assert retries == results["error"] + results["requeue_after"]


async def test_the_age_of_a_view_grows_while_nothing_is_heard_and_goes_with_its_shard(world: World) -> None:
    async def body(ctx: Context, request: Request) -> None: ...

    labels = {"view": str(WEBSITES), "shard": str(WHOLE)}

    def age() -> float | None:
        shard.measure()
        return world.registry.get_sample_value("shardfleet_view_age_seconds", labels)

    shard = await world.running(controller(body))
    world.website("a")
    await asyncio.sleep(0.5)
    assert age() == pytest.approx(0.5, abs=0.1)
    release = world.lag(WEBSITES)
    world.website("b")
    await asyncio.sleep(40)
    assert age() == pytest.approx(40.5, abs=0.2)
    release()
    await asyncio.sleep(0.5)
    assert age() == pytest.approx(0.5, abs=0.1)
    await shard.stop()
    assert world.registry.get_sample_value("shardfleet_view_age_seconds", labels) is None


async def test_a_view_that_was_never_current_is_as_old_as_its_shard(world: World) -> None:
    """Infinity would be no sample at all, and nobody would be alerted."""

    async def body(ctx: Context, request: Request) -> None: ...

    world.transport.fail = lambda sent: Unreachable("no route") if WEBSITES.plural in sent.path else None
    shard = world.shard(controller(body))
    opening = asyncio.create_task(shard.prewarm())
    await asyncio.sleep(30)
    shard.measure()
    age = world.metric("shardfleet_view_age_seconds", view=str(WEBSITES), shard=str(WHOLE))
    assert age == pytest.approx(30, abs=0.1)
    opening.cancel()
