from __future__ import annotations

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.errors import AlreadyExists, NotFound, NotOwner, Unreachable
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def test_failures_arrive_as_the_errors_of_the_client(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    with pytest.raises(AlreadyExists):
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    with pytest.raises(NotFound):
        await cluster.client.get(CONFIG_MAPS, "default", "b")


async def test_nothing_is_sent_after_the_deadline(cluster: Cluster) -> None:
    transport = InProcessTransport(cluster.server, clock=lambda: 10.0)
    with pytest.raises(NotOwner):
        await transport.request("DELETE", CONFIG_MAPS.path("default", "a"), not_after=9.9)
    assert list(cluster.recorder.entries) == []
    await transport.request("GET", CONFIG_MAPS.path("default"), not_after=10.0)


async def test_a_lost_answer_leaves_the_write_done_and_the_client_in_doubt(cluster: Cluster) -> None:
    fault = cluster.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
    with pytest.raises(Unreachable) as lost:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    assert lost.value.maybe_applied
    assert fault.struck == 1
    await cluster.client.get(CONFIG_MAPS, "default", "a")
    await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))


async def test_a_refused_watch_raises_before_the_first_chunk(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        async with cluster.transport.stream("/apis/none.example/v1/things", query=[("watch", "true")]):
            pass


async def test_leaving_a_stream_ends_its_watch(cluster: Cluster) -> None:
    async with cluster.transport.stream(CONFIG_MAPS.path(), query=[("watch", "true")]) as chunks:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
        assert b'"ADDED"' in await anext(chunks)
        assert len(cluster.server.watching.streams) == 1
    assert not cluster.server.watching.streams


@pytest.mark.looptime
async def test_a_silent_stream_is_unreachable(cluster: Cluster) -> None:
    query = [("watch", "true"), ("resourceVersion", str(cluster.server.storage.version))]
    async with cluster.transport.stream(CONFIG_MAPS.path(), query=query, idle_seconds=75) as chunks:
        with pytest.raises(Unreachable):
            await anext(chunks)


async def test_a_closed_transport_sends_nothing(cluster: Cluster) -> None:
    await cluster.transport.close()
    with pytest.raises(Unreachable) as closed:
        await cluster.client.get(CONFIG_MAPS, "default", "a")
    assert not closed.value.maybe_applied
