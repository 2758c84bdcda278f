"""A second fleet under the same name, and records of another version of the protocol (R16): refused with a sentence,
and without stopping what runs. On the embedded server in virtual time."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fleet.records.coordination import ProtocolMismatch
from fleet.rules.refusal import Refused
from fleet.status.status_reader import StatusReader
from shards import Context, Controller, Request
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_hand_made_records import first_shard, fleet_of, patched
from tests.integration.test_orders import NAMES
from tests.integration.test_ownership import CONFIG_MAPS, LEASES

pytestmark = pytest.mark.looptime

OTHER = {"metadata": {"annotations": {"shardfleet.dev/protocol": "99"}}}


def pages(member: str) -> Controller:
    """Another controller than those fleets have."""
    made = Controller("pages", primary="v1/configmaps")

    @made.reconcile
    async def reconcile(ctx: Context, request: Request) -> None: ...

    return made


async def goes_on(fleet: SmallFleet, seconds: float = 4 * LEASE_SECONDS) -> None:
    """Nobody loses a membership for so long, and objects are reconciled."""
    epochs = {name: worker.member.epoch for name, worker in fleet.members.items()}
    await asyncio.sleep(seconds)
    assert {name: worker.member.epoch for name, worker in fleet.members.items()} == epochs


async def ends(fleet: SmallFleet, name: str) -> BaseException | None:
    """How that member's process ended."""
    task = fleet._tasks.pop(name)
    await asyncio.wait([task], timeout=5 * LEASE_SECONDS)
    assert task.done(), "it runs"
    return task.exception()


async def test_the_same_controllers_from_another_supervisor_are_more_of_the_same_fleet() -> None:
    async with running(fleet_of(8), "a", "b") as fleet:
        fleet.join("other-c")
        await eventually(lambda: "other-c" in fleet.open_ranges().values(), within_seconds=20, what="it owns something")


async def test_other_controllers_under_the_same_name_are_refused_with_one_sentence_and_what_runs_goes_on() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        fleet.make_controller = pages
        fleet.join("c")
        error = await ends(fleet, "c")
        fleet.members.pop("c")
        assert isinstance(error, Refused)
        assert "already runs other controllers" in str(error)
        assert "give this one another `fleet:` name" in str(error)
        await goes_on(fleet)
        assert len(fleet.open_ranges()) == 4


async def test_a_shard_record_of_another_protocol_costs_that_range_its_owner_and_nobody_else_anything() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        name = await first_shard(fleet, "b")
        await patched(fleet, name, OTHER)
        await goes_on(fleet)
        assert len(fleet.open_ranges()) == 3
        found = await StatusReader(fleet.client, NAMES, today=lambda: 1.0e9).read()
        [row] = [row for row in found.shards if not row.owner]
        assert "another version of the protocol" in row.why
        for number in range(8):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        fleet.join("c")
        await eventually(lambda: "c" in fleet.open_ranges().values(), within_seconds=20, what="c owns something")
        await patched(fleet, name, {"metadata": {"annotations": {"shardfleet.dev/protocol": "1"}}})
        await fleet.all_open(within_seconds=20)


async def test_a_member_record_of_another_protocol_is_given_nothing_and_stops_nobody() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        lease = await fleet.client.get(LEASES, "default", "web-member-b")
        body = {
            **lease,
            "metadata": {
                "name": "web-member-new",
                "labels": lease["metadata"]["labels"],
                "annotations": {"shardfleet.dev/protocol": "99"},
            },
        }
        await fleet.client.create(LEASES, "default", body)
        await goes_on(fleet)
        await fleet.crash("b")
        await fleet.all_open(within_seconds=LEASE_SECONDS + 6)
        assert set(fleet.open_ranges().values()) == {"a"}


async def test_a_member_whose_own_record_somebody_gave_another_protocol_waits_and_the_others_go_on() -> None:
    made = fleet_of(4)
    made.breaks = frozenset({"I24"})  # nobody may fence a record that nobody can read
    async with running(made, "a", "b") as fleet:
        await patched(fleet, "web-member-b", OTHER)
        await asyncio.sleep(3 * LEASE_SECONDS)
        assert fleet.members["b"].member.holder is None
        assert not fleet._tasks["b"].done()
        assert set(fleet.open_ranges().values()) == {"a"}
        await patched(fleet, "web-member-b", {"metadata": {"annotations": {"shardfleet.dev/protocol": "1"}}})
        await fleet.all_open(within_seconds=10 * LEASE_SECONDS)


async def test_a_map_of_another_protocol_is_not_overwritten_and_owners_keep_what_they_have() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        before = await fleet.client.get(CONFIG_MAPS, "default", "web-map")
        text = msgspec.json.encode({"protocol": 99, "hashVersion": 1}).decode()
        await fleet.client.merge_patch(CONFIG_MAPS, "default", "web-map", {"data": {"map.json": text}})
        await goes_on(fleet, 10 * LEASE_SECONDS)
        assert fleet.open_ranges() == owners
        found = await fleet.client.get(CONFIG_MAPS, "default", "web-map")
        assert found["data"]["map.json"] == text
        fleet.join("c")
        error = await ends(fleet, "c")
        fleet.members.pop("c")
        assert isinstance(error, ProtocolMismatch)
        assert "has protocol 99" in str(error)
        await fleet.client.merge_patch(CONFIG_MAPS, "default", "web-map", {"data": before["data"]})
        fleet.join("d")
        await eventually(lambda: "d" in fleet.open_ranges().values(), within_seconds=20, what="d owns something")
