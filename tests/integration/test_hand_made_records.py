"""Objects of a fleet that somebody deleted, edited, mangled or restored (R14), and those that nobody needs any more
(R15). On the embedded server in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet.rules.absences import FORGET_SECONDS, LONGEST_REQUEST_SECONDS
from shards.objects import Object
from tests.integration.small_fleet import LEASE_SECONDS, SmallFleet, eventually, running
from tests.integration.test_ownership import CONFIG_MAPS, LEASES, status_writer

pytestmark = pytest.mark.looptime


def fleet_of(shards: int) -> SmallFleet:
    return SmallFleet(status_writer, shards=shards)


async def leases(fleet: SmallFleet, part: str) -> dict[str, Object]:
    found = (await fleet.client.list(LEASES, "default"))["items"]
    return {each["metadata"]["name"]: each for each in found if part in each["metadata"]["name"]}


async def recovered(fleet: SmallFleet, seconds: float = 4 * LEASE_SECONDS) -> None:
    """All is owned and open, and stays so."""
    await asyncio.sleep(LEASE_SECONDS)
    await fleet.all_open(within_seconds=seconds)
    owners = fleet.open_ranges()
    await asyncio.sleep(LEASE_SECONDS)
    assert fleet.open_ranges().keys() == owners.keys()


async def test_a_scale_down_from_five_to_two_leaves_no_record_behind_and_no_epoch_comes_again() -> None:
    async with running(fleet_of(8), "a", "b", "c", "d", "e") as fleet:
        before = {name: each["spec"]["leaseTransitions"] for name, each in (await leases(fleet, "-member-")).items()}
        for name in ("e", "d"):
            await fleet.leave(name)
        await fleet.crash("c")
        await asyncio.sleep(FORGET_SECONDS + 3 * LEASE_SECONDS)
        assert set(await leases(fleet, "-member-")) == {"web-member-a", "web-member-b"}
        for name in ("c", "d", "e"):
            fleet.join(name)
        await asyncio.sleep(2 * LEASE_SECONDS)  # shard Leases may know them still
        after = {name: each["spec"]["leaseTransitions"] for name, each in (await leases(fleet, "-member-")).items()}
        assert len(after) == 5
        assert all(after[name] > before[name] for name in ("web-member-c", "web-member-d", "web-member-e"))
        await recovered(fleet)


async def test_a_member_that_comes_back_in_time_finds_its_record() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await fleet.leave("b")
        uid = (await fleet.client.get(LEASES, "default", "web-member-b"))["metadata"]["uid"]
        await asyncio.sleep(FORGET_SECONDS - 2 * LEASE_SECONDS)
        fleet.join("b")
        await asyncio.sleep(FORGET_SECONDS)
        assert (await fleet.client.get(LEASES, "default", "web-member-b"))["metadata"]["uid"] == uid


async def patched(fleet: SmallFleet, name: str, change: dict[str, Any]) -> None:
    await fleet.client.merge_patch(LEASES, "default", name, change)


async def first_shard(fleet: SmallFleet, member: str) -> str:
    return next(
        name
        for name, each in sorted((await leases(fleet, "-shard-")).items())
        if str(each["spec"].get("holderIdentity", "")).startswith(f"{member}@")
    )


EDITS: dict[str, dict[str, Any]] = {
    "names nobody": {"spec": {"holderIdentity": None}},
    "names somebody unknown": {"spec": {"holderIdentity": "stranger@1"}},
    "names what is no holder": {"spec": {"holderIdentity": "what?"}},
    "has a later epoch": {"spec": {"leaseTransitions": 40}},
    "has no epoch": {"spec": {"leaseTransitions": None}},
    "has lost its notes": {"metadata": {"annotations": None}},
    "has lost its labels": {"metadata": {"labels": None}},
    "is said to be retired": {"metadata": {"annotations": {"shardfleet.dev/status": "retired"}}},
}


@pytest.mark.parametrize("edit", EDITS)
async def test_a_shard_lease_that_somebody_edited_so_that_it(edit: str) -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await patched(fleet, await first_shard(fleet, "b"), EDITS[edit])
        await recovered(fleet)


MEMBER_EDITS: dict[str, dict[str, Any]] = {
    "names nobody": {"spec": {"holderIdentity": None}},
    "names somebody else": {"spec": {"holderIdentity": "another/1"}},
    "has a later epoch": {"spec": {"leaseTransitions": 40}},
    "has an earlier epoch": {"spec": {"leaseTransitions": 0}},
    "has lost its notes": {"metadata": {"annotations": None}},
    "has lost its labels": {"metadata": {"labels": None}},
}


@pytest.mark.parametrize("edit", MEMBER_EDITS)
async def test_a_member_lease_that_somebody_edited_so_that_it(edit: str) -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        await patched(fleet, "web-member-b", MEMBER_EDITS[edit])
        await recovered(fleet)
        assert set(fleet.open_ranges().values()) == {"a", "b"}


async def test_what_a_dead_member_held_is_owned_again_though_a_hand_lowered_its_epoch() -> None:
    """The fence goes above what the shard Leases name, not above what the hand wrote."""
    async with running(fleet_of(4), "a", "b") as fleet:
        await fleet.crash("b")
        lower = {"metadata": {"annotations": {"shardfleet.dev/epoch": "0"}}, "spec": {"leaseTransitions": 0}}
        await patched(fleet, "web-member-b", lower)
        await recovered(fleet)
        assert set(fleet.open_ranges().values()) == {"a"}


async def test_the_coordinators_lease_that_somebody_deleted_or_edited_costs_a_term_and_no_owner() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        await fleet.client.delete(LEASES, "default", "web-coordinator")
        await asyncio.sleep(3 * LEASE_SECONDS)
        await patched(fleet, "web-coordinator", {"spec": {"holderIdentity": "somebody", "leaseTransitions": 0}})
        await asyncio.sleep(3 * LEASE_SECONDS)
        assert fleet.open_ranges() == owners
        seated = fleet.coordinator
        assert seated is not None
        await eventually(lambda: seated.in_office, within_seconds=80, what="it is in office again")
        fleet.join("c")
        await eventually(lambda: "c" in fleet.open_ranges().values(), within_seconds=20, what="c owns something")


@pytest.mark.parametrize("text", ["", "{", '{"protocol": "one"}', "[" * 5000], ids=["empty", "cut", "odd", "deep"])
async def test_a_map_that_somebody_mangled_is_rebuilt_while_owners_keep_what_they_have(text: str) -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        await fleet.client.merge_patch(CONFIG_MAPS, "default", "web-map", {"data": {"map.json": text}})
        for _ in range(100):
            await asyncio.sleep(0.1)
            assert fleet.open_ranges() == owners
        fleet.join("c")
        await eventually(lambda: "c" in fleet.open_ranges().values(), within_seconds=20, what="c owns something")


async def test_every_object_of_the_fleet_deleted_at_once_comes_back() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        for name in [*(await leases(fleet, "web-"))]:
            await fleet.client.delete(LEASES, "default", name)
        await fleet.client.delete(CONFIG_MAPS, "default", "web-map")
        await recovered(fleet, seconds=10 * LEASE_SECONDS)


async def test_retired_leases_of_a_former_layout_go_and_their_epochs_stay_in_the_map() -> None:
    async with running(fleet_of(4), "a", "b") as fleet:
        name = await first_shard(fleet, "a")
        found = await fleet.client.get(LEASES, "default", name)
        body: Object = {
            **found,
            "metadata": {
                "name": "web-shard-uidv1-0000000000000000-0000000000000fff",
                "labels": found["metadata"]["labels"],
                "annotations": {
                    **found["metadata"]["annotations"],
                    "shardfleet.dev/status": "retired",
                    "shardfleet.dev/released": "9",
                },
            },
            "spec": {**found["spec"], "holderIdentity": None, "leaseTransitions": 9},
        }
        await fleet.client.create(LEASES, "default", body)
        await asyncio.sleep(LEASE_SECONDS + LONGEST_REQUEST_SECONDS + 5)
        assert not await leases(fleet, "0000000000000fff")
        text = (await fleet.client.get(CONFIG_MAPS, "default", "web-map"))["data"]["map.json"]
        assert '"0000000000000000-0000000000000fff": 9' in text
