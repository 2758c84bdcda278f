from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.backends.kubernetes_view import KubernetesView
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, LostAck
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import LEASES
from fleet.records.record import ShardRecord
from shards.keyrange import equal_boundaries, ranges_from
from tests.unit.fleet.records.records import FLEET, member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
COLLECTIONS = 3
"""That a view without members follows: map, shards, documents."""
PATH = LEASES.path("default")


def server(**settings: object) -> ApiServer:
    return ApiServer(
        ServerSettings(**settings),  # type: ignore[arg-type]  # any setting
        rng=random.Random(1),
        wall_seconds=lambda: 0.0,
    )


def client(
    api_server: ApiServer, agent: str = "fleet/0 m=reader", transport: InProcessTransport | None = None
) -> KubernetesCoordination:
    loop = asyncio.get_running_loop()
    return KubernetesCoordination(
        transport or InProcessTransport(api_server, clock=loop.time),
        fleet=FLEET,
        namespace="default",
        user_agent=lambda: agent,
        clock=loop.time,
        wall=loop.time,
        rng=random.Random(1),
    )


@asynccontextmanager
async def following(coordination: KubernetesCoordination, *, members: bool = False) -> AsyncIterator[KubernetesView]:
    """A view that is complete."""
    view = coordination.watch(members=members)
    try:
        await until(view, lambda: view.synced)
        yield view
    finally:
        await view.close()


