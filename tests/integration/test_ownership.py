"""Who owns what, through joins, leaves, deaths and hands that meddle: on the embedded server in virtual time."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from fleet.records.record import ShardStatus
from shards import Context, Controller, Request
from shards.objects import Object, Resource
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

LEASES = Resource.parse("coordination.k8s.io/v1/leases")
CONFIG_MAPS = Resource.parse("v1/configmaps")


@pytest.fixture(autouse=True, params=[True, False], ids=["filtered by the server", "one shared watch"])
def who_filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallFleet, "server_side_sharding", request.param)


def status_writer(member: str) -> Controller:
    """Notes in the status who looked at which generation."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None:
            await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})

    return websites


async def add_websites(fleet: SmallFleet, count: int, prefix: str = "site") -> None:
    for i in range(count):
        await fleet.client.create(WEBSITES, "default", website(f"{prefix}-{i}"))


async def settled(fleet: SmallFleet, count: int, within_seconds: float = 10.0) -> None:
    await eventually(
        lambda: len({entry.name for entry in fleet.writes(WEBSITES, "status")}) == count,
        within_seconds=within_seconds,
        what=f"{count} websites have a status",
    )


async def test_every_key_is_reconciled_by_the_member_that_owns_its_range() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b") as fleet:
        await add_websites(fleet, 40)
        await settled(fleet, 40)
        assert set(fleet.open_ranges().values()) == {"a", "b"}
        assert len(fleet.writes(WEBSITES, "status", member="a")) > 0
        assert len(fleet.writes(WEBSITES, "status")) == 40


async def test_a_member_that_joins_costs_three_lease_writes_per_moved_shard_and_one_map_write() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b") as fleet:
        await add_websites(fleet, 20)
        await settled(fleet, 20)
        before = fleet.verdict()
        fleet.join("c")
        await eventually(
            lambda: "c" in fleet.open_ranges().values() and len(fleet.open_ranges()) == 8,
            within_seconds=10,
            what="c owns something",
        )
        await asyncio.sleep(5)
        after = fleet.verdict()
        moved = [each for each, owner in fleet.open_ranges().items() if owner == "c"]
        spent = {
            each: count - before.lease_writes_per_range[each]
            for each, count in after.lease_writes_per_range.items()
            if count != before.lease_writes_per_range[each]
        }
        assert len(moved) == 2
        assert spent == {str(each): 3 for each in moved}
        assert after.map_writes - before.map_writes == 1
        assert len(fleet.writes(WEBSITES, "status")) == 20


async def test_a_member_that_leaves_hands_everything_over_and_is_remembered_as_gone() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b") as fleet:
        await add_websites(fleet, 20)
        await settled(fleet, 20)
        await fleet.leave("b")
        await fleet.all_open()
        assert set(fleet.open_ranges().values()) == {"a"}
        lease = await fleet.client.get(LEASES, "default", "web-member-b")
        assert not lease["spec"].get("holderIdentity")
        assert fleet.verdict().takeovers == 0


async def test_the_last_member_leaves_without_waiting_for_a_standby() -> None:
    async with running(SmallFleet(status_writer), "a") as fleet:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await fleet.leave("a")
        assert loop.time() - began < 5
        assert not fleet.open_ranges()


async def test_a_restarted_process_has_its_ranges_back_at_once() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b") as fleet:
        await fleet.crash("b")
        began = asyncio.get_running_loop().time()
        fleet.join("b", reaped=True)
        await fleet.all_open(within_seconds=1)
        assert asyncio.get_running_loop().time() - began < 1
        assert fleet.verdict().takeovers == 4


async def test_a_dead_members_ranges_move_after_its_lease_and_not_before() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b") as fleet:
        await fleet.crash("b")
        await asyncio.sleep(LEASE_SECONDS * 0.7)
        assert len(fleet.open_ranges()) == 4
        await fleet.all_open(within_seconds=LEASE_SECONDS + 4)
        assert set(fleet.open_ranges().values()) == {"a"}


