"""Several front ends over one backend: what they share, what each has of its own, and how they are told apart."""

from __future__ import annotations

import asyncio
import contextlib
import re

import msgspec
import pytest

from fleet.devcluster.backend import Backend
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import Refuse, StaleReplica
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.errors import ApiError, ConfigError
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map

LIST = Match(verbs=("list",))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


def client_of(server: ApiServer) -> Client:
    return Client(InProcessTransport(server), user_agent="test/1")


def test_a_name_that_is_taken_is_refused_with_those_that_are(cluster: Cluster) -> None:
    cluster.server.another("b")
    told = re.escape("there is a front end 'b' already; known are: a, b")
    with pytest.raises(ConfigError, match=told):
        cluster.server.another("b")
    with pytest.raises(ConfigError, match="there is a front end 'a' already"):
        ApiServer(backend=cluster.server.backend)


def test_a_front_end_without_a_name_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match="a front end needs a name"):
        cluster.server.another("")


def test_a_refused_front_end_leaves_nothing_behind(cluster: Cluster) -> None:
    listeners = list(cluster.server.storage.listeners)
    with pytest.raises(ConfigError):
        cluster.server.another("a")
    assert cluster.server.storage.listeners == listeners


def test_a_front_end_can_stand_on_a_backend_that_was_made_before_it() -> None:
    backend = Backend(ServerSettings(bookmark_seconds=5.0), recorder=Recorder())
    server = ApiServer(backend=backend, name="only")
    assert server.settings is backend.settings
    assert server.recorder is backend.recorder
    assert server.storage is backend.storage


async def test_another_front_end_has_the_settings_and_the_recorder_of_the_first_unless_told_otherwise(
    cluster: Cluster,
) -> None:
    same, own = cluster.server.another("b"), ServerSettings(too_large_cause=False)
    recorder = Recorder()
    other = cluster.server.another("c", own, recorder=recorder)
    assert (same.settings, same.recorder) == (cluster.server.settings, cluster.recorder)
    assert (other.settings, other.recorder) == (own, recorder)
    await client_of(other).create(CONFIG_MAPS, "default", config_map("a"))
    assert [entry.name for entry in recorder.entries] == ["a"]
    assert not cluster.recorder.entries


async def test_faults_of_one_front_end_do_not_strike_requests_to_another(cluster: Cluster) -> None:
    other = cluster.server.another("b")
    other.faults.inject(Refuse(status=503, match=LIST))
    await cluster.client.list(CONFIG_MAPS, "default")
    with pytest.raises(ApiError):
        await client_of(other).list(CONFIG_MAPS, "default")


async def test_each_front_end_counts_its_own_requests(cluster: Cluster) -> None:
    other = cluster.server.another("b")
    await client_of(other).list(CONFIG_MAPS, "default")
    assert 'verb="LIST"' in other.metrics.text()
    assert 'verb="LIST"' not in cluster.server.metrics.text()


async def test_every_front_end_can_hand_its_clients_to_every_other_but_not_to_itself(cluster: Cluster) -> None:
    second, third = cluster.server.another("b"), cluster.server.another("c")
    for here, others in ((cluster.server, "b, c"), (second, "a, c"), (third, "a, b")):
        with pytest.raises(ConfigError, match=f"known are: {others}$"):
            here.faults.inject(StaleReplica(replica=here.name))
    second.cache.freeze()
    await cluster.client.create(CONFIG_MAPS, "default", config_map("new"))
    third.faults.inject(StaleReplica(replica="b", match=LIST))
    query = [("resourceVersion", "0")]
    answer = await third.handle("GET", CONFIG_MAPS.path("default"), query)
    assert msgspec.json.decode(answer.body)["items"] == []


async def test_a_request_that_was_handed_on_is_recorded_once(cluster: Cluster) -> None:
    cluster.server.another("b")
    cluster.server.faults.inject(StaleReplica(replica="b"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    assert [entry.name for entry in cluster.recorder.entries if entry.verb == "create"] == ["a"]


def test_front_ends_that_make_others_stale_make_each_their_own(cluster: Cluster) -> None:
    servers = [cluster.server, cluster.server.another("b")]
    for each in servers:
        each.faults.inject(StaleReplica(match=LIST, frozen=True))
    made = ["stale-1", "stale-2"]
    assert [sorted(each.faults.routes) for each in servers] == [["b", *made], ["a", *made]]


@pytest.mark.looptime
async def test_the_controllers_run_once_however_many_front_ends_ask_for_them() -> None:
    cluster = Cluster.make(ServerSettings(compaction_seconds=300))
    other = cluster.server.another("b")
    compactions: list[float] = []

    def compacted(*_: object, **__: object) -> None:
        compactions.append(asyncio.get_running_loop().time())

    cluster.server.storage.compact = compacted  # type: ignore[method-assign]
    runs = [asyncio.create_task(each.run_controllers()) for each in (cluster.server, other)]
    await asyncio.sleep(650)
    assert compactions == [600]
    await ended(runs[0])
    await asyncio.sleep(650)
    assert compactions == [600, 650 + 600]
    await ended(runs[1])


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
