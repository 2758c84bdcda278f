from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from fleet.records.filter_record import FilterRecord
from fleet.workers.filter_records import filter_records
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.filtering.ladder import FilterLadder
from shards.keyrange import equal_boundaries, ranges_from
from shards.shard import Shard
from shards.watching.source import FilterMode
from tests.unit.shards.world import CONFIGMAPS, SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime


@pytest.fixture
async def shards() -> AsyncIterator[tuple[World, list[Shard]]]:
    world = World()
    yield world, []
    await world.close()


async def test_open_views_are_counted_by_what_they_stand_on(shards: tuple[World, list[Shard]]) -> None:
    world, _ = shards
    controller = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))
    controller.watches(str(SECRETS), map=lambda _: [])

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None: ...

    low, high = (world.shard(controller, each) for each in ranges_from(equal_boundaries(2)))
    await low.activate(world.tenure(of=low.range), None, previous_epoch=0)
    await asyncio.sleep(1)
    ladder = FilterLadder(world.clock, random.Random(1))
    rung = ladder.rung(WEBSITES, FilterMode.SHARD_SELECTOR)
    now = world.clock()
    ladder.answered(rung, False, "it ignores it")
    ladder.foreign(WEBSITES, FilterMode.SHARD_SELECTOR)
    found = filter_records([low, high], ladder, now + 10.0, 5000.0)
    assert set(found) == {
        FilterRecord(str(WEBSITES), "local", 1, "shard-selector", "refuted", "it ignores it", 1, 4990),
        FilterRecord(str(CONFIGMAPS), "slot-labels", 1, "slot-labels"),
        FilterRecord(str(SECRETS), "local", 1),
    }
