"""`kubectl get events` tells the story of a fleet. On the embedded server in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet.backends.event_poster import BURST
from fleet.records.controls import Controls, Order
from fleet.records.object_names import EVENTS
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_orders import ordered
from tests.integration.test_ownership import status_writer

pytestmark = pytest.mark.looptime


async def told(fleet: SmallFleet, reason: str = "") -> list[dict[str, Any]]:
    await asyncio.sleep(1)
    found = (await fleet.client.list(EVENTS, "default"))["items"]
    return [each for each in found if reason in ("", each["reason"])]


async def test_the_life_of_a_fleet_is_told() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        await ordered(fleet, Controls().freeze(Order("ann", "incident 12")))
        await asyncio.sleep(1)
        await ordered(fleet, Controls())
        fleet.join("c")
        await eventually(lambda: "c" in fleet.open_ranges().values(), within_seconds=10, what="c owns something")
        await fleet.leave("c")
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 5)
        reasons = {each["reason"] for each in await told(fleet)}
        assert reasons >= {
            "InOffice",
            "Frozen",
            "Unfrozen",
            "MemberJoined",
            "Handover",
            "MemberLeaves",
            "MemberLeft",
            "Fenced",
            "Takeover",
        }
        [frozen] = await told(fleet, "Frozen")
        assert frozen["message"] == "nothing moves by choice any more, by order of ann: incident 12"
        [fenced] = await told(fleet, "Fenced")
        assert (fenced["type"], fenced["involvedObject"]["name"]) == ("Warning", "web-member-b")
        takeovers = await told(fleet, "Takeover")
        assert {each["involvedObject"]["kind"] for each in takeovers} == {"Lease"}
        assert all("fence from b" in each["message"] for each in takeovers)


async def test_events_are_none_for_objects_and_none_at_rest() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        before = await told(fleet)
        for number in range(50):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(30)
        assert await told(fleet) == before
        assert fleet.verdict().event_writes == len(before)


async def test_a_fleet_that_is_taken_over_whole_tells_it_in_a_few_events() -> None:
    async with running(SmallFleet(status_writer, shards=60), "a", "b") as fleet:
        before = len(await told(fleet))
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 5)
        await asyncio.sleep(15)
        assert len(await told(fleet)) - before <= 2 * BURST
        assert {each["reason"] for each in await told(fleet)} >= {"Takeover", "Fenced"}
