"""The engine: retries, parked keys, isolation. Against an embedded API server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.authoring.plain_context import PlainContext
from shards.errors import (
    Conflict,
    ConflictingOwner,
    NotOwner,
    NotReadyYet,
    TerminalError,
    TooManyRequests,
    Unreachable,
)
from shards.informers.informer import Informer
from shards.queue.slots import Slots
from shards.reconciling.reconcile import PATIENT_CONFLICTS, PATIENT_OWNERS
from shards.settings import GateSettings, QueueSettings, ShardSettings
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime

Body = Callable[[Context, Request], Awaitable[Result | None]]


def controller(body: Body) -> Controller:
    made = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    return made


def result_count(world: World, result: str) -> float:
    return world.metric("controller_runtime_reconcile_total", controller="sites", result=result)


class TestRetries:
    async def test_a_failing_key_backs_off_and_costs_the_others_nothing(self, world: World) -> None:
        tries: dict[str, list[float]] = {"bad": [], "good": []}

        async def body(ctx: Context, request: Request) -> None:
            tries[request.name].append(world.clock())
            if request.name == "bad":
                raise RuntimeError("boom")

        world.website("bad")
        world.website("good")
        await world.running(controller(body))
        await asyncio.sleep(20)
        assert len(tries["good"]) == 1
        gaps = [after - before for before, after in pairwise(tries["bad"])]
        assert 10 <= len(gaps) <= 13
        assert gaps == sorted(gaps)
        assert result_count(world, "error") == len(tries["bad"])

    async def test_a_terminal_error_is_not_retried_until_the_object_changes(self, world: World) -> None:
        tries = []

        async def body(ctx: Context, request: Request) -> None:
            tries.append(request)
            raise TerminalError("the spec makes no sense")

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(1000)
        assert len(tries) == 1
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "y"}})
        await asyncio.sleep(1)
        assert len(tries) == 2

    async def test_a_requeue_comes_at_its_time_and_does_not_count_as_a_failure(self, world: World) -> None:
        times = []

        async def body(ctx: Context, request: Request) -> Result:
            times.append(world.clock())
            return Result(requeue_after_seconds=30)

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(100)
        assert [round(after - before, 3) for before, after in pairwise(times)] == [30, 30, 30]
        assert result_count(world, "requeue_after") == 4

    async def test_not_ready_is_retried_soon_and_then_at_most_five_seconds_apart(self, world: World) -> None:
        times = []

        async def body(ctx: Context, request: Request) -> None:
            times.append(world.clock())
            raise NotReadyYet("later")

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(7)
        gaps = [after - before for before, after in pairwise(times)]
        assert 0.2 <= gaps[0] <= 0.25
        assert gaps == sorted(gaps)
        assert result_count(world, "not_ready") == len(times)
        assert world.metric("controller_runtime_reconcile_errors_total", controller="sites") == 0

    async def test_a_server_that_is_overloaded_is_left_alone_as_long_as_it_asks(self, world: World) -> None:
        times = []

        async def body(ctx: Context, request: Request) -> None:
            times.append(world.clock())
            raise TooManyRequests(429, "TooManyRequests", "slow down", retry_after_seconds=7)

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(20)
        assert [round(after - before, 2) for before, after in pairwise(times)] == [7, 7]

    async def test_conflicts_are_patient_at_first_and_back_off_in_the_end(self, world: World) -> None:
        times = []

        async def body(ctx: Context, request: Request) -> None:
            times.append(world.clock())
            raise Conflict(409, "Conflict", "somebody else was faster")

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(60)
        assert result_count(world, "conflict") == len(times)
        assert PATIENT_CONFLICTS < len(times) < 30

    async def test_a_reconcile_that_takes_too_long_is_cancelled_and_tried_again(self, world: World) -> None:
        world.runtime.settings = ShardSettings(queue=QueueSettings(reconcile_timeout_seconds=2.0))
        times = []

        async def body(ctx: Context, request: Request) -> None:
            times.append(world.clock())
            await asyncio.sleep(100)

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(3)
        assert [round(after - before, 1) for before, after in pairwise(times)] == [2.0]
        assert result_count(world, "timeout") == 1

    async def test_an_authors_own_timeout_is_an_ordinary_failure(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> None:
            async with asyncio.timeout(1):
                await asyncio.sleep(10)

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(1.001)
        assert result_count(world, "error") == 1
        assert result_count(world, "timeout") == 0

    async def test_a_function_that_returns_something_else_fails_its_key_only(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> Result | None:
            return "done"  # type: ignore[return-value]

        world.website("a")
        shard = await world.running(controller(body))
        await asyncio.sleep(1)
        assert result_count(world, "error") > 1
        assert shard.current_keys() == []

    async def test_a_function_that_exits_fails_its_key_and_not_the_worker(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> None:
            if request.name == "bad":
                raise SystemExit(2)

        world.website("bad")
        world.website("good")
        await world.running(controller(body))
        await asyncio.sleep(1)
        assert result_count(world, "error") > 1
        assert result_count(world, "success") == 1

    async def test_somebody_elses_object_is_waited_for_every_second_and_in_the_end_more_patiently(
        self, world: World
    ) -> None:
        times = []

        async def body(ctx: Context, request: Request) -> None:
            times.append(world.clock())
            raise ConflictingOwner("theirs")

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(100)
        gaps = [after - before for before, after in pairwise(times)]
        assert all(0.8 <= gap <= 1.0 for gap in gaps[:PATIENT_OWNERS])
        assert all(8.0 <= gap <= 10.0 for gap in gaps[PATIENT_OWNERS:])
        assert len(gaps) > PATIENT_OWNERS

    async def test_a_client_that_was_kept_writes_nothing_after_its_reconcile(self, world: World) -> None:
        kept: list[Context] = []

        async def body(ctx: Context, request: Request) -> None:
            kept.append(ctx)

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(1)
        with pytest.raises(NotOwner, match="the reconcile has ended"):
            await kept[0].client.patch_status({"late": True})
        assert world.transport.writes() == []


class TestConcurrency:
    async def test_a_key_never_runs_twice_at_a_time_and_a_change_during_a_run_makes_one_more(
        self, world: World
    ) -> None:
        running, most, runs = 0, 0, 0

        async def body(ctx: Context, request: Request) -> None:
            nonlocal running, most, runs
            running, runs = running + 1, runs + 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(0.1)
        for text in "xyz":
            await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": text}})
        await asyncio.sleep(10)
        assert (most, runs) == (1, 2)

    async def test_slots_bound_the_reconciles_of_all_shards_of_a_worker(self, world: World) -> None:
        running, most = 0, 0

        async def body(ctx: Context, request: Request) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.1)
            running -= 1

        for index in range(30):
            world.website(f"s{index}")
        await world.running(controller(body))
        await world.running(controller(body))
        await asyncio.sleep(10)
        assert most == world.settings.queue.max_concurrent_reconciles
        assert result_count(world, "success") == 60

    async def test_the_task_of_a_reconcile_carries_controller_and_key(self, world: World) -> None:
        names = []

        async def body(ctx: Context, request: Request) -> None:
            task = asyncio.current_task()
            assert task is not None
            names.append(task.get_name())

        world.website("a")
        await world.running(controller(body))
        await asyncio.sleep(1)
        assert names == ["reconcile sites default/a"]

    async def test_a_plain_function_runs_in_a_thread_with_blocking_calls(self, world: World) -> None:
        plain = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

        @plain.reconcile
        def body(ctx: PlainContext) -> Result:
            site = ctx.store.get()
            assert site is not None
            ctx.client.ensure(CONFIGMAPS, {"metadata": {"name": "page"}, "data": {"html": site["spec"]["text"]}})
            assert ctx.live.get(CONFIGMAPS, "page") is not None
            assert ctx.confirm_absent(CONFIGMAPS, "other")
            listed = ctx.store.list(CONFIGMAPS, namespace="default")
            assert [each["metadata"]["name"] for each in listed] == ["page"]
            assert listed.unknown == ()
            assert ctx.store.get_as(dict[str, Any]) == ctx.store.get()
            ctx.client.patch_status({"pages": len(ctx.store.owned(CONFIGMAPS))})
            return Result()

        world.website("a", text="x")
        await world.running(plain)
        while not result_count(world, "success"):
            await asyncio.sleep(0.01)
        assert (await world.kubectl.get(WEBSITES, "default", "a"))["status"] == {"pages": 1}
        world.runtime.close()


class TestOwnWritesGate:
    """Replays of reports 3A (B01, B02, B04) of the reliability catalogue."""

    async def test_a_reconcile_never_runs_on_a_view_without_its_last_write(self, world: World) -> None:
        busy_calls = []

        async def body(ctx: Context, request: Request) -> Result | None:
            site = ctx.store.get()
            assert site is not None
            if site.get("status", {}).get("phase") == "ready":
                return None
            busy_calls.append(world.clock())
            await ctx.client.patch_status({"phase": "ready"})
            return Result(requeue_after_seconds=0.01)

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(WEBSITES, 1.5)
        await asyncio.sleep(1)
        assert len(busy_calls) == 1
        assert shard.load()["parked"] == 1
        await asyncio.sleep(10)
        assert len(busy_calls) == 1
        assert shard.load()["parked"] == 0
        assert world.transport.reads("gate") == []
        assert world.metric("shardfleet_gate_parks_total", controller="sites", resource=str(WEBSITES)) == 1
        assert result_count(world, "error") == 0

    async def test_a_view_that_stays_behind_is_settled_by_one_live_read_never_by_waiting(self, world: World) -> None:
        creates = []

        async def body(ctx: Context, request: Request) -> Result:
            if not ctx.store.owned(CONFIGMAPS):
                creates.append(world.clock())
                await ctx.client.create(CONFIGMAPS, {"metadata": {"generateName": "page-"}}, allow_generate_name=True)
            return Result(requeue_after_seconds=1)

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS)
        await asyncio.sleep(360)
        assert len(creates) == 1
        assert result_count(world, "requeue_after") > 20
        assert 20 < len(world.transport.reads("gate")) < 360

    async def test_a_parked_key_takes_no_worker_slot(self, world: World) -> None:
        world.runtime.slots = Slots(1)
        runs = []

        async def body(ctx: Context, request: Request) -> Result | None:
            runs.append(request.name)
            if request.name == "parked":
                await ctx.client.patch_status({"at": world.clock()})
                return Result(requeue_after_seconds=0.01)
            return None

        world.website("parked")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        hold = world.lag(WEBSITES)
        await asyncio.sleep(0.5)
        assert shard.load()["parked"] == 1
        hold()
        world.website("free")
        await asyncio.sleep(0.05)
        assert "free" in runs

    async def test_a_key_whose_live_reads_fail_pauses_and_recovers(self, world: World) -> None:
        runs = []

        async def body(ctx: Context, request: Request) -> Result:
            runs.append(world.clock())
            if len(runs) == 1:
                await ctx.client.patch_status({"phase": "ready"})
            return Result(requeue_after_seconds=1)

        def unreachable(sent: Sent) -> Exception | None:
            return Unreachable("down", maybe_applied=False) if sent.agent.reason == "gate" else None

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(WEBSITES)
        world.transport.fail = unreachable
        await asyncio.sleep(60)
        assert len(runs) == 1
        assert 5 < len(world.transport.reads("gate")) <= 20
        world.transport.fail = lambda _: None
        await asyncio.sleep(10)
        assert len(runs) > 1

    async def test_an_answer_that_is_no_object_costs_its_key_a_pause_and_no_more(self, world: World) -> None:
        runs = []

        async def body(ctx: Context, request: Request) -> Result:
            runs.append(world.clock())
            if len(runs) == 1:
                await ctx.client.patch_status({"phase": "ready"})
            return Result(requeue_after_seconds=1)

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(WEBSITES)
        world.transport.fail = lambda sent: ValueError("not JSON") if sent.agent.reason == "gate" else None
        await asyncio.sleep(30)
        assert len(runs) == 1
        world.transport.fail = lambda _: None
        await asyncio.sleep(10)
        assert len(runs) > 1

    async def test_live_reads_stay_within_their_budget(self, world: World) -> None:
        world.runtime.settings = ShardSettings(gate=GateSettings(live_reads_per_second=2))

        async def body(ctx: Context, request: Request) -> Result:
            await ctx.client.patch_status({"at": world.clock()})
            return Result(requeue_after_seconds=0.1)

        for index in range(100):
            world.website(f"s{index}")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(WEBSITES)
        await asyncio.sleep(30)
        assert 50 <= len(world.transport.reads("gate")) <= 2 * 30 + 8
        over = world.metric(
            "shardfleet_gate_live_reads_total", controller="sites", purpose="gate", result="over_budget"
        )
        assert over > 0

    async def test_a_lost_answer_leaves_the_key_in_doubt_until_a_live_read(self, world: World) -> None:
        creates = []

        async def body(ctx: Context, request: Request) -> None:
            if ctx.store.get(CONFIGMAPS, "page") is None:
                creates.append(world.clock())
                await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS, 30)
        world.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
        await asyncio.sleep(60)
        assert len(creates) == 1
        assert len(world.transport.reads("gate")) == 1
        assert result_count(world, "success") >= 1

    async def test_a_conflict_is_decided_again_on_the_live_object(self, world: World) -> None:
        """B65: a retry that reads the stale cache again sends the same version for ever."""
        seen: list[str] = []
        rounds = 1

        async def body(ctx: Context, request: Request) -> Result | None:
            site = ctx.store.get()
            assert site is not None
            seen.append(site["spec"]["text"])
            await ctx.client.patch_status({"text": seen[-1], "round": rounds})
            return Result(requeue_after_seconds=5) if rounds == 1 else None

        world.website("a", text="old")
        await world.running(controller(body))
        await asyncio.sleep(1)
        world.lag(WEBSITES)
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "new"}})
        rounds = 2
        await asyncio.sleep(5)
        assert seen == ["old", "old", "old", "new"]
        assert (await world.kubectl.get(WEBSITES, "default", "a"))["status"] == {"text": "new", "round": 2}
        assert result_count(world, "conflict") == 1

    async def test_with_the_gate_switched_off_keys_run_on_stale_views(self, world: World) -> None:
        """The gate's own proof: the same history goes wrong without it."""
        world.runtime.change(ShardSettings(gate=GateSettings(enabled=False)))
        creates = []

        async def body(ctx: Context, request: Request) -> Result:
            if not ctx.store.owned(CONFIGMAPS):
                creates.append(world.clock())
                await ctx.client.create(CONFIGMAPS, {"metadata": {"generateName": "page-"}}, allow_generate_name=True)
            return Result(requeue_after_seconds=0.5)

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS, 2)
        await asyncio.sleep(10)
        assert len(creates) > 1

    async def test_a_server_that_was_restored_costs_a_list_and_no_live_read(self, world: World) -> None:
        runs = []

        async def body(ctx: Context, request: Request) -> Result:
            runs.append(world.clock())
            if len(runs) == 1:
                await ctx.client.create(CONFIGMAPS, {"metadata": {"name": "page"}})
            return Result(requeue_after_seconds=1)

        world.website("a")
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS)
        await asyncio.sleep(0.5)
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        view = shard._views[str(CONFIGMAPS)]
        assert isinstance(view.informer, Informer)
        view.informer._writer.replace([], "1")
        view.progressed()
        before = len(runs)
        await asyncio.sleep(30)
        assert world.transport.reads("gate") == []
        assert view.store.resource_version != "1"
        assert len(runs) - before > 20

    async def test_a_thousand_parked_keys_are_not_looked_at_for_every_event(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def body(ctx: Context, request: Request) -> None:
            await ctx.client.create(CONFIGMAPS, {"metadata": {"name": f"page-{request.name}"}})

        names = [f"s{index}" for index in range(1000)]
        for name in names:
            world.website(name)
        shard = world.shard(controller(body))
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS, 1.0)
        await asyncio.sleep(0.5)
        [engine] = shard._engines
        assert engine.fence is not None
        for key in (*engine.fence.writes._barriers,):
            engine.add(key)
        await asyncio.sleep(0.01)
        assert len(engine.parked) == 1000
        looks = 0
        shown = engine.fence.writes.shown

        def count(*args: Any) -> bool:
            nonlocal looks
            looks += 1
            return shown(*args)

        monkeypatch.setattr(engine.fence.writes, "shown", count)
        for _ in range(100):
            engine.progress(CONFIGMAPS)
            await asyncio.sleep(0.001)
        assert 1000 <= looks <= 8000

    async def test_writes_of_keys_that_never_run_again_are_forgotten(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> None:
            await ctx.client.patch_status({"phase": "ready"})

        for index in range(50):
            world.website(f"s{index}")
        shard = await world.running(controller(body))
        await asyncio.sleep(10)
        fence = shard._engines[0].fence
        assert fence is not None
        assert len(fence.writes) == 0
