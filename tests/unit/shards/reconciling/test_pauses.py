"""While the breaker is open: what waits, what goes on, and what the objects say of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.errors import BreakerOpen, NotFound, Unreachable
from shards.objects import Object
from shards.ownership.degraded import CONDITION, mark_in
from shards.settings import BreakerSettings, GateSettings, ShardSettings
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, CRDS, DEFINITION, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime

READY = {"type": "Ready", "status": "True"}
DOWN = Unreachable("down")


class Spec(msgspec.Struct):
    drop: bool = False


class Typed(msgspec.Struct):
    spec: Spec


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    breaker = BreakerSettings(destructive_limit=2, window_seconds=30.0, failures_to_open=2, open_seconds=10.0)
    made = World(ShardSettings(gate=GateSettings(status_stale_window_seconds=100.0, breaker=breaker)))
    yield made
    await made.close()


class Site:
    """A website with one page, which is deleted when the website says so; its status tells how often that was tried."""

    def __init__(self, world: World, *, catches: bool = False, **options: Any) -> None:
        self.world = world
        self.tries = 0
        self.catches = catches
        self.conditions: list[Object] | None = [READY]
        self.controller = Controller("sites", primary=str(WEBSITES), **options).owns(str(CONFIGMAPS))
        self.controller.reconcile(self.reconcile)

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        if not site["spec"].get("drop"):
            await ctx.client.ensure(CONFIGMAPS, {"kind": "ConfigMap", "metadata": {"name": request.name}})
            return
        if self.conditions is not None:
            await ctx.client.patch_status({"conditions": self.conditions})
        if ctx.store.get(CONFIGMAPS, request.name) is None:
            return
        self.tries += 1
        try:
            await ctx.client.delete(CONFIGMAPS, request.name)
        except BreakerOpen:
            if not self.catches:
                raise

    async def start(self, *names: str) -> Shard:
        for name in names or ("a",):
            self.world.website(name)
        shard = await self.world.running(self.controller)
        await asyncio.sleep(1)
        return shard

    def cut(self) -> None:
        """Nothing can be asked of the server; the watch and the writes go on."""
        self.world.transport.fail = lambda sent: DOWN if sent.agent.reason == "delete" else None

    def heal(self) -> None:
        self.world.transport.fail = lambda _: None

    async def drop(self, *names: str) -> None:
        for name in names or ("a",):
            await self.world.kubectl.merge_patch(WEBSITES, "default", name, {"spec": {"drop": True}})

    async def conditions_now(self, name: str = "a") -> list[Object]:
        found = await self.world.kubectl.get(WEBSITES, "default", name)
        conditions: list[Object] = found.get("status", {}).get("conditions", [])
        return conditions

    def statuses(self) -> list[Sent]:
        return [each for each in self.world.transport.writes() if each.path.endswith("/status") and not each.error]


def state(conditions: list[Object]) -> str:
    found = mark_in(conditions)
    return found["status"] if found else ""


async def test_an_object_is_marked_once_and_cleared_once(world: World) -> None:
    site = Site(world)
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(60)
    assert [each["type"] for each in await site.conditions_now()] == ["Ready", CONDITION]
    assert state(await site.conditions_now()) == "True"
    marks = [each for each in site.statuses() if each.agent.reason == "degraded"]
    assert len(marks) == 1
    site.heal()
    await asyncio.sleep(60)
    assert not await world.exists(CONFIGMAPS, "a")
    assert [each["status"] for each in await site.conditions_now()] == ["True", "False"]
    assert len(site.statuses()) == 3, "the author's own, and one a transition"


async def test_the_metric_counts_the_keys_that_wait(world: World) -> None:
    site = Site(world)
    shard = await site.start("a", "b", "c")
    site.cut()
    await site.drop("a", "b")
    await asyncio.sleep(60)
    gauge = {"controller": "sites", "shard": str(shard.range)}
    assert world.metric("shardfleet_degraded_keys", **gauge) == 2
    assert world.metric("shardfleet_breaker_openings_total", controller="sites", cause="live_reads") == 1
    assert [(each.key, each.waits_for) for each in sorted(shard.waiting(9), key=lambda each: each.key)] == [
        ("default/a", "breaker"),
        ("default/b", "breaker"),
    ]
    site.heal()
    await asyncio.sleep(60)
    assert world.metric("shardfleet_degraded_keys", **gauge) == 0
    assert world.metric("shardfleet_breaker_open", controller="sites") == 0


async def test_a_full_window_opens_it_and_room_closes_it(world: World) -> None:
    site = Site(world)
    names = ("a", "b", "c", "d", "e")
    await site.start(*names)
    await site.drop(*names)
    await asyncio.sleep(9)
    assert sum([await world.exists(CONFIGMAPS, name) for name in names]) == 3
    assert world.metric("shardfleet_breaker_openings_total", controller="sites", cause="acts") == 1
    assert sorted([state(await site.conditions_now(name)) for name in names]) == ["", "", "True", "True", "True"]
    await asyncio.sleep(120)
    assert sum([await world.exists(CONFIGMAPS, name) for name in names]) == 0
    assert sorted([state(await site.conditions_now(name)) for name in names]) == ["", "", "False", "False", "False"]


async def test_live_reads_before_deletions_and_of_authors_say_nothing_about_the_views(world: World) -> None:
    site = Site(world)
    shard = await site.start("a", "b")
    await site.drop("a")
    await asyncio.sleep(9)
    [figures] = shard.figures()
    assert world.metric("shardfleet_gate_live_reads_total", controller="sites", purpose="delete") == 1
    assert figures.requests >= 4, "two pages, a status, a live read, a deletion"
    assert figures.live_reads == 0


async def test_a_live_read_of_the_gate_counts_for_its_view(world: World) -> None:
    site = Site(world)
    world.lag(CONFIGMAPS)
    shard = await site.start()
    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"more": True}})
    await asyncio.sleep(9)
    [figures] = shard.figures()
    assert (
        figures.live_reads == world.metric("shardfleet_gate_live_reads_total", controller="sites", purpose="gate") > 0
    )


async def test_an_author_who_catches_the_refusal_does_not_lose_the_act(world: World) -> None:
    site = Site(world, catches=True)
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    assert state(await site.conditions_now()) == "True"
    site.heal()
    await asyncio.sleep(30)
    assert not await world.exists(CONFIGMAPS, "a")
    assert state(await site.conditions_now()) == "False"


async def test_a_new_owner_clears_what_the_old_one_marked(world: World) -> None:
    site = Site(world)
    shard = await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    await shard.drain(1.0)
    await shard.stop()
    assert state(await site.conditions_now()) == "True"
    world.runtime.guards.clear()
    site.heal()
    await world.running(site.controller)
    await asyncio.sleep(10)
    assert not await world.exists(CONFIGMAPS, "a")
    assert state(await site.conditions_now()) == "False"


async def test_a_new_owner_that_reads_structs_clears_it_when_the_act_went_through(world: World) -> None:
    site = Site(world)
    shard = await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    await shard.stop()
    assert state(await site.conditions_now()) == "True"
    world.runtime.guards.clear()
    site.heal()
    typed = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @typed.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        found = ctx.store.get_as(Typed)
        if found is not None and found.spec.drop:
            await ctx.client.delete(CONFIGMAPS, request.name)

    await world.running(typed)
    await asyncio.sleep(10)
    assert not await world.exists(CONFIGMAPS, "a")
    assert state(await site.conditions_now()) == "False"


async def test_where_nothing_is_to_be_done_any_more_the_mark_goes(world: World) -> None:
    site = Site(world)
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"drop": None}})
    await asyncio.sleep(10)
    assert state(await site.conditions_now()) == "False"
    assert await world.exists(CONFIGMAPS, "a")


async def test_statuses_go_on_as_long_as_the_view_is_not_too_old(world: World) -> None:
    site = Site(world)
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    site.conditions = [READY, {"type": "Built", "status": "True"}]
    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "2"}})
    await asyncio.sleep(5)
    assert [each["type"] for each in await site.conditions_now()] == ["Ready", "Built", CONDITION]
    world.lag(WEBSITES)
    world.lag(CONFIGMAPS)
    world.transport.fail = lambda sent: DOWN if sent.agent.reason in ("delete", "informer", "gate") else None
    await asyncio.sleep(120)
    site.conditions = [READY]
    written = len(site.statuses())
    before = world.metric("controller_runtime_reconcile_total", controller="sites", result="not_ready")
    await asyncio.sleep(30)
    assert len(site.statuses()) == written
    assert world.metric("controller_runtime_reconcile_total", controller="sites", result="not_ready") > before
    assert world.metric("controller_runtime_reconcile_total", controller="sites", result="error") <= 2


async def test_a_schema_that_drops_conditions_is_asked_once(world: World) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    pruning = {"type": "object", "properties": {"spec": free}}
    version = {**DEFINITION["spec"]["versions"][0], "schema": {"openAPIV3Schema": pruning}}
    spec = {**DEFINITION["spec"], "versions": [version]}
    await world.kubectl.merge_patch(CRDS, "", DEFINITION["metadata"]["name"], {"spec": spec})
    site = Site(world)
    site.conditions = None
    await site.start("a", "b")
    site.cut()
    await site.drop("a", "b")
    await asyncio.sleep(60)
    assert site.tries > 4
    assert len([each for each in site.statuses() if each.agent.reason == "degraded"]) == 1


async def test_a_resource_without_a_status_is_asked_once(world: World) -> None:
    site = Site(world)
    site.conditions = None
    await site.start("a", "b")

    def fail(sent: Sent) -> Exception | None:
        if sent.path.endswith("/status"):
            return NotFound(404, "NotFound", "the server could not find the requested resource")
        return DOWN if sent.agent.reason == "delete" else None

    world.transport.fail = fail
    await site.drop("a", "b")
    await asyncio.sleep(60)
    assert len([each for each in world.transport.sent if each.agent.reason == "degraded"]) == 1
    site.heal()
    await asyncio.sleep(60)
    assert not await world.exists(CONFIGMAPS, "a")


async def test_an_author_who_does_not_want_the_mark_gets_none(world: World) -> None:
    site = Site(world, degraded_condition=False)
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(60)
    assert await site.conditions_now() == [READY]


async def test_a_view_without_statuses_writes_over_none(world: World) -> None:
    """A mark on it would drop every other condition."""
    site = Site(world, transform=lambda body: {name: body[name] for name in body if name != "status"})
    site.conditions = None
    await site.start()
    await world.kubectl.merge_patch(WEBSITES, "default", "a", {"status": {"conditions": [READY]}}, subresource="status")
    site.cut()
    await site.drop()
    await asyncio.sleep(60)
    assert await site.conditions_now() == [READY]


async def test_an_object_that_goes_while_it_is_marked_says_nothing_about_the_others(world: World) -> None:
    """Its answer is that of a resource without a status."""

    class Vanishing(Site):
        async def reconcile(self, ctx: Context, request: Request) -> None:
            try:
                await super().reconcile(ctx, request)
            except BreakerOpen:
                if request.name == "a" and await world.exists(WEBSITES, "a"):
                    world.lag(WEBSITES, 3.0)
                    await world.kubectl.delete(WEBSITES, "default", "a")
                raise

    site = Vanishing(world)
    site.conditions = None
    shard = await site.start("a", "b")
    site.cut()
    await site.drop("a")
    await asyncio.sleep(30)
    assert [each.error for each in world.transport.sent if each.agent.reason == "degraded" and each.body] == [
        "NotFound"
    ]
    await site.drop("b")
    await asyncio.sleep(30)
    assert state(await site.conditions_now("b")) == "True"
    assert world.metric("shardfleet_degraded_keys", controller="sites", shard=str(shard.range)) == 1


async def test_a_key_whose_object_is_gone_is_not_counted_although_its_last_run_fails_for_good(world: World) -> None:
    class Careless(Site):
        async def reconcile(self, ctx: Context, request: Request) -> None:
            await super().reconcile(ctx, request)
            await ctx.client.patch_status({"size": 1})

    site = Careless(world)
    shard = await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    gauge = {"controller": "sites", "shard": str(shard.range)}
    assert world.metric("shardfleet_degraded_keys", **gauge) == 1
    await world.kubectl.delete(WEBSITES, "default", "a")
    await asyncio.sleep(30)
    assert world.metric("controller_runtime_terminal_reconcile_errors_total", controller="sites") == 1
    assert world.metric("shardfleet_degraded_keys", **gauge) == 0


async def test_a_key_whose_author_catches_the_refusal_waits_since_the_first_one(world: World) -> None:
    site = Site(world, catches=True)
    shard = await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(60)
    assert [(each.key, each.waits_for) for each in shard.waiting(9)] == [("default/a", "breaker")]


async def test_a_mark_that_could_not_be_cleared_is_cleared_later_though_nothing_wakes_the_key(world: World) -> None:
    site = Site(world)
    site.conditions = None
    await site.start()
    site.cut()
    await site.drop()
    await asyncio.sleep(30)
    assert state(await site.conditions_now()) == "True"
    world.transport.fail = lambda sent: DOWN if sent.agent.reason == "degraded" else None
    await asyncio.sleep(30)
    assert not await world.exists(CONFIGMAPS, "a")
    site.heal()
    await asyncio.sleep(40)
    assert state(await site.conditions_now()) == "False"
