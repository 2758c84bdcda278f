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
from tests.integration.alerts.faults import FAULTS, MEMBERS, Fault, Scene, deletions_that_were_too_many
from tests.integration.alerts.promtool import RULES, STEP_SECONDS, Expected, Labels, Series, check, disagreement
from tests.integration.alerts.scraped_fleet import ScrapedFleet
from tests.integration.small_fleet import WEBSITES, website


def seconds(text: str) -> int:
    """Of a duration such as 30s or 10m."""
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


[GROUP] = yaml.safe_load(RULES.read_text())["groups"]
ALERTS = [rule["alert"] for rule in GROUP["rules"] if "alert" in rule]

LASTING = {rule["alert"]: seconds(rule.get("for", "0s")) for rule in GROUP["rules"] if "alert" in rule}
"""How long each must hold."""
GROWING = ("_total", "_sum", "_count", "_bucket")

SITES = 20
WELL_SECONDS = 120
HEALED_SECONDS = 1800


async def recorded(fault: Fault) -> Series:
    """What is scraped of a fleet for two minutes in which it is well, and then while the fault lasts."""
    server = ApiServer(
        ServerSettings(bookmark_seconds=60.0),
        rng=random.Random(1),
        recorder=Recorder(clock=loop_seconds),
        wall_seconds=lambda: 1.0e9,
    )
    fleet = ScrapedFleet(lambda _: scene.sites(), lease_seconds=24.0, server=server, slots=fault.slots)
    scene = Scene(fleet)
    try:
        await fleet.start(*MEMBERS)
        for index in range(SITES):
            await fleet.client.create(WEBSITES, "default", website(f"site-{index}"))
        await fleet.all_open(60.0)
        scene.meanwhile(lambda count: scene.change(f"site-{count % SITES}", count), 5.0)
        await fleet.scrape_for(WELL_SECONDS)
        await fault.inject(scene)
        await fleet.scrape_for(fault.minutes * 60)
    finally:
        for task in scene.tasks:
            task.cancel()
        await asyncio.gather(*scene.tasks, return_exceptions=True)
        await fleet.stop()
    return fleet.series


def healed(series: Series, scrapes: int) -> Series:
    """The same, and then half an hour in which nothing is counted, and gauges show what they did before the fault."""
    found: dict[Labels, list[float | None]] = {}
    for labels, samples in series.items():
        padded = samples + [None] * (scrapes - len(samples))
        grows = dict(labels)["__name__"].endswith(GROWING)
        known = [each for each in samples if each is not None]
        after = known[-1] if grows else padded[WELL_SECONDS // STEP_SECONDS - 1]
        found[labels] = padded + [after] * (HEALED_SECONDS // STEP_SECONDS)
    return found


@pytest.mark.looptime(noop_cycles=0)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_by_its_own_alert_and_by_no_other(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    series = await recorded(fault)
    end, alert = WELL_SECONDS + fault.minutes * 60 - STEP_SECONDS, fault.alert
    own, none = frozenset({alert}), frozenset[str]()
    told = [
        Expected(WELL_SECONDS - STEP_SECONDS + LASTING[alert], none),
        Expected(end, own),
        Expected(end, own | fault.also, since_seconds=0),
        Expected(end + HEALED_SECONDS, none),
    ]
    assert disagreement(healed(series, end // STEP_SECONDS + 1), told, tmp_path) == ""


@pytest.mark.looptime(noop_cycles=0)
async def test_a_fleet_that_is_well_fires_none_for_ten_minutes(tmp_path: Path) -> None:
    async def nothing(scene: Scene) -> None: ...

    series = await recorded(Fault(nothing, "", 10))
    end = WELL_SECONDS + 600 - STEP_SECONDS
    assert disagreement(series, [Expected(end, frozenset(), since_seconds=0)], tmp_path) == ""


@pytest.mark.looptime(noop_cycles=0)
async def test_a_breaker_that_nobody_asks_any_more_pauses_nothing(tmp_path: Path) -> None:
    """It stays half-open until the next live read."""
    series = await recorded(Fault(deletions_that_were_too_many, "", 10))
    end = WELL_SECONDS + 600 - STEP_SECONDS
    assert disagreement(series, [Expected(end, frozenset(), since_seconds=0)], tmp_path) == ""


def test_every_alert_has_a_fault_and_every_fault_its_own() -> None:
    assert sorted(fault.alert for fault in FAULTS.values()) == sorted(ALERTS)


def test_promtool_finds_no_fault_in_the_rules() -> None:
    assert check() == ""
