"""Members that live and do nothing, and a coordinator that cannot see or cannot write (R13). In virtual time."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import ExpireWatch, Refuse, Silence
from fleet.status.status_reader import StatusReader
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_orders import NAMES
from tests.integration.test_ownership import LEASES, status_writer

pytestmark = pytest.mark.looptime


def fleet_of(shards: int) -> SmallFleet:
    return SmallFleet(status_writer, shards=shards)


async def test_a_worker_whose_view_of_the_records_is_stuck_gives_everything_up_within_a_lease_or_two() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        epoch = fleet.members["b"].member.epoch
        for verbs in (("watch",), ("get", "list")):
            fleet.server.faults.inject(Silence(match=Match(member="b", verbs=verbs, resource=str(LEASES))))
        await eventually(
            lambda: set(fleet.open_ranges().values()) == {"a"} and len(fleet.open_ranges()) == 4,
            within_seconds=5 * LEASE_SECONDS,
            what="a has it all",
        )
        assert fleet.members["b"].member.holder is None or fleet.members["b"].member.epoch > epoch


async def test_a_target_that_never_gets_ready_loses_the_range_and_the_owner_keeps_it_meanwhile() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        fleet.server.faults.inject(Refuse(match=Match(member="c", resource=str(WEBSITES)), status=403))
        fleet.join("c")
        for _ in range(20):
            await asyncio.sleep(5)
            assert len(fleet.open_ranges()) == 4
            assert "c" not in fleet.open_ranges().values()
        assert fleet.open_ranges() == owners
        assert fleet.coordinator is not None
        assert any("c" in names for names in fleet.coordinator.memory.barred.values())


async def test_a_worker_whose_shards_never_open_says_so_where_people_look() -> None:
    async with running(fleet_of(2), "a") as fleet:
        refused = Match(member="b", verbs=("list", "watch"), resource=str(WEBSITES))
        fleet.server.faults.inject(Refuse(match=refused, status=403))
        await fleet.crash("a")
        fleet.join("b")
        await asyncio.sleep(8 * LEASE_SECONDS)
        assert not fleet.open_ranges()
        found = await StatusReader(fleet.client, NAMES, today=lambda: 1.0e9).read()
        assert all(row.why for row in found.shards)


async def test_a_coordinator_that_cannot_see_gives_its_office_to_one_that_can() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        first = fleet.coordinator
        assert first is not None
        fleet.start_coordinator("agent-2")
        second = fleet.coordinator
        assert second is not None
        for verbs in (("watch",), ("list",)):
            fleet.server.faults.inject(Silence(match=Match(member="agent", verbs=verbs, resource=str(LEASES))))
        await eventually(lambda: second.in_office, within_seconds=6 * LEASE_SECONDS, what="the other one is in office")
        assert not first.in_office
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 6)


async def test_a_coordinator_that_cannot_write_loses_its_office_to_one_that_can() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        first = fleet.coordinator
        assert first is not None
        fleet.start_coordinator("agent-2")
        second = fleet.coordinator
        assert second is not None
        fleet.server.faults.inject(Refuse(match=Match(member="agent", verbs=("create", "update", "patch")), status=403))
        await eventually(lambda: second.in_office, within_seconds=4 * LEASE_SECONDS, what="the other one is in office")
        assert not first.in_office
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 6)


async def test_owners_outlive_a_coordinator_that_nobody_replaces() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        fleet.server.faults.inject(Refuse(match=Match(member="agent"), status=503))
        fleet.server.faults.inject(ExpireWatch(match=Match(member="agent")))
        for _ in range(20):
            await asyncio.sleep(LEASE_SECONDS)
            assert fleet.open_ranges() == owners
        await fleet.client.create(WEBSITES, "default", website("site-0"))
        await eventually(lambda: bool(fleet.writes(WEBSITES, "status")), within_seconds=5, what="it is reconciled")
