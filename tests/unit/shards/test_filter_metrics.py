from __future__ import annotations

import asyncio

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.watching.source import FilterMode
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, World

pytestmark = pytest.mark.looptime

SELECTOR = FilterMode.SHARD_SELECTOR
OF_SITES = {"resource": str(WEBSITES), "filter": "shard-selector"}


def verdicts(world: World) -> dict[str, float]:
    world.runtime.measure()
    return {
        each: world.metric("shardfleet_server_side_sharding", **OF_SITES, verdict=each)
        for each in ("proven", "refuted", "unknown")
    }


async def test_what_is_known_of_a_filter_is_one_of_three(world: World) -> None:
    ladder = world.runtime.filters
    rung = ladder.rung(WEBSITES, SELECTOR)
    assert verdicts(world) == {"proven": 0, "refuted": 0, "unknown": 1}
    ladder.answered(rung, True, "because")
    assert verdicts(world) == {"proven": 1, "refuted": 0, "unknown": 0}
    ladder.foreign(WEBSITES, SELECTOR)
    assert verdicts(world) == {"proven": 0, "refuted": 1, "unknown": 0}
    assert world.metric("shardfleet_server_side_sharding_changes_total", **OF_SITES) == 2


async def test_foreign_objects_are_counted_once_however_often_one_looks(world: World) -> None:
    ladder = world.runtime.filters
    for _ in range(3):
        ladder.foreign(WEBSITES, SELECTOR)
    world.runtime.measure()
    world.runtime.measure()
    assert world.metric("shardfleet_server_side_sharding_foreign_total", **OF_SITES) == 3


async def test_the_age_of_the_last_answer_grows(world: World) -> None:
    ladder = world.runtime.filters
    ladder.answered(ladder.rung(WEBSITES, SELECTOR), False, "because")
    await asyncio.sleep(30)
    world.runtime.measure()
    assert world.metric("shardfleet_server_side_sharding_probe_age_seconds", **OF_SITES) == pytest.approx(30)


async def test_each_view_of_a_shard_says_what_it_stands_on_and_its_series_go_with_it(world: World) -> None:
    controller = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None: ...

    shard = await world.running(controller)
    shard.measure()
    of = {"shard": str(shard.range)}
    assert world.metric("shardfleet_view_filter", view=str(WEBSITES), filter="local", **of) == 1
    assert world.metric("shardfleet_view_filter", view=str(CONFIGMAPS), filter="slot-labels", **of) == 1
    await shard.stop()
    shard.measure()  # as who is asked for metrics in that moment does
    families = {family.name: family for family in world.registry.collect()}
    left = [
        sample
        for name in ("shardfleet_view_filter", "shardfleet_view_age_seconds", "shardfleet_feature_enabled")
        for sample in families[name].samples
        if sample.labels["shard"] == str(shard.range)
    ]
    assert left == []
