"""When faults begin and end, whatever the resolution of a clock."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults.words import (
    DelayAnswers,
    DelayEvents,
    Partition,
    Silence,
    SlowReader,
    Unreachable,
)
from shards.api.client import Client
from tests.unit.fleet.devcluster.faults.bench import CONFIG_MAPS, Bench, config_map
from tests.unit.fleet.devcluster.faults.scenes import STRUCK

pytestmark = pytest.mark.looptime

EARLY = 5e-10
"""Behind the resolution of a loop's clock: a timer for it fires that much early."""


@pytest.mark.parametrize("seconds", [0.5, 0.5 + EARLY, 0.7 - EARLY, 1 / 3])
async def test_a_fault_whose_timer_fires_a_hair_early_is_over_all_the_same(bench: Bench, seconds: float) -> None:
    async with bench.watch() as watch:
        for word in (
            Silence(match=STRUCK, until_seconds=seconds),
            Partition(match=STRUCK, way="to_client", until_seconds=seconds),
            DelayEvents(match=STRUCK, until_seconds=seconds),
            SlowReader(match=STRUCK, seconds=1000.0, until_seconds=seconds),
            DelayAnswers(match=STRUCK, seconds=1000.0, until_seconds=seconds),
        ):
            fault = bench.faults.inject(word)
            name = f"{word.__class__.__name__}.{seconds}".lower()
            async with asyncio.timeout(3.0):
                await Client(bench.transport, user_agent="struck").create(CONFIG_MAPS, "default", config_map(name))
                assert await watch.shown(1) == [("ADDED", name)]
                await asyncio.sleep(seconds)
            assert not fault.lasts(asyncio.get_running_loop().time())
            fault.release()


async def test_a_fault_whose_beginning_comes_a_hair_early_has_begun(bench: Bench) -> None:
    fault = bench.faults.inject(Unreachable(from_seconds=0.5 + EARLY))
    heard: list[bool] = []
    bench.faults.on_change.append(lambda: heard.append(bench.faults.refuses_all))
    await asyncio.sleep(0.6)
    assert heard == [True]
    fault.release()
    assert not bench.faults.refuses_all


async def test_a_released_fault_leaves_no_timer_behind(bench: Bench) -> None:
    heard: list[None] = []
    fault = bench.faults.inject(Silence(match=STRUCK, from_seconds=10, until_seconds=20))
    fault.release()
    bench.faults.on_change.append(lambda: heard.append(None))
    await asyncio.sleep(30)
    assert heard == []
