"""What the gate of a controller tells whoever measures it: on a view that lags, with lost answers, and turned off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck, Refuse
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.keyrange import WHOLE
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime

LABELS = {"controller": "web-sites", "shard": str(WHOLE)}
PLACE = {"group": WEBSITES.group, "version": WEBSITES.version, "resource": WEBSITES.plural, "shard": str(WHOLE)}


async def tells_the_time(ctx: Context, request: Request) -> Result:
    """A write every second, and none on the event that it causes."""
    now = int(asyncio.get_running_loop().time())
    told = ((ctx.store.get() or {}).get("status") or {}).get("now")
    if told != now:
        await ctx.client.patch_status({"now": now})
    return Result(requeue_after_seconds=1.0)


async def running(world: World, body: Callable[[Context, Request], Awaitable[Result]] = tells_the_time) -> Shard:
    made = Controller("web-sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    made.reconcile(body)
    world.website("a")
    return await world.running(made)


def skips(world: World) -> float:
    return world.metric("web_sites_stale_sync_skips_total", group=WEBSITES.group, resource=WEBSITES.plural)


async def test_a_view_that_keeps_up_has_no_lag_and_holds_nothing_back(world: World) -> None:
    shard = await running(world)
    await asyncio.sleep(10.5)
    shard.measure()
    assert world.metric("shardfleet_gate_lag_seconds", **LABELS) == 0
    assert world.metric("shardfleet_gate_longest_wait_seconds", **LABELS) == 0
    target = world.metric("shardfleet_gate_target_resource_version", controller="web-sites", **PLACE)
    assert 0 < target <= world.metric("informer_store_resource_version", name=str(WEBSITES), **PLACE)


async def test_a_view_that_lags_is_told_with_its_lag_what_it_waits_for_and_every_skip(world: World) -> None:
    shard = await running(world)
    await asyncio.sleep(5.5)
    world.server.faults.inject(Refuse(match=Match(verbs=("get",)), status=503))
    world.lag(WEBSITES)
    await asyncio.sleep(40)
    shard.measure()
    target = world.metric("shardfleet_gate_target_resource_version", controller="web-sites", **PLACE)
    assert target > world.metric("informer_store_resource_version", name=str(WEBSITES), **PLACE)
    assert 30 <= world.metric("shardfleet_gate_lag_seconds", **LABELS, resource=str(WEBSITES)) <= 40
    assert 30 <= world.metric("shardfleet_gate_longest_wait_seconds", **LABELS) <= 40
    assert world.metric("shardfleet_gate_parked", **LABELS) == 1
    assert 5 <= world.metric("shardfleet_gate_consecutive_skips", **LABELS) <= skips(world) <= 40
    assert world.metric("shardfleet_gate_live_reads_total", **LABELS, result="failed") > 3


async def test_how_long_a_key_was_held_back_is_told_when_it_runs(world: World) -> None:
    await running(world)
    await asyncio.sleep(2.5)
    before = world.metric("shardfleet_gate_wait_seconds_sum", controller="web-sites")
    world.lag(WEBSITES)
    await asyncio.sleep(20)
    assert world.metric("shardfleet_gate_wait_seconds_count", controller="web-sites") >= 3
    assert 6 <= world.metric("shardfleet_gate_wait_seconds_sum", controller="web-sites") - before <= 20


async def test_a_lost_answer_is_in_doubt_until_it_was_read(world: World) -> None:
    shard = await running(world)
    await asyncio.sleep(2.5)
    refusal = world.server.faults.inject(Refuse(match=Match(verbs=("get",)), status=503))
    world.server.faults.inject(LostAck(match=Match(verbs=("patch",)), times=1))
    await asyncio.sleep(10)
    shard.measure()
    assert world.metric("shardfleet_gate_in_doubt_writes", **LABELS) == 1
    refusal.release()
    await asyncio.sleep(20)
    shard.measure()
    assert world.metric("shardfleet_gate_in_doubt_writes", **LABELS) == 0


async def test_with_the_gate_off_what_would_have_been_skipped_is_counted_apart() -> None:
    world = World(settings=ShardSettings(gate=GateSettings(enabled=False)))
    try:
        await running(world)
        await asyncio.sleep(2.5)
        world.lag(WEBSITES)
        await asyncio.sleep(20)
        assert skips(world) == 0
        assert world.metric("shardfleet_gate_off_skips_total", **LABELS, resource=str(WEBSITES)) >= 10
        assert world.metric("shardfleet_gate_parked", **LABELS) == 0
    finally:
        await world.close()


async def test_a_breaker_is_told_with_its_state(world: World) -> None:
    shard = await running(world)
    world.server.faults.inject(Refuse(match=Match(verbs=("get",)), status=503))
    world.server.faults.inject(LostAck(match=Match(verbs=("patch",)), times=1))
    await asyncio.sleep(40)
    shard.measure()
    states = {each: world.metric("shardfleet_breaker_state", state=each) for each in ("closed", "open", "half-open")}
    assert states["closed"] == 0
    assert sum(states.values()) == 1


async def test_a_key_that_takes_most_reconciles_is_told_and_named_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def never_content(ctx: Context, request: Request) -> Result:
        return Result(requeue_after_seconds=0.1 if request.name == "a" else 10.0)

    world.website("b")
    with caplog.at_level(logging.WARNING):
        shard = await running(world, never_content)
        await asyncio.sleep(65)
        shard.measure()
    assert world.metric("shardfleet_busiest_key_reconciles_per_second", **LABELS) == pytest.approx(10, rel=0.2)
    assert world.metric("shardfleet_busiest_key_share", **LABELS) > 0.9
    assert [record.getMessage() for record in caplog.records if "default/a is reconciled" in record.getMessage()]


async def test_the_series_of_a_shard_end_with_it(world: World) -> None:
    shard = await running(world)
    await asyncio.sleep(5)
    shard.measure()
    await shard.stop()
    assert not {
        sample.name
        for family in world.registry.collect()
        for sample in family.samples
        if sample.labels.get("shard") == str(WHOLE)
    }
