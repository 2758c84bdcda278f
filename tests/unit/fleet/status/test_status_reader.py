from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from fleet.records.lease_records import Times, lease_from_coordinator, lease_from_member, micro_time
from fleet.records.map_record import configmap_from_map
from fleet.records.object_names import CONFIG_MAPS, LEASES, Names
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.shard_lease import lease_from_shard
from fleet.status.status_reader import FleetNotFound, StatusReader, find_fleet, renewed_ago
from fleet.status.statusview import MemberState, ShardState
from shards.api.client import Client
from shards.keyrange import WHOLE, PartitionKey
from shards.objects import Object

NOW = 1_800_000_000.0
NAMES = Names("web", "default")
MEMBER = MemberRecord("web-0", Incarnation("pod.1", 1), 3, 8.0, pod="web-0")
SHARD = ShardRecord(WHOLE, ShardStatus.ACTIVE, 7, Holder("web-0", 3))
MAP = ShardMap(5, 1, "web", "identity", PartitionKey.UID, (0,), ("web-0",), opened=frozenset({WHOLE}))


def member_lease(record: MemberRecord = MEMBER, *, ago: float = 1.0, names: Names = NAMES) -> Object:
    times = Times(micro_time(NOW - 100), micro_time(NOW - ago))
    return lease_from_member(names, record, replaces="", times=times)


async def server_with(*leases: Object, maps: tuple[Names, ...] = (NAMES,)) -> Client:
    client = Client(InProcessTransport(ApiServer()))
    for names in maps:
        body = configmap_from_map(names, replace(MAP, fleet=names.fleet), replaces="")
        await client.create(CONFIG_MAPS, names.namespace, body)
    for lease in leases:
        await client.create(LEASES, "default", lease)
    return client


def shard_lease() -> Object:
    return lease_from_shard(NAMES, SHARD, replaces="", times=Times(micro_time(NOW), micro_time(NOW)))


def coordinator_lease(ago: float) -> Object:
    times = Times(micro_time(NOW), micro_time(NOW - ago))
    return lease_from_coordinator(NAMES, CoordinatorRecord("pod.1.agent/1", 2, 8.0), replaces="", times=times)


def reader(client: Client) -> StatusReader:
    return StatusReader(client, NAMES, today=lambda: NOW)


async def test_it_reads_members_shards_map_and_coordinator() -> None:
    client = await server_with(member_lease(), shard_lease(), coordinator_lease(1.0))
    status = await reader(client).read()
    assert [(row.name, row.state, row.renewed_seconds_ago) for row in status.members] == [("web-0", "alive", 1.0)]
    assert [(row.state, row.owner) for row in status.shards] == [(ShardState.OWNED, "web-0")]
    assert (status.coordinator_pod, status.map_version) == ("web-0", 5)


async def test_another_fleet_of_the_namespace_is_left_out() -> None:
    other = member_lease(replace(MEMBER, name="web-member-0"), names=Names("web-member", "default"))
    client = await server_with(member_lease(), other)
    assert [row.name for row in (await reader(client).read()).members] == ["web-0"]


async def test_a_fleet_without_a_map_has_no_shards() -> None:
    client = await server_with(member_lease(), maps=())
    status = await reader(client).read()
    assert (status.shards, len(status.members)) == ((), 1)


async def test_an_old_timestamp_makes_a_silent_holder_and_a_silent_office() -> None:
    client = await server_with(member_lease(ago=9.0), shard_lease(), coordinator_lease(9.0))
    status = await reader(client).read()
    assert status.members[0].state is MemberState.SILENT
    assert status.shards[0].state is ShardState.SILENT
    assert status.coordinator == ""


async def test_a_timestamp_from_the_future_proves_nothing() -> None:
    client = await server_with(member_lease(ago=-60.0))
    assert (await reader(client).read()).members[0].state is MemberState.SILENT


@pytest.mark.looptime
async def test_a_patient_reader_believes_a_renewal_more_than_a_timestamp() -> None:
    client = await server_with(member_lease(ago=9.0), shard_lease())

    async def renew() -> None:
        annotations = {"metadata": {"annotations": {"shardfleet.dev/renewals": "2"}}}
        await client.merge_patch(LEASES, "default", NAMES.member("web-0"), annotations)

    class RenewedMeanwhile(StatusReader):
        async def _look(self):  # type: ignore[no-untyped-def]
            sight = await super()._look()
            await renew()
            return sight

    status = await RenewedMeanwhile(client, NAMES, today=lambda: NOW).read(patient=True)
    assert status.members[0].state is MemberState.ALIVE
    assert status.unowned == ()


@pytest.mark.looptime
async def test_a_patient_reader_calls_silent_who_did_not_move_while_it_looked() -> None:
    client = await server_with(member_lease(ago=9.0), shard_lease())
    status = await reader(client).read(patient=True)
    assert status.members[0].state is MemberState.SILENT


@pytest.mark.looptime
async def test_a_patient_reader_does_not_wait_for_members_that_left() -> None:
    client = await server_with(member_lease(replace(MEMBER, holder=None), ago=9.0))
    before = asyncio.get_running_loop().time()
    status = await reader(client).read(patient=True)
    assert status.members[0].state is MemberState.GONE
    assert asyncio.get_running_loop().time() - before < 1.0


async def test_the_only_fleet_is_found_without_its_name() -> None:
    assert await find_fleet(await server_with(), "default") == NAMES


@pytest.mark.parametrize(
    ("maps", "wanted", "sentence"),
    [
        ((), "", "namespace 'default' has no fleet; choose another with -n"),
        ((), "web", "no fleet 'web' in namespace 'default'; there is none; has it been started?"),
        ((NAMES,), "wbe", "no fleet 'wbe' in namespace 'default'; those that are there: web"),
        (
            (NAMES, Names("api", "default")),
            "",
            "namespace 'default' has several fleets (api, web); choose one with --fleet",
        ),
    ],
)
async def test_a_fleet_that_cannot_be_meant(maps: tuple[Names, ...], wanted: str, sentence: str) -> None:
    with pytest.raises(FleetNotFound) as caught:
        await find_fleet(await server_with(maps=maps), "default", wanted)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("spec", "ago"),
    [
        ({"renewTime": micro_time(NOW - 2.5)}, 2.5),
        ({"renewTime": "2027-01-15T08:00:00Z"}, 0.0),
        ({"renewTime": "yesterday"}, None),
        ({}, None),
    ],
)
def test_the_age_of_a_renewal(spec: Object, ago: float | None) -> None:
    assert renewed_ago({"spec": spec}, NOW) == ago