async def until(view: KubernetesView, reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(200):
        async for _ in view.changes():
            if reached():
                return


async def released(coordination: KubernetesCoordination, record: ShardRecord) -> ShardRecord:
    return await coordination.write_shard(replace(record, holder=None, released=record.epoch), record.version)


@pytest.mark.looptime
async def test_a_lagging_watch_does_not_take_back_an_own_write() -> None:
    api_server = server()
    coordination, other = client(api_server), client(api_server, "fleet/0 m=other")
    async with following(coordination) as view:
        hold = api_server.faults.inject(DelayEvents(match=Match(user_agent="reader")))
        held = await other.write_shard(shard(LOW), "")
        mine = await released(coordination, held)
        assert view.shards == {LOW: mine}
        hold.release()
        await asyncio.sleep(1)
        assert view.shards == {LOW: mine}


@pytest.mark.looptime
async def test_a_confirmation_overtakes_a_watch_that_is_held_back() -> None:
    api_server = server()
    coordination, other = client(api_server), client(api_server, "fleet/0 m=other")
    gone = await other.write_shard(shard(LOW), "")
    async with following(coordination) as view:
        hold = api_server.faults.inject(DelayEvents(match=Match(user_agent="reader")))
        await other.delete_shard(gone)
        new = await other.write_shard(shard(HIGH), "")
        await asyncio.sleep(20)
        assert view.shards == {LOW: gone}
        assert asyncio.get_running_loop().time() - view.confirmed_at > 19
        began = asyncio.get_running_loop().time()
        await view.confirm()
        assert view.confirmed_at == began
        assert view.shards == {HIGH: new}
        hold.release()
        await asyncio.sleep(1)
        assert view.shards == {HIGH: new}


@pytest.mark.looptime
async def test_bookmarks_confirm_a_quiet_view() -> None:
    async with following(client(server(bookmark_seconds=10.0))) as view:
        await asyncio.sleep(35)
        assert asyncio.get_running_loop().time() - view.confirmed_at < 11


@pytest.mark.looptime
async def test_a_server_that_cannot_be_reached_confirms_nothing() -> None:
    api_server = server(bookmark_seconds=10.0)
    coordination = client(api_server)
    held = await coordination.write_shard(shard(LOW), "")
    async with following(coordination) as view:
        confirmed_at = view.confirmed_at
        api_server.faults.inject(LostAck())
        api_server.close()
        await asyncio.sleep(30)
        with pytest.raises(CoordinationUnavailable):
            await view.confirm()
        assert view.confirmed_at == confirmed_at
        assert view.trouble
        assert view.shards == {LOW: held}
        api_server.faults.clear()
        await asyncio.sleep(60)
        assert view.trouble == ""
        assert view.confirmed_at > confirmed_at + 30


@pytest.mark.looptime
async def test_a_watch_that_is_refused_confirms_nothing_although_lists_are_answered() -> None:
    api_server = server()
    async with following(client(api_server)) as view:
        confirmed_at = view.confirmed_at
        api_server.faults.inject(LostAck(match=Match(verbs=("watch",))))
        api_server.close()
        await asyncio.sleep(120)
        assert view.confirmed_at == confirmed_at


class Switching(InProcessTransport):
    """Talks to whichever server it is told to. late: seconds by which the next answers to lists are held back."""

    def __init__(self, api_server: ApiServer) -> None:
        super().__init__(api_server, clock=asyncio.get_running_loop().time)
        self.late: list[float] = []

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        answer = await super().request(method, path, **options)
        if method == "GET" and path == PATH and self.late:
            await asyncio.sleep(self.late.pop())
        return answer


@pytest.mark.looptime
async def test_a_list_whose_answer_was_late_is_no_restore() -> None:
    api_server = server()
    transport = Switching(api_server)
    coordination = client(api_server, transport=transport)
    async with following(coordination) as view:
        transport.late = [5.0]
        confirming = asyncio.create_task(view.confirm())
        await asyncio.sleep(1)
        new = await client(api_server).write_shard(shard(LOW), "")
        await until(view, lambda: view.shards == {LOW: new})
        await confirming
        assert transport.late == []
        assert view.history_went_back == 0
        assert view.shards == {LOW: new}


@pytest.mark.looptime
async def test_a_list_of_the_old_history_that_arrives_after_the_restore_is_not_listened_to() -> None:
    old, restored = server(), server()
    transport = Switching(old)
    coordination = client(old, transport=transport)
    for name in map(str, range(30)):
        await coordination.write_member(member(f"web-0-{name}"), "")
    async with following(coordination) as view:
        hold = old.faults.inject(DelayEvents())
        await client(old).write_shard(shard(LOW), "")
        transport.late = [5.0]
        view._links[1]._informer.relist()
        await asyncio.sleep(1)
        transport.server = restored
        await view.confirm()
        assert view.history_went_back > 0
        await asyncio.sleep(30)
        hold.release()
        assert view.shards == {}
        kept = await client(restored).write_shard(shard(HIGH), "")
        await until(view, lambda: view.shards == {HIGH: kept})


@pytest.mark.looptime
async def test_a_restore_is_found_by_a_confirmation_and_the_view_follows_the_new_history() -> None:
    old, restored = server(), server()
    transport = Switching(old)
    coordination = client(old, transport=transport)
    for epoch in range(5, 30):
        low = await coordination.read_shard(LOW)
        await coordination.write_shard(replace(low or shard(LOW), epoch=epoch), low.version if low else "")
    kept = await client(restored).write_shard(shard(HIGH), "")
    async with following(coordination) as view:
        assert view.shards.keys() == {LOW}
        transport.server = restored
        await view.confirm()
        assert view.history_went_back == COLLECTIONS
        assert view.shards == {HIGH: kept}
        await asyncio.sleep(5)
        moved = await client(restored).write_shard(replace(kept, epoch=6), kept.version)
        await until(view, lambda: view.shards == {HIGH: moved})
        mine = await coordination.write_shard(replace(moved, epoch=7), moved.version)
        assert view.shards == {HIGH: mine}
        await view.confirm()
        assert view.history_went_back == COLLECTIONS


@pytest.mark.looptime
async def test_a_restore_is_found_by_a_watch_that_breaks() -> None:
    old, restored = server(), server()
    transport = Switching(old)
    coordination = client(old, transport=transport)
    for name in map(str, range(30)):
        await coordination.write_member(member(f"web-0-{name}"), "")
    alive = await client(restored).write_member(member(), "")
    async with following(coordination, members=True) as view:
        transport.server = restored
        old.faults.inject(LostAck())
        old.close()
        await until(view, lambda: view.history_went_back > 0 and view.members == {"web-0-1": alive})


@pytest.mark.looptime
async def test_two_confirmations_at_once_and_a_moving_collection_are_no_restore() -> None:
    coordination = client(server())
    async with following(coordination) as view:
        record = await coordination.write_shard(shard(LOW), "")

        async def renew() -> None:
            nonlocal record
            for epoch in range(6, 40):
                record = await coordination.write_shard(replace(record, epoch=epoch), record.version)

        await asyncio.gather(renew(), *(view.confirm() for _ in range(8)))
        assert view.history_went_back == 0
        assert view.shards == {LOW: record}


@pytest.mark.looptime
async def test_a_record_of_another_protocol_is_a_foreign_one_until_it_is_gone() -> None:
    api_server = server()
    coordination = client(api_server)
    async with following(coordination) as view:
        record = await coordination.write_shard(shard(LOW), "")
        path = f"{PATH}/{coordination.names.shard(LOW)}"
        patch = msgspec.json.encode({"metadata": {"annotations": {"shardfleet.dev/protocol": "2"}}})
        transport = InProcessTransport(api_server)
        answer = await transport.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        await until(view, lambda: view.shards[LOW].foreign)
        assert "protocol '2'" in view.trouble
        await view.confirm()
        assert view.confirmed_at == asyncio.get_running_loop().time()
        assert view.shards[LOW].foreign
        version = msgspec.json.decode(answer)["metadata"]["resourceVersion"]
        await coordination.delete_shard(replace(record, version=version))
        await asyncio.sleep(1)
        assert view.trouble == ""
        assert view.shards == {}


@pytest.mark.looptime
async def test_a_watch_that_is_accepted_and_says_nothing_confirms_nothing() -> None:
    api_server = server()
    coordination, other = client(api_server), client(api_server, "fleet/0 m=other")
    async with following(coordination) as view:
        confirmed_at = view.confirmed_at
        await asyncio.sleep(5)
        api_server.close()
        hold = api_server.faults.inject(DelayEvents(match=Match(user_agent="reader")))
        new = await other.write_shard(shard(LOW), "")
        await asyncio.sleep(20)
        assert view.trouble == ""
        assert view.shards == {}
        assert view.confirmed_at == confirmed_at
        hold.release()
        await until(view, lambda: view.shards == {LOW: new})


@pytest.mark.looptime
async def test_a_record_of_another_protocol_that_a_restore_took_away_is_forgotten() -> None:
    old, restored = server(), server()
    transport = Switching(old)
    coordination = client(old, transport=transport)
    for name in map(str, range(30)):
        await coordination.write_member(member(f"web-0-{name}"), "")
    async with following(coordination) as view:
        await coordination.write_shard(shard(LOW), "")
        path = f"{PATH}/{coordination.names.shard(LOW)}"
        patch = msgspec.json.encode({"metadata": {"annotations": {"shardfleet.dev/protocol": "2"}}})
        await InProcessTransport(old).request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        await until(view, lambda: view.shards[LOW].foreign)
        transport.server = restored
        await view.confirm()
        await asyncio.sleep(5)
        assert view.shards == {}
        assert view.trouble == ""
        assert view.confirmed_at > float("-inf")


@pytest.mark.looptime
async def test_a_confirmation_shows_that_a_record_of_another_protocol_is_gone_before_the_watch_does() -> None:
    api_server = server()
    coordination = client(api_server)
    async with following(coordination) as view:
        record = await coordination.write_shard(shard(LOW), "")
        path = f"{PATH}/{coordination.names.shard(LOW)}"
        transport = InProcessTransport(api_server)
        for protocol in ("2", "1"):
            patch = msgspec.json.encode({"metadata": {"annotations": {"shardfleet.dev/protocol": protocol}}})
            await transport.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
            if protocol == "2":
                await until(view, lambda: view.shards[LOW].foreign)
                hold = api_server.faults.inject(DelayEvents(match=Match(user_agent="reader")))
        await view.confirm()
        assert view.confirmed_at == asyncio.get_running_loop().time()
        assert (view.shards[LOW].epoch, view.shards[LOW].foreign) == (record.epoch, False)
        hold.release()


@pytest.mark.looptime
async def test_an_answer_of_before_a_later_one_found_the_restore_takes_nothing_back() -> None:
    old, restored = server(), server()
    transport = Switching(old)
    coordination = client(old, transport=transport)
    for name in map(str, range(30)):
        await coordination.write_member(member(f"web-0-{name}"), "")
    kept = await client(restored).write_shard(shard(HIGH), "")
    async with following(coordination) as view:
        transport.server = restored
        transport.late = [5.0]
        late = asyncio.create_task(view.confirm())
        await asyncio.sleep(1)
        await view.confirm()
        assert view.history_went_back == COLLECTIONS
        mine = await coordination.write_shard(replace(kept, epoch=6), kept.version)
        await late
        assert view.shards == {HIGH: mine}
        assert view.history_went_back == COLLECTIONS


@pytest.mark.looptime
async def test_a_confirmation_that_fails_leaves_no_list_behind() -> None:
    api_server = server()
    transport = Switching(api_server)
    coordination = client(api_server, transport=transport)
    async with following(coordination) as view:
        transport.late = [5.0]
        api_server.faults.inject(LostAck(match=Match(resource="v1/configmaps")))
        with pytest.raises(CoordinationUnavailable):
            await view.confirm()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.looptime
async def test_a_view_that_is_closed_during_a_confirmation_ends_both() -> None:
    api_server = server()
    transport = Switching(api_server)
    coordination = client(api_server, transport=transport)
    async with following(coordination) as view:
        transport.late = [5.0]
        confirming = asyncio.create_task(view.confirm())
        await asyncio.sleep(1)
    await confirming
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.looptime
async def test_a_map_that_was_deleted_is_none_but_remembered() -> None:
    api_server = server()
    coordination = client(api_server)
    stored = await coordination.write_map(shard_map(), "")
    async with following(coordination) as view:
        await InProcessTransport(api_server).request("DELETE", f"/api/v1/namespaces/default/configmaps/{FLEET}-map")
        await until(view, lambda: view.map is None)
        assert view.last_map == stored


@pytest.mark.looptime
async def test_a_closed_view_leaves_no_task() -> None:
    coordination = client(server())
    async with following(coordination, members=True):
        assert len(asyncio.all_tasks()) > 1
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await coordination.write_shard(shard(LOW), "")
