"""What every coordination backend promises, on each of them: in memory, the embedded API server, a real one."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import LocalStore
from fleet.records.coordination import (
    CasConflict,
    Change,
    Coordination,
    CoordinationUnavailable,
    CoordinationView,
    MapUnreadable,
    ProtocolMismatch,
)
from fleet.records.document import Unlabelled
from fleet.records.lease_records import NOBODY_KNOWN
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    Holder,
    MemberRecord,
    ShardStatus,
    Standby,
)
from shards.clock import boot_seconds
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from
from shards.objects import Object
from shards.transport.kube import KubeTransport, connect
from shards.versions import at_least
from tests.unit.fleet.records.records import member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
LOW_BY_NAME = replace(LOW, key=PartitionKey.NAME)
_numbers = itertools.count()


@dataclass
class Fleet:
    """One new fleet. client: another client of it, as another process would be."""

    name: str
    client: Callable[[], Awaitable[Coordination]]
    transport: KubeTransport | None = None


SERVERS = [pytest.param("embedded", id="embedded"), pytest.param("real_cluster", id="real", marks=pytest.mark.real)]


@pytest.fixture(params=["local", *SERVERS])
async def fleet(request: pytest.FixtureRequest) -> AsyncIterator[Fleet]:
    name = f"fleet-{os.getpid()}-{next(_numbers)}"
    if request.param == "local":
        store = LocalStore()

        async def local() -> Coordination:
            return LocalCoordination(store)

        yield Fleet(name, local)
        return
    transports = []

    async def transport() -> KubeTransport:
        transports.append(await connect(kubeconfig=str(request.getfixturevalue(request.param).kubeconfig)))
        return transports[-1]

    async def kubernetes() -> Coordination:
        return KubernetesCoordination(
            await transport(), fleet=name, namespace="default", user_agent=lambda: "fleet/0 m=contract"
        )

    yield Fleet(name, kubernetes, await transport())
    for each in transports:
        await each.close()


@pytest.fixture
async def coordination(fleet: Fleet) -> Coordination:
    return await fleet.client()


async def until(view: CoordinationView, reached: Callable[[], bool]) -> None:
    """Waits for the view to show something."""
    async with asyncio.timeout(15):
        async for _ in view.changes():
            if reached():
                return


# -- compare-and-swap -------------------------------------------------------------------------------------------------


async def test_nothing_is_there_at_first(coordination: Coordination) -> None:
    assert await coordination.read_map() is None
    assert await coordination.read_member("web-0-1") is None
    assert await coordination.read_shard(LOW) is None
    assert await coordination.read_coordinator() is None
    assert await coordination.list_members() == []
    assert await coordination.list_shards() == []


async def test_a_member_comes_back_as_it_was_written(coordination: Coordination) -> None:
    written = await coordination.write_member(member(lease_seconds=2.5), "")
    assert written == member(lease_seconds=2.5, version=written.version, uid=written.uid)
    assert written.version
    assert written.uid
    assert await coordination.read_member("web-0-1") == written
    assert await coordination.list_members() == [written]


async def test_a_shard_comes_back_as_it_was_written(coordination: Coordination) -> None:
    unseen = Unseen("v1/configmaps", "ns", "name", "uid", "12", deleted=True)
    new = shard(
        LOW,
        released=4,
        last_holder=Holder("web-1-0", 2),
        watermark=Watermark(5, {"v1/configmaps": ResourceMark("digest", "12", (unseen,))}),
        standby=Standby(Holder("web-1-0", 2), 5),
    )
    written = await coordination.write_shard(new, "")
    assert written == replace(new, version=written.version, uid=written.uid)
    assert await coordination.read_shard(LOW) == written
    assert await coordination.list_shards() == [written]


async def test_a_map_and_a_coordinator_come_back_as_they_were_written(fleet: Fleet) -> None:
    coordination = await fleet.client()
    new = shard_map(fleet.name, opened=frozenset({LOW}), lost={HIGH: 3}, shard_epochs={LOW: 5}, floors={"web-0-1": 3})
    stored = await coordination.write_map(new, "")
    assert stored.map == new
    assert await coordination.read_map() == stored
    office = await coordination.write_coordinator(CoordinatorRecord("agent/1", 1, 8.0), "")
    assert office == CoordinatorRecord("agent/1", 1, 8.0, version=office.version)
    assert await coordination.read_coordinator() == office


async def test_what_exists_cannot_be_created(fleet: Fleet) -> None:
    coordination = await fleet.client()
    await coordination.write_member(member(), "")
    await coordination.write_shard(shard(), "")
    await coordination.write_map(shard_map(fleet.name), "")
    await coordination.write_coordinator(CoordinatorRecord("a/1", 1, 8.0), "")
    for write in (
        coordination.write_member(member(epoch=4), ""),
        coordination.write_shard(shard(epoch=6), ""),
        coordination.write_map(shard_map(fleet.name, version=8), ""),
        coordination.write_coordinator(CoordinatorRecord("b/1", 2, 8.0), ""),
    ):
        with pytest.raises(CasConflict):
            await write


async def test_a_write_over_an_old_version_conflicts_and_changes_nothing(fleet: Fleet) -> None:
    coordination = await fleet.client()
    first = await coordination.write_shard(shard(), "")
    second = await coordination.write_shard(replace(first, epoch=6), first.version)
    assert second.uid == first.uid
    with pytest.raises(CasConflict):
        await coordination.write_shard(replace(first, epoch=7), first.version)
    assert await coordination.read_shard(first.range) == second
    old = await coordination.write_map(shard_map(fleet.name), "")
    new = await coordination.write_map(shard_map(fleet.name, version=8), old.version)
    with pytest.raises(CasConflict):
        await coordination.write_map(shard_map(fleet.name, version=9), old.version)
    assert await coordination.read_map() == new


async def test_what_does_not_exist_cannot_be_replaced(coordination: Coordination) -> None:
    written = await coordination.write_member(member(), "")
    await coordination.delete_member(written)
    with pytest.raises(CasConflict):
        await coordination.write_member(replace(written, renewals=1), written.version)
    assert await coordination.read_member("web-0-1") is None


async def test_of_many_writers_of_one_version_exactly_one_wins(fleet: Fleet) -> None:
    coordination = await fleet.client()
    free = await coordination.write_shard(shard(holder=None, released=5, holder_text=""), "")
    claims = [replace(free, epoch=6, released=None, holder=Holder(f"web-{i}-0", 1)) for i in range(8)]
    outcomes = await asyncio.gather(
        *(coordination.write_shard(claim, free.version) for claim in claims), return_exceptions=True
    )
    winners = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(winners) == 1
    assert sum(isinstance(outcome, CasConflict) for outcome in outcomes) == 7
    assert await coordination.read_shard(free.range) == winners[0]


async def test_every_write_gets_a_higher_version(coordination: Coordination) -> None:
    record = await coordination.write_member(member(), "")
    for renewals in range(1, 4):
        renewed = await coordination.write_member(replace(record, renewals=renewals), record.version)
        assert not at_least(record.version, renewed.version)
        record = renewed


async def test_nothing_is_sent_after_the_deadline(coordination: Coordination) -> None:
    with pytest.raises(CoordinationUnavailable) as refused:
        await coordination.write_member(member(), "", not_after=boot_seconds() - 0.001)
    assert not refused.value.maybe_applied
    assert await coordination.read_member("web-0-1") is None
    await coordination.write_member(member(), "", not_after=boot_seconds() + 60)


# -- deletion ---------------------------------------------------------------------------------------------------------


async def test_only_the_version_that_was_read_can_be_deleted(coordination: Coordination) -> None:
    first = await coordination.write_shard(shard(status=ShardStatus.RETIRED), "")
    second = await coordination.write_shard(replace(first, epoch=6), first.version)
    with pytest.raises(CasConflict):
        await coordination.delete_shard(first)
    with pytest.raises(CasConflict):
        await coordination.delete_shard(replace(second, uid="another"))
    assert await coordination.read_shard(first.range) == second
    await coordination.delete_shard(second)
    assert await coordination.read_shard(first.range) is None


async def test_deleting_what_is_gone_is_done_already(coordination: Coordination) -> None:
    written = await coordination.write_member(member(), "")
    await coordination.delete_member(written)
    await coordination.delete_member(written)


async def test_a_record_that_was_created_again_is_another_one(coordination: Coordination) -> None:
    first = await coordination.write_member(member(), "")
    await coordination.delete_member(first)
    second = await coordination.write_member(member(), "")
    assert second.uid != first.uid
    with pytest.raises(CasConflict):
        await coordination.write_member(replace(first, renewals=1), first.version)
    with pytest.raises(CasConflict):
        await coordination.delete_member(first)
    assert await coordination.read_member("web-0-1") == second


# -- scope ------------------------------------------------------------------------------------------------------------


async def test_one_range_has_a_record_under_each_partition_key(coordination: Coordination) -> None:
    by_uid = await coordination.write_shard(shard(LOW), "")
    by_name = await coordination.write_shard(shard(LOW_BY_NAME), "")
    assert await coordination.read_shard(LOW) == by_uid
    assert await coordination.read_shard(LOW_BY_NAME) == by_name
    assert {record.uid for record in await coordination.list_shards()} == {by_uid.uid, by_name.uid}


# -- the view ---------------------------------------------------------------------------------------------------------


async def test_a_view_begins_with_what_is_there(fleet: Fleet) -> None:
    writer, reader = await fleet.client(), await fleet.client()
    stored = await writer.write_map(shard_map(fleet.name), "")
    held = await writer.write_shard(shard(LOW), "")
    alive = await writer.write_member(member(), "")
    view = reader.watch(members=True)
    await until(view, lambda: view.synced)
    assert view.map == view.last_map == stored
    assert view.shards == {LOW: held}
    assert view.members == {"web-0-1": alive}
    await view.close()


async def test_a_view_follows_what_others_write_and_delete(fleet: Fleet) -> None:
    writer, reader = await fleet.client(), await fleet.client()
    view = reader.watch(members=True)
    await until(view, lambda: view.synced)
    assert (view.map, view.shards, view.members) == (None, {}, {})
    held = await writer.write_shard(shard(LOW), "")
    await until(view, lambda: view.shards == {LOW: held})
    moved = await writer.write_shard(replace(held, epoch=6), held.version)
    await until(view, lambda: view.shards == {LOW: moved})
    await writer.delete_shard(moved)
    await until(view, lambda: view.shards == {})
    alive = await writer.write_member(member(), "")
    await until(view, lambda: view.members == {"web-0-1": alive})
    await view.close()


async def test_a_mapping_that_was_handed_out_does_not_change(fleet: Fleet) -> None:
    coordination = await fleet.client()
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    before = view.shards
    await coordination.write_shard(shard(LOW), "")
    assert before == {}
    assert view.shards.keys() == {LOW}
    await view.close()


async def test_a_document_is_replaced_at_its_version_only(fleet: Fleet) -> None:
    coordination = await fleet.client()
    assert await coordination.read_document(DocumentName.CONTROLS) is None
    first = await coordination.write_document(Document(DocumentName.CONTROLS, "{}", ""))
    assert await coordination.read_document(DocumentName.CONTROLS) == first
    with pytest.raises(CasConflict):
        await coordination.write_document(Document(DocumentName.CONTROLS, "twice", ""))
    second = await coordination.write_document(first._replace(text="second"))
    with pytest.raises(CasConflict):
        await coordination.write_document(first._replace(text="third"))
    assert at_least(second.version, first.version)
    assert await coordination.read_document(DocumentName.CONTROLS) == second
    assert second.text == "second"


async def test_a_document_that_is_gone_is_not_replaced(fleet: Fleet) -> None:
    coordination = await fleet.client()
    with pytest.raises(CasConflict):
        await coordination.write_document(Document(DocumentName.CONTROLS, "text", "1"))


async def test_a_view_follows_documents(fleet: Fleet) -> None:
    writer, reader = await fleet.client(), await fleet.client()
    config = await writer.write_document(Document(DocumentName.CONFIG, "fleet: a", ""))
    view = reader.watch(members=False)
    await until(view, lambda: view.synced)
    assert view.documents == {DocumentName.CONFIG: config}
    config = await writer.write_document(config._replace(text="fleet: b"))
    held = await writer.write_document(Document(DocumentName.QUARANTINE, "{}", ""))
    await until(view, lambda: view.documents == {DocumentName.CONFIG: config, DocumentName.QUARANTINE: held})
    own = await reader.write_document(config._replace(text="fleet: c"))
    assert view.documents[DocumentName.CONFIG] == own
    await view.close()


async def test_a_view_without_members_has_none(fleet: Fleet) -> None:
    coordination = await fleet.client()
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    await coordination.write_member(member(), "")
    held = await coordination.write_shard(shard(LOW), "")
    assert view.members == {}
    assert view.shards == {LOW: held}
    await view.close()


async def test_a_view_shows_own_writes_at_once(fleet: Fleet) -> None:
    coordination = await fleet.client()
    view = coordination.watch(members=True)
    await until(view, lambda: view.synced)
    record = await coordination.write_shard(shard(LOW), "")
    assert view.shards == {LOW: record}
    for epoch in range(6, 16):
        record = await coordination.write_shard(replace(record, epoch=epoch), record.version)
        assert view.shards == {LOW: record}
    await view.close()


async def test_a_confirmation_shows_what_others_wrote_before_it(fleet: Fleet) -> None:
    writer, reader = await fleet.client(), await fleet.client()
    view = reader.watch(members=True)
    await until(view, lambda: view.synced)
    stored = await writer.write_map(shard_map(fleet.name), "")
    held = await writer.write_shard(shard(LOW), "")
    began = boot_seconds()
    await view.confirm()
    assert view.map == stored
    assert view.shards == {LOW: held}
    assert began <= view.confirmed_at <= boot_seconds()
    assert view.history_went_back == 0
    await writer.delete_shard(held)
    await view.confirm()
    assert view.shards == {}
    await view.close()


async def test_the_view_holds_the_records_of_every_partition_key(fleet: Fleet) -> None:
    coordination = await fleet.client()
    by_uid = await coordination.write_shard(shard(LOW), "")
    by_name = await coordination.write_shard(shard(LOW_BY_NAME), "")
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    await coordination.write_map(shard_map(fleet.name, partition_key=PartitionKey.NAME), "")
    assert view.shards == {LOW: by_uid, LOW_BY_NAME: by_name}
    await view.close()


async def test_every_consumer_hears_of_every_change_until_the_view_is_closed(fleet: Fleet) -> None:
    coordination = await fleet.client()
    view = coordination.watch(members=True)
    await until(view, lambda: view.synced)
    heard: list[list[Change]] = [[], []]

    async def listen(changes: AsyncIterator[Change], into: list[Change]) -> None:
        async for change in changes:
            into.append(change)

    listeners = [asyncio.create_task(listen(view.changes(), into)) for into in heard]
    await coordination.write_shard(shard(LOW), "")
    await coordination.write_member(member(), "")
    await coordination.write_map(shard_map(fleet.name), "")
    await view.close()
    await asyncio.wait_for(asyncio.gather(*listeners), 5)
    wanted = {("shard", str(LOW)), ("member", "web-0-1"), ("map", "")}
    for changes in heard:
        assert wanted <= {(change.kind, change.name) for change in changes}
        assert all(change.synced for change in changes)
    assert [change async for change in view.changes()] == [Change("map", "", True)]


# -- objects on an API server -----------------------------------------------------------------------------------------


@pytest.fixture(params=SERVERS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[tuple[KubernetesCoordination, KubeTransport]]:
    """A client of a new fleet, and a way to edit its objects by hand."""
    name = f"fleet-{os.getpid()}-{next(_numbers)}"
    transport = await connect(kubeconfig=str(request.getfixturevalue(request.param).kubeconfig))
    yield KubernetesCoordination(transport, fleet=name, namespace="default", user_agent=lambda: "fleet/0"), transport
    await transport.close()


async def edited(transport: KubeTransport, path: str, patch: Object) -> Object:
    """What somebody with kubectl does."""
    body = msgspec.json.encode(patch)
    answer = await transport.request("PATCH", path, body=body, content_type="application/merge-patch+json")
    decoded: dict[str, Any] = msgspec.json.decode(answer)
    return decoded


async def test_the_fields_of_a_lease_are_kept_by_the_server(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    await coordination.write_member(member(lease_seconds=2.5, epoch=3), "")
    path = LEASES.path("default", coordination.names.member("web-0-1"))
    lease = await edited(transport, path, {})
    spec = lease["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"], spec["leaseDurationSeconds"]) == ("pod-uid.nonce/1", 3, 3)
    assert lease["metadata"]["labels"] == {
        "shardfleet.dev/fleet": coordination.names.fleet,
        "shardfleet.dev/kind": "member",
    }


async def test_a_write_leaves_everything_else_of_a_documents_object_as_it_was(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    made = await coordination.write_document(Document(DocumentName.CONFIG, "fleet: a", ""))
    path = CONFIG_MAPS.path("default", coordination.names.document(DocumentName.CONFIG))
    by_hand = {"metadata": {"annotations": {"owner": "team-a"}}, "data": {"notes": "of ours"}}
    await edited(transport, path, by_hand)
    with pytest.raises(CasConflict):
        await coordination.write_document(made._replace(text="fleet: b"))
    found = await coordination.read_document(DocumentName.CONFIG)
    assert found is not None
    await coordination.write_document(found._replace(text="fleet: b"))
    after = await edited(transport, path, {})
    assert after["data"] == {"fleet.yaml": "fleet: b", "notes": "of ours"}
    assert after["metadata"]["annotations"] == {"owner": "team-a"}


async def test_a_document_that_no_view_would_find_is_refused_with_the_remedy(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    name = coordination.names.document(DocumentName.CONFIG)
    config_map = {"metadata": {"name": name}, "data": {"fleet.yaml": "fleet: a"}}
    await transport.request("POST", CONFIG_MAPS.path("default"), body=msgspec.json.encode(config_map))
    with pytest.raises(Unlabelled, match=f"kubectl label configmap {name} shardfleet.dev/fleet="):
        await coordination.read_document(DocumentName.CONFIG)
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    assert view.documents == {}
    labels = coordination.names.labels(Kind.DOCUMENT)
    await edited(transport, CONFIG_MAPS.path("default", name), {"metadata": {"labels": labels}})
    await until(view, lambda: DocumentName.CONFIG in view.documents)
    await view.close()


async def test_the_time_of_acquisition_stays_while_the_epoch_does(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    path = LEASES.path("default", coordination.names.member("web-0-1"))
    record = await coordination.write_member(member(), "")
    first = (await edited(transport, path, {}))["spec"]
    record = await coordination.write_member(replace(record, renewals=1), record.version)
    renewed = (await edited(transport, path, {}))["spec"]
    await coordination.write_member(replace(record, epoch=4), record.version)
    taken = (await edited(transport, path, {}))["spec"]
    assert first["acquireTime"] == renewed["acquireTime"] == first["renewTime"] < renewed["renewTime"]
    assert taken["acquireTime"] == taken["renewTime"] > renewed["renewTime"]


async def test_a_holder_that_was_emptied_by_hand_is_not_free(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    await coordination.write_member(member(), "")
    await coordination.write_shard(shard(LOW), "")
    nobody = {"spec": {"holderIdentity": None}}
    await edited(transport, LEASES.path("default", coordination.names.member("web-0-1")), nobody)
    await edited(transport, LEASES.path("default", coordination.names.shard(LOW)), nobody)
    emptied = await coordination.read_member("web-0-1")
    freed = await coordination.read_shard(LOW)
    assert emptied is not None
    assert emptied.holder == NOBODY_KNOWN
    assert freed is not None
    assert freed.holder is None
    assert freed.released != freed.epoch


async def test_a_member_that_lost_its_labels_gets_them_back_with_its_next_renewal(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    record: MemberRecord | None = await coordination.write_member(member(), "")
    path = LEASES.path("default", coordination.names.member("web-0-1"))
    await edited(transport, path, {"metadata": {"labels": None}})
    assert await coordination.list_members() == []
    record = await coordination.read_member("web-0-1")
    assert record is not None
    renewed = await coordination.write_member(replace(record, renewals=1), record.version)
    assert await coordination.list_members() == [renewed]


async def test_a_map_that_was_broken_by_hand_is_kept_by_views_and_can_be_replaced(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    fleet = coordination.names.fleet
    stored = await coordination.write_map(shard_map(fleet), "")
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    path = CONFIG_MAPS.path("default", coordination.names.map)
    await edited(transport, path, {"data": {"map.json": "{"}})
    await until(view, lambda: view.map is None)
    assert view.last_map == stored
    with pytest.raises(MapUnreadable) as broken:
        await coordination.read_map()
    rebuilt = await coordination.write_map(shard_map(fleet, version=8), broken.value.version)
    assert view.map == view.last_map == rebuilt
    await view.close()


async def test_a_map_of_another_protocol_is_refused_and_the_last_one_stays(
    server: tuple[KubernetesCoordination, KubeTransport],
) -> None:
    coordination, transport = server
    fleet = coordination.names.fleet
    stored = await coordination.write_map(shard_map(fleet), "")
    view = coordination.watch(members=False)
    await until(view, lambda: view.synced)
    assert view.confirmed_at > 0
    path = CONFIG_MAPS.path("default", coordination.names.map)
    text = msgspec.json.encode({"protocol": 2, "hashVersion": 1}).decode()
    await edited(transport, path, {"data": {"map.json": text}})
    await until(view, lambda: view.map is None)
    with pytest.raises(ProtocolMismatch, match="has protocol 2"):
        await coordination.read_map()
    before = view.confirmed_at
    await view.confirm()
    assert view.confirmed_at > before
    assert (view.map, view.last_map) == (None, stored)
    await view.close()