async def test_owners_go_on_without_a_coordinator() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        await fleet.crash("agent")
        await asyncio.sleep(3 * LEASE_SECONDS)
        await add_websites(fleet, 10)
        await settled(fleet, 10, within_seconds=2)
        assert len(fleet.open_ranges()) == 4


async def shard_lease_of(fleet: SmallFleet, member: str) -> Object:
    name = next(entry.name for entry in fleet.writes(LEASES, member=member) if entry.name.startswith("web-shard-"))
    return await fleet.client.get(LEASES, "default", name)


async def claimed_again(fleet: SmallFleet, before: Object) -> Object:
    """The Lease once it is claimed at a later epoch than it had."""
    name, epoch = before["metadata"]["name"], before["spec"]["leaseTransitions"]
    claims = [entry.name for entry in fleet.writes(LEASES) if entry.name == name]
    await eventually(
        lambda: len([entry for entry in fleet.writes(LEASES) if entry.name == name]) >= len(claims) + 2,
        within_seconds=20,
        what="the Lease is made usable and claimed",
    )
    await fleet.all_open()
    after = await fleet.client.get(LEASES, "default", name)
    assert after["spec"]["leaseTransitions"] > epoch
    return after


async def test_a_shard_lease_that_somebody_deletes_comes_back_when_everybody_has_noticed() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        before = await shard_lease_of(fleet, "b")
        await fleet.client.delete(LEASES, "default", before["metadata"]["name"])
        after = await claimed_again(fleet, before)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_a_holder_emptied_by_hand_is_not_a_free_range() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        before = await shard_lease_of(fleet, "b")
        await fleet.client.merge_patch(
            LEASES, "default", before["metadata"]["name"], {"spec": {"holderIdentity": None}}
        )
        await claimed_again(fleet, before)


async def test_a_deleted_map_is_rebuilt_while_owners_keep_what_they_have() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        owners = fleet.open_ranges()
        await fleet.client.delete(CONFIG_MAPS, "default", "web-map")
        for _ in range(500):
            await asyncio.sleep(0.01)
            assert fleet.open_ranges() == owners
        rebuilt = await fleet.client.get(CONFIG_MAPS, "default", "web-map")
        assert rebuilt["metadata"]["name"] == "web-map"


async def test_a_member_whose_record_is_deleted_stops_and_joins_again_above_every_known_epoch() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a", "b") as fleet:
        before = fleet.members["b"].member.epoch
        await fleet.client.delete(LEASES, "default", "web-member-b")
        # Until its next renewal b does not know; what the coordinator moves away meanwhile is handed over in order.
        await eventually(
            lambda: fleet.members["b"].member.epoch > before, within_seconds=3 * LEASE_SECONDS, what="b joins again"
        )
        await fleet.all_open()


async def test_nobody_overlaps_when_members_come_and_go_at_random() -> None:
    async with running(SmallFleet(status_writer, shards=8), "a", "b", "c") as fleet:
        await add_websites(fleet, 30)
        for name, count in zip(itertools.cycle("abc"), range(9), strict=False):
            if count % 3 == 2:
                await fleet.leave(name)
            else:
                await fleet.crash(name)
            await asyncio.sleep(0.3 * count)
            fleet.open_ranges()
            fleet.join(name, reaped=count % 2 == 0)
        await fleet.all_open(within_seconds=4 * LEASE_SECONDS)
        await settled(fleet, 30)
        view = fleet.members["a"].view
        assert all(record.status is ShardStatus.ACTIVE for record in view.shards.values())


async def test_a_claim_that_nobody_stood_by_for_costs_one_list_per_resource() -> None:
    async with running(SmallFleet(status_writer, shards=4), "a") as fleet:
        assert fleet.server.recorder is not None
        lists = [
            entry
            for entry in fleet.server.recorder.entries
            if entry.verb == "list" and entry.resource == str(WEBSITES) and "r=informer" in entry.user_agent
        ]
        assert len(lists) == (4 if fleet.server_side_sharding else 1)
