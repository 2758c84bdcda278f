"""`fleet uninstall` removes what a fleet keeps, and nothing else, and only when nobody lives in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet.records.controls import Controls, Order
from fleet.records.object_names import Kind
from fleet.records.record import DocumentName
from fleet.removal import FORCE_SECONDS, StillAlive, alive, check_nobody_lives, counted, kept, left, remove
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import WEBSITES, SmallFleet, running, website
from tests.integration.test_orders import NAMES, ordered
from tests.integration.test_ownership import CONFIG_MAPS, LEASES, settled, status_writer

pytestmark = pytest.mark.looptime


def today() -> float:
    """As the fleet's timestamps say: they stand still in these tests."""
    return 1.0e9


def long_after() -> float:
    return 1.0e9 + 3600


async def names_left(fleet: SmallFleet) -> set[str]:
    found: list[Any] = []
    for resource in (LEASES, CONFIG_MAPS):
        found += (await fleet.client.list(resource, "default"))["items"]
    return {each["metadata"]["name"] for each in found}


async def test_nothing_is_removed_while_a_member_lives_and_it_is_said_who() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        before = await names_left(fleet)
        with pytest.raises(StillAlive, match="a, b of web live, so nothing was removed"):
            await check_nobody_lives(fleet.client, NAMES, force=False, today=today, tell=lambda _: None)
        assert await names_left(fleet) == before
        told: list[str] = []
        began = loop_seconds()
        await check_nobody_lives(fleet.client, NAMES, force=True, today=today, tell=told.append)
        assert loop_seconds() - began >= FORCE_SECONDS
        assert told == [
            "a, b of web live, and will stop and begin anew: removing all the same in 30 s; Ctrl-C ends this"
        ]


async def test_everything_that_the_fleet_keeps_goes_and_the_users_objects_stay() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        for number in range(4):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await fleet.client.create(
            CONFIG_MAPS, "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-pages"}}
        )
        await settled(fleet, 4)
        await ordered(fleet, Controls().freeze(Order()))
        await fleet.leave("a")
        await fleet.crash("b")
        await fleet.crash("agent")
        await asyncio.sleep(30)
        await check_nobody_lives(fleet.client, NAMES, force=False, today=long_after, tell=lambda _: None)
        found = await kept(fleet.client, NAMES)
        gone = await remove(fleet.client, NAMES, found)
        assert (gone["map"], gone["document"], gone["shard"], gone["member"], gone["coordinator"]) == (1, 1, 4, 2, 1)
        assert gone["event"] > 0
        assert await names_left(fleet) == {"web-pages"}
        assert len((await fleet.client.list(WEBSITES, "default"))["items"]) == 4
        assert await kept(fleet.client, NAMES) == []
        assert await remove(fleet.client, NAMES, found) == {}


async def test_the_config_stays_since_people_wrote_it_and_pods_mount_it() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a") as fleet:
        name, labels = NAMES.document(DocumentName.CONFIG), NAMES.labels(Kind.DOCUMENT)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
        await fleet.client.create(CONFIG_MAPS, "default", {**body, "data": {"fleet.yaml": "fleet: web\n"}})
        found = await kept(fleet.client, NAMES)
        assert name not in {each.name for each in found}
        assert f"the config, if it is in a ConfigMap {name}" in left(NAMES)


async def test_a_member_whose_clock_is_behind_is_seen_alive_by_its_renewals() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a") as fleet:
        assert await alive(fleet.client, NAMES, today=long_after) == ["a"]


def test_what_was_removed_is_told_in_numbers() -> None:
    assert counted({"map": 1, "shard": 16, "": 1}) == "1 map, 16 shard Leases, 1 other object"
    assert counted({}) == "nothing"
