"""Keys that keep failing, from a reconcile on one member to what `fleet status` reads on the server."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import Names
from fleet.status.status_reader import StatusReader
from fleet.status.statusview import FleetStatus
from shards import Context, Controller, NotReadyYet, Request
from shards.objects import Resource
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

LEASES = Resource.parse("coordination.k8s.io/v1/leases")
PASSWORD = "s3cr3t-value"


def picky(member: str) -> Controller:
    """Fails for objects that are called so, until their page is mended."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and site["spec"]["html"] == "broken":
            raise ValueError(f"cannot use {PASSWORD}")

    return websites


async def look(fleet: SmallFleet) -> FleetStatus:
    reader = StatusReader(fleet.client, Names("web", "default"), today=lambda: 1.0e9)
    return await reader.read()


async def until_reported(fleet: SmallFleet, count: int) -> FleetStatus:
    """The next status that tells of so many failing keys; a report rides on renewals."""
    status = await look(fleet)
    for _ in range(40):
        if status.failing_keys == count:
            break
        await asyncio.sleep(LEASE_SECONDS / 8)
        status = await look(fleet)
    assert status.failing_keys == count
    return status


async def test_status_tells_which_keys_fail_where_since_when_and_why() -> None:
    async with running(SmallFleet(picky, shards=4), "a", "b") as fleet:
        for i in range(12):
            await fleet.client.create(WEBSITES, "default", website(f"site-{i}", html="broken" if i < 3 else "fine"))

        status = await until_reported(fleet, 3)
        await asyncio.sleep(LEASE_SECONDS)
        status = await look(fleet)

        assert sorted(row.key for row in status.failing) == ["default/site-0", "default/site-1", "default/site-2"]
        owners = {row.range: row.owner for row in status.shards}
        for row in status.failing:
            assert (row.controller, row.member) == ("websites", owners[row.shard])
            assert row.error.startswith("ValueError at test_failing_keys.py:")
            assert row.count >= 5
            assert not row.terminal
        assert sum(row.failing for row in status.members) == 3
        assert PASSWORD not in str(await fleet.client.list(LEASES, "default"))

        for i in range(3):
            await fleet.client.merge_patch(WEBSITES, "default", f"site-{i}", {"spec": {"html": "mended"}})
        assert (await until_reported(fleet, 0)).failing == ()


async def test_a_thousand_failing_keys_do_not_blow_up_a_lease() -> None:
    async with running(SmallFleet(picky, shards=2), "a") as fleet:
        for i in range(300):
            await fleet.client.create(WEBSITES, "default", website(f"site-{i}", html="broken"))
        status = await until_reported(fleet, 300)
        assert len(status.failing) == 20
        [member] = [each for each in _leases(fleet) if "member-a" in each.name]
        assert len(member.object or "") < 16 * 1024


def _leases(fleet: SmallFleet) -> list[Entry]:
    """The last write of each Lease."""
    found = {entry.name: entry for entry in fleet.writes(LEASES)}
    return list(found.values())


async def test_a_new_owner_finds_out_for_itself() -> None:
    async with running(SmallFleet(picky, shards=2), "a", "b") as fleet:
        for i in range(8):
            await fleet.client.create(WEBSITES, "default", website(f"site-{i}", html="broken"))
        await until_reported(fleet, 8)
        await fleet.leave("b")
        await eventually(
            lambda: set(fleet.open_ranges().values()) == {"a"} and len(fleet.open_ranges()) == 2,
            within_seconds=10.0,
            what="a owns everything",
        )
        status = await until_reported(fleet, 8)
        assert {row.member for row in status.failing} == {"a"}


def unready(member: str) -> Controller:
    """Waits for objects that are called so, until their page is there."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None and site["spec"]["html"] == "missing":
            raise NotReadyYet(f"the page of {request.name} is not there")

    return websites


async def test_status_tells_which_keys_wait_for_long_where_since_when_and_what_for() -> None:
    async with running(SmallFleet(unready, shards=4), "a", "b") as fleet:
        for i in range(12):
            await fleet.client.create(WEBSITES, "default", website(f"site-{i}", html="missing" if i < 3 else "fine"))
        await asyncio.sleep(20)
        assert (await look(fleet)).waiting_keys == 0
        await asyncio.sleep(20)

        status = await look(fleet)
        assert (status.waiting_keys, status.failing_keys) == (3, 0)
        assert sorted(row.key for row in status.waiting) == ["default/site-0", "default/site-1", "default/site-2"]
        owners = {row.range: row.owner for row in status.shards}
        for row in status.waiting:
            assert (row.controller, row.member, row.waits_for) == ("websites", owners[row.shard], "not ready")
            assert row.why == f"the page of {row.key.removeprefix('default/')} is not there"
            assert row.times > 5

        for i in range(3):
            await fleet.client.merge_patch(WEBSITES, "default", f"site-{i}", {"spec": {"html": "there"}})
        await asyncio.sleep(LEASE_SECONDS)
        assert (await look(fleet)).waiting_keys == 0


async def test_a_shard_that_is_owned_and_cannot_see_its_objects_says_so() -> None:
    fleet = SmallFleet(picky, shards=2)
    async with running(fleet, "a") as fleet:
        fleet.server.faults.inject(Refuse(match=Match(resource=str(WEBSITES)), status=403))
        await fleet.crash("a")
        fleet.join("a", reaped=True)
        await asyncio.sleep(3 * LEASE_SECONDS)
        status = await look(fleet)
        assert [row.owner for row in status.shards] == ["a", "a"]
        assert all("403" in row.why for row in status.shards)
