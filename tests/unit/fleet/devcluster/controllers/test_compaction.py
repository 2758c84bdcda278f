from __future__ import annotations

import asyncio
import contextlib

import pytest

from fleet.devcluster.controllers.compaction import compact_for_ever
from fleet.devcluster.serversettings import ServerSettings
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map

pytestmark = pytest.mark.looptime


async def test_a_version_can_be_listed_for_one_to_two_intervals() -> None:
    cluster = Cluster.make(ServerSettings(compaction_seconds=300))
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
    exact = {"resourceVersion": made["metadata"]["resourceVersion"], "resourceVersionMatch": "Exact"}
    running = asyncio.create_task(cluster.server.run_controllers())
    await asyncio.sleep(301)
    assert (await cluster.ask("GET", CONFIG_MAPS.path(), **exact))[0] == 200
    await asyncio.sleep(300)
    assert (await cluster.ask("GET", CONFIG_MAPS.path(), **exact))[0] == 410
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def test_without_an_interval_nothing_is_forgotten() -> None:
    await asyncio.wait_for(compact_for_ever(Cluster.make().server.storage, 0), 1)
