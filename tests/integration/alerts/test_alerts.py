"""Each alert fires on its own fault and on no other, and none on a fleet that is well.

The series are what the pods of a small fleet show, scraped every 15 s of virtual time; promtool evaluates the rules.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
import yaml

from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.alerts.faults import FAULTS, MEMBERS, WEBSITES, Injection, Scene
from tests.integration.alerts.promtool import RULES, STEP_SECONDS, Expected, Series, check, disagreement
from tests.integration.alerts.scraped_fleet import ScrapedFleet
from tests.integration.small_fleet import website

[GROUP] = yaml.safe_load(RULES.read_text())["groups"]
ALERTS = [rule["alert"] for rule in GROUP["rules"] if "alert" in rule]

SITES = 20
WELL_SECONDS = 120


async def recorded(inject: Injection | None, minutes: int) -> Series:
    """What is scraped of a fleet for two minutes in which it is well, and then while the fault lasts."""
    server = ApiServer(
        ServerSettings(bookmark_seconds=60.0),
        rng=random.Random(1),
        recorder=Recorder(clock=loop_seconds),
        wall_seconds=lambda: 1.0e9,
    )
    fleet = ScrapedFleet(lambda _: scene.sites(), lease_seconds=24.0, server=server)
    scene = Scene(fleet)
    try:
        await fleet.start(*MEMBERS)
        for index in range(SITES):
            await fleet.client.create(WEBSITES, "default", website(f"site-{index}"))
        await fleet.all_open(60.0)
        scene.meanwhile(lambda count: scene.change(f"site-{count % SITES}", count), 5.0)
        await fleet.scrape_for(WELL_SECONDS)
        if inject is not None:
            await inject(scene)
        await fleet.scrape_for(minutes * 60)
    finally:
        for task in scene.tasks:
            task.cancel()
        await asyncio.gather(*scene.tasks, return_exceptions=True)
        await fleet.stop()
    return fleet.series


@pytest.mark.looptime
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_by_its_own_alert_and_by_no_other(name: str, tmp_path: Path) -> None:
    inject, alert, minutes = FAULTS[name]
    series = await recorded(inject, minutes)
    end = WELL_SECONDS + minutes * 60 - STEP_SECONDS
    before = Expected(WELL_SECONDS, frozenset())
    told = [Expected(end, frozenset({alert})), Expected(end, frozenset({alert}), since_seconds=0)]
    assert disagreement(series, [before, *told], tmp_path) == ""


@pytest.mark.looptime
async def test_a_fleet_that_is_well_fires_none_for_ten_minutes(tmp_path: Path) -> None:
    series = await recorded(None, 10)
    end = WELL_SECONDS + 600 - STEP_SECONDS
    assert disagreement(series, [Expected(end, frozenset(), since_seconds=0)], tmp_path) == ""


def test_every_alert_has_a_fault_and_every_fault_its_own() -> None:
    assert sorted(alert for _, alert, _ in FAULTS.values()) == sorted(ALERTS)


def test_promtool_finds_no_fault_in_the_rules() -> None:
    assert check() == ""
