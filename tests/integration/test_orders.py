"""What people order of a running fleet: frozen, drained, and documents that somebody mangled. In virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.draining import drain_member, emptied, undrain_member
from fleet.office.standing_orders import GONE_SECONDS
from fleet.orders import OrderFailed, change_controls, coordination_of, order
from fleet.records.controls import Controls, Order, parse_controls
from fleet.records.object_names import Names
from fleet.status.status_reader import StatusReader
from fleet.status.statusview import FleetStatus
from shards.errors import ConfigError
from shards.objects import Object
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import LEASE_SECONDS, SmallFleet, eventually, running
from tests.integration.test_ownership import CONFIG_MAPS, LEASES, status_writer

pytestmark = pytest.mark.looptime

NAMES = Names("web", "default")


def fleet_of(shards: int) -> SmallFleet:
    return SmallFleet(status_writer, shards=shards)


def transport(fleet: SmallFleet) -> InProcessTransport:
    return InProcessTransport(fleet.server, clock=loop_seconds)


async def ordered(fleet: SmallFleet, controls: Controls) -> None:
    await change_controls(coordination_of(transport(fleet), NAMES, "test"), lambda _: controls)


async def drain(fleet: SmallFleet, name: str, why: str = "") -> str:
    return await drain_member(transport(fleet), NAMES, name, why, today=lambda: 1.0e9)


async def undrain(fleet: SmallFleet, name: str) -> str:
    return await undrain_member(transport(fleet), NAMES, name, today=lambda: 1.0e9)


async def empty(fleet: SmallFleet, name: str) -> list[str]:
    """What was told until it was."""
    told: list[str] = []
    assert await emptied(transport(fleet), NAMES, name, timeout_seconds=60, tell=told.append, today=lambda: 1.0e9)
    return told


async def status(fleet: SmallFleet) -> FleetStatus:
    return await StatusReader(fleet.client, NAMES, today=lambda: 1.0e9).read()


def owners(fleet: SmallFleet) -> set[str]:
    return set(fleet.open_ranges().values())


async def test_a_frozen_fleet_moves_nothing_to_a_member_that_joins_until_it_is_frozen_no_more() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await ordered(fleet, Controls().freeze(order("incident 12")))
        before = fleet.open_ranges()
        fleet.join("c")
        await asyncio.sleep(30)
        assert fleet.open_ranges() == before
        shown = await status(fleet)
        assert shown.frozen is not None
        assert shown.frozen.why == "incident 12"
        await ordered(fleet, Controls())
        await eventually(lambda: owners(fleet) == {"a", "b", "c"}, within_seconds=10, what="c owns something")


async def test_a_frozen_fleet_still_replaces_an_owner_that_is_gone() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await ordered(fleet, Controls().freeze(Order()))
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 4)
        assert owners(fleet) == {"a"}


async def test_a_member_of_a_frozen_fleet_hands_over_when_it_leaves() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await ordered(fleet, Controls().freeze(Order()))
        await fleet.leave("b")
        await fleet.all_open(within_seconds=2)
        assert fleet.verdict().takeovers == 0


async def test_a_drained_member_owns_nothing_stays_a_member_and_comes_back_when_it_may() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        said = await drain(fleet, "b", "disk")
        assert said == "b is drained: its 4 shards move to others, and it gets none until fleet undrain b"
        assert (await empty(fleet, "b"))[-1] == "b owns nothing any more"
        assert fleet.members["b"].member.holder is not None
        await fleet.all_open()
        assert owners(fleet) == {"a"}
        [row] = [row for row in (await status(fleet)).members if row.drained]
        assert (row.name, row.state) == ("b", "alive")
        assert fleet.verdict().takeovers == 0
        await asyncio.sleep(30)
        assert owners(fleet) == {"a"}
        assert (await undrain(fleet, "b")).startswith("b is drained no more; it was since ")
        await eventually(lambda: owners(fleet) == {"a", "b"}, within_seconds=10, what="b owns something again")


async def test_orders_that_were_given_already_change_nothing_and_say_so() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await drain(fleet, "b", "disk")
        document = await fleet.client.get(CONFIG_MAPS, "default", "web-controls")
        assert (await drain(fleet, "b", "other")).startswith("b is drained already, since ")
        assert (await fleet.client.get(CONFIG_MAPS, "default", "web-controls")) == document
        await undrain(fleet, "b")
        assert await undrain(fleet, "b") == "b was not drained"


async def test_a_name_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        for act in (drain(fleet, "c"), undrain(fleet, "c")):
            with pytest.raises(
                ConfigError, match="no member or pod of web is called 'c'; members are a, b; pods are a, b"
            ):
                await act
        with pytest.raises(Exception, match="not found"):
            await fleet.client.get(CONFIG_MAPS, "default", "web-controls")


async def test_draining_everybody_moves_nothing_and_says_so() -> None:
    async with running(fleet_of(4), "a") as fleet:
        assert "nobody else could take over" in await drain(fleet, "a")
        await asyncio.sleep(20)
        assert owners(fleet) == {"a"}
        await ordered(fleet, Controls().freeze(Order()))


async def mangled(fleet: SmallFleet, text: str) -> Object:
    return await fleet.client.merge_patch(CONFIG_MAPS, "default", "web-controls", {"data": {"controls.json": text}})


async def test_controls_that_somebody_mangled_change_nothing_and_are_told_of() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await ordered(fleet, Controls().freeze(Order(why="incident")))
        await asyncio.sleep(1)
        await mangled(fleet, '{"frozen": "no"}')
        before = fleet.open_ranges()
        fleet.join("c")
        await asyncio.sleep(20)
        assert fleet.open_ranges() == before
        assert "frozen: write an object" in (await status(fleet)).controls_trouble
        with pytest.raises(OrderFailed, match="ConfigMap web-controls cannot be read, so nothing was ordered: frozen"):
            await ordered(fleet, Controls())
        await mangled(fleet, "{}")
        await eventually(lambda: "c" in owners(fleet), within_seconds=10, what="c owns something")


async def test_a_coordinator_that_never_could_read_the_controls_moves_nothing_by_choice() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        await ordered(fleet, Controls())
        await ordered(fleet, Controls().freeze(Order()))
        await mangled(fleet, "{")
        await fleet.crash("agent")
        fleet.start_coordinator("agent-2")
        before = fleet.open_ranges()
        fleet.join("c")
        await asyncio.sleep(30)
        assert fleet.open_ranges() == before
        await fleet.crash("b")
        await eventually(lambda: owners(fleet) >= {"a"}, within_seconds=1, what="a goes on")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 4)


async def test_a_deleted_document_orders_nothing() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await drain(fleet, "b")
        await empty(fleet, "b")
        await fleet.client.delete(CONFIG_MAPS, "default", "web-controls")
        await eventually(lambda: owners(fleet) == {"a", "b"}, within_seconds=10, what="b owns something again")


async def test_the_order_to_drain_a_member_ends_when_it_is_gone_for_good_and_others_stay() -> None:
    async with running(fleet_of(4), "a", "b", "c") as fleet:
        controls = Controls().freeze(Order(why="x")).drain("b", Order()).drain("c", Order())
        await ordered(fleet, replace(controls, other={"ours": [1]}))
        await fleet.crash("b")
        await asyncio.sleep(3 * LEASE_SECONDS)
        await fleet.client.delete(LEASES, "default", "web-member-b")
        await asyncio.sleep(GONE_SECONDS + 5)
        found = await fleet.client.get(CONFIG_MAPS, "default", "web-controls")
        left = parse_controls(found["data"]["controls.json"])
        assert left == replace(controls.undrain("b"), other={"ours": [1]})
