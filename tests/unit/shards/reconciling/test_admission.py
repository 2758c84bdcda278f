"""Keys that are not reconciled, whatever changes: paused by their objects, quarantined, or suspects in a row."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.objects import PAUSED_ANNOTATION, Key, Meta, ObjectName
from shards.queue.suspects import DEATHS, Suspect
from shards.stores.store import Entry, StoreWriter
from tests.unit.shards.world import WEBSITES, World, key_of

pytestmark = pytest.mark.looptime


def controller(body: Any, **options: Any) -> Controller:
    made = Controller("sites", primary=str(WEBSITES), **options)
    made.reconcile(body)
    return made


class Runs:
    """A reconcile that notes which keys began and ended; it takes a while."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.began: list[str] = []
        self.running: set[str] = set()
        self.together: list[set[str]] = []

    async def __call__(self, ctx: Context, request: Request) -> None:
        self.began.append(request.name)
        self.running.add(request.name)
        self.together.append(set(self.running))
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.running.discard(request.name)

    def controller(self, **options: Any) -> Controller:
        async def body(ctx: Context, request: Request) -> None:
            await self(ctx, request)

        return controller(body, **options)


async def annotate(world: World, name: str, value: str | None) -> None:
    await world.kubectl.merge_patch(
        WEBSITES, "default", name, {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
    )


class TestPaused:
    async def test_a_paused_object_is_not_reconciled_and_runs_at_once_when_the_annotation_goes(
        self, world: World
    ) -> None:
        runs = Runs()
        world.website("a")
        world.website("b")
        await annotate(world, "a", "true")
        await world.running(runs.controller())
        await asyncio.sleep(1)
        for step in range(3):
            await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"step": step}})
        await asyncio.sleep(5)
        assert runs.began == ["b"]
        assert world.metric("shardfleet_paused_keys", controller="sites") == 1
        assert world.metric("workqueue_depth") == 0
        await annotate(world, "a", None)
        await asyncio.sleep(0.1)
        assert runs.began == ["b", "a"]
        await asyncio.sleep(2)
        assert world.metric("shardfleet_paused_keys") == 0

    @pytest.mark.parametrize("value", ["false", "", "yes", "1"])
    async def test_only_true_pauses(self, world: World, value: str) -> None:
        runs = Runs()
        world.website("a")
        await annotate(world, "a", value)
        await world.running(runs.controller())
        await asyncio.sleep(1)
        assert runs.began == ["a"]

    async def test_a_run_that_is_under_way_ends_normally(self, world: World) -> None:
        runs = Runs(seconds=2.0)
        world.website("a")
        await world.running(runs.controller())
        await asyncio.sleep(1)
        await annotate(world, "a", "True")
        await asyncio.sleep(10)
        assert runs.began == ["a"]
        assert world.metric("controller_runtime_reconcile_total", result="success") == 1

    async def test_a_paused_object_is_not_finalized_either(self, world: World) -> None:
        """As in Cluster API: a pause is a pause, until the annotation goes."""
        runs = Runs()
        world.website("a")
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"metadata": {"finalizers": ["example.com/f"]}})
        await annotate(world, "a", "true")
        await world.running(runs.controller())
        await world.kubectl.delete(WEBSITES, "default", "a")
        await asyncio.sleep(5)
        assert runs.began == []
        await annotate(world, "a", None)
        await asyncio.sleep(1)
        assert runs.began == ["a"]

    async def test_once_it_is_gone_it_is_no_longer_counted_and_its_end_is_reconciled(self, world: World) -> None:
        runs = Runs()
        world.website("a")
        await annotate(world, "a", "true")
        await world.running(runs.controller())
        await asyncio.sleep(1)
        await world.kubectl.delete(WEBSITES, "default", "a")
        await asyncio.sleep(3)
        assert runs.began == ["a"]
        assert world.metric("shardfleet_paused_keys") == 0

    async def test_whoever_pauses_a_failing_key_hears_no_more_of_it(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> None:
            raise ValueError("no")

        world.website("a")
        shard = await world.running(controller(body))
        await asyncio.sleep(5)
        assert [each.key for each in shard.failing(5)] == ["default/a"]
        await annotate(world, "a", "true")
        await asyncio.sleep(5)
        assert (shard.failing(5), shard.unsettled()) == ([], [])
        assert shard.load()["paused"] == 1

    async def test_it_is_seen_whatever_the_controller_keeps_of_its_objects(self, world: World) -> None:
        def bare(body: dict[str, Any]) -> dict[str, Any]:
            return {"metadata": {"name": body["metadata"]["name"]}}

        kept: list[dict[str, Any]] = [{"metadata_only": True}, {"transform": bare}]
        for number, options in enumerate(kept):
            name = f"site-{number}"
            runs = Runs()
            world.website(name)
            await annotate(world, name, "true")
            shard = await world.running(runs.controller(**options))
            await asyncio.sleep(1)
            await shard.stop()
            assert name not in runs.began, options


class TestQuarantined:
    async def test_a_quarantined_key_does_not_run_and_the_others_do(self, world: World) -> None:
        runs = Runs()
        bad, _ = world.website("bad"), world.website("good")
        world.runtime.suspects.follow({("sites", key_of(bad)): DEATHS})
        shard = await world.running(runs.controller())
        await asyncio.sleep(2)
        assert runs.began == ["good"]
        assert world.metric("shardfleet_quarantined_keys", controller="sites") == 1
        assert shard.load()["quarantined"] == 1
        world.runtime.suspects.follow({("sites", key_of(bad)): DEATHS - 1})
        await asyncio.sleep(0.1)
        assert runs.began == ["good", "bad"]
        await asyncio.sleep(2)
        assert world.metric("shardfleet_quarantined_keys") == 0

    async def test_a_shard_that_has_stopped_is_forgotten(self, world: World) -> None:
        runs = Runs()
        bad = world.website("bad")
        world.runtime.suspects.follow({("sites", key_of(bad)): DEATHS})
        shard = await world.running(runs.controller())
        await asyncio.sleep(1)
        await shard.stop()
        assert world.runtime.suspects.quarantined == {}


class TestSuspects:
    async def test_suspects_never_run_together_and_are_cleared_by_the_end_of_their_run(self, world: World) -> None:
        runs, cleared = Runs(seconds=1.0), list[Suspect]()
        keys = {name: key_of(world.website(name)) for name in ("s1", "s2", "s3", "o1", "o2")}
        suspects = world.runtime.suspects
        suspects.follow({("sites", keys[name]): 1 for name in ("s1", "s2", "s3")})
        suspects.survived = cleared.append
        await world.running(runs.controller())
        await asyncio.sleep(10)
        assert sorted(set(runs.began)) == ["o1", "o2", "s1", "s2", "s3"]
        assert max(len([name for name in together if name.startswith("s")]) for together in runs.together) == 1
        assert any(len(together) > 1 for together in runs.together)
        assert sorted(cleared) == [("sites", keys[name]) for name in ("s1", "s2", "s3")]
        assert suspects.deaths == {}

    async def test_before_its_last_chance_a_key_runs_alone(self, world: World) -> None:
        runs = Runs(seconds=1.0)
        keys = {name: key_of(world.website(name)) for name in ("last", "o1", "o2")}
        world.runtime.suspects.follow({("sites", keys["last"]): DEATHS - 1})
        await world.running(runs.controller())
        await asyncio.sleep(10)
        assert sorted(set(runs.began)) == ["last", "o1", "o2"]
        assert [together for together in runs.together if "last" in together] == [{"last"}]

    async def test_a_shard_that_is_drained_while_a_key_waits_to_be_alone_leaves_no_slot_behind(
        self, world: World
    ) -> None:
        runs = Runs(seconds=4.0)
        keys = {name: key_of(world.website(name)) for name in ("last", "o1")}
        shard = await world.running(runs.controller())
        await asyncio.sleep(1)
        world.runtime.suspects.follow({("sites", keys["last"]): DEATHS - 1})
        await asyncio.sleep(10)
        await world.kubectl.merge_patch(WEBSITES, "default", "o1", {"spec": {"n": 1}})
        await asyncio.sleep(0.5)
        await world.kubectl.merge_patch(WEBSITES, "default", "last", {"spec": {"n": 1}})
        await asyncio.sleep(0.5)
        await shard.drain(10.0)
        slots = world.runtime.slots
        assert (slots.free, slots.held("sites")) == (slots.most, 0)
        assert slots.take("others")
        assert not world.runtime.suspects.running

    async def test_one_that_fails_has_survived(self, world: World) -> None:
        async def body(ctx: Context, request: Request) -> None:
            raise ValueError("no")

        key = key_of(world.website("a"))
        world.runtime.suspects.follow({("sites", key): 1})
        await world.running(controller(body))
        await asyncio.sleep(1)
        assert world.runtime.suspects.deaths == {}


class TestInFlight:
    async def test_every_run_is_told_of_while_it_lasts(self, world: World) -> None:
        seen: dict[int, tuple[str, Key, int]] = {}
        told: list[tuple[str, Key, int]] = []
        ends: list[bool] = []

        class Remembered:
            def begins(self, controller: str, key: Key, generation: int, now: float) -> int:
                told.append((controller, key, generation))
                seen[len(told)] = told[-1]
                return len(told)

            def ended(self, number: int, *, cancelled: bool) -> None:
                ends.append(cancelled)
                del seen[number]

        world.runtime.in_flight = Remembered()
        runs = Runs(seconds=5.0)
        keys = [key_of(world.website(name)) for name in ("a", "b")]
        generation = (await world.kubectl.get(WEBSITES, "default", "a"))["metadata"].get("generation", 0)
        shard = await world.running(runs.controller())
        await asyncio.sleep(1)
        assert sorted(seen.values()) == [("sites", key, generation) for key in keys]
        await asyncio.sleep(6)
        assert seen == {}
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"n": 1}})
        await asyncio.sleep(1)
        await shard.drain(0.0)
        assert (seen, ends) == ({}, [False, False, True])


def test_annotations_that_pause_are_known_without_the_body() -> None:
    writer = StoreWriter()
    for name, noted in (("a", {PAUSED_ANNOTATION: "true"}), ("b", {"other": "true"}), ("c", None)):
        meta = Meta(name, "ns", f"uid-{name}", "5", 3, annotations=noted)
        writer.replace([Entry(meta, msgspec.json.encode({"metadata": {"annotations": noted}}))], "10")
        view = writer.reader
        assert view.paused(Key("ns", name, f"uid-{name}")) == (name == "a")
        assert not view.paused(Key("ns", name, "another"))
        assert view.generation_of(Key("ns", name, f"uid-{name}")) == 3
        assert view.generation_of(Key("ns", name, "another")) is None
        held = view.meta(ObjectName("ns", name))
        assert held is not None
        assert held.annotations == noted
