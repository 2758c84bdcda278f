"""Every fault at a client over HTTP: at the embedded server's own door, and through the proxy in front of the embedded
server and of a real one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
import yaml

from fleet.devcluster.doors.http import serve
from fleet.devcluster.faults import Faults, Match
from fleet.devcluster.faults.words import DelayAnswers, DelayEvents, LostAck, Partition, Refuse, Silence, Word
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from shards.errors import ApiError, ConfigError, NotFound, Unreachable
from shards.objects import Resource
from shards.transport.kube import connect
from tests.cluster.plane import ControlPlane
from tests.integration.waiting import eventually
from tests.unit.fleet.devcluster.faults.bench import CONFIG_MAPS, Bench, config_map
from tests.unit.fleet.devcluster.faults.scenes import SCENES, Scene

NAMESPACES = Resource("", "v1", "namespaces")

every_fault = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: str(scene.__name__))


@asynccontextmanager
async def client_of(kubeconfig: Path, faults: Faults, direct: Path) -> AsyncIterator[Bench]:
    """A client in a namespace of its own. kubeconfig: the way that faults are in; direct: one without."""
    namespace = f"faults-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        struck = await connect(kubeconfig=str(kubeconfig))
        stack.push_async_callback(struck.close)
        by_hand = await connect(kubeconfig=str(direct))
        stack.push_async_callback(by_hand.close)
        hand = Client(by_hand, user_agent="by hand")
        await hand.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        stack.push_async_callback(hand.delete, NAMESPACES, "", namespace)
        yield Bench(struck, faults, hand, namespace)
        faults.clear()


@asynccontextmanager
async def through_proxy(
    kubeconfig: Path, directory: Path, recorder: Recorder | None = None
) -> AsyncIterator[FaultProxy]:
    """A proxy in front of the cluster of that kubeconfig. Its own is in the directory."""
    proxy = await FaultProxy.start(await Upstream.of(str(kubeconfig)), recorder=recorder)
    proxy.write_kubeconfig(directory / "proxy")
    try:
        yield proxy
    finally:
        await proxy.close()


@asynccontextmanager
async def embedded_server(directory: Path) -> AsyncIterator[tuple[ApiServer, Path]]:
    """An embedded server on this loop, with garbage collection, and its kubeconfig."""
    door = await serve(ApiServer())
    file = directory / "embedded"
    cluster = {"name": "e", "cluster": {"server": door.url}}
    context = {"name": "e", "context": {"cluster": "e", "user": "e"}}
    users = [{"name": "e", "user": {}}]
    config = {"current-context": "e", "clusters": [cluster], "contexts": [context], "users": users}
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "Config", **config}))
    try:
        yield door.server, file
    finally:
        door.server.faults.clear()
        await door.close()


@every_fault
async def test_a_client_of_the_embedded_server_sees_that(scene: Scene, tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as (server, kubeconfig),
        client_of(kubeconfig, server.faults, kubeconfig) as bench,
    ):
        await scene(bench)


@every_fault
async def test_a_client_behind_the_proxy_sees_that(scene: Scene, tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as (_, kubeconfig),
        through_proxy(kubeconfig, tmp_path) as proxy,
        client_of(tmp_path / "proxy", proxy.faults, kubeconfig) as bench,
    ):
        await scene(bench)


@every_fault
async def test_a_client_of_a_real_server_behind_the_proxy_sees_that(
    scene: Scene, tmp_path: Path, real_cluster: ControlPlane
) -> None:
    async with (
        through_proxy(real_cluster.kubeconfig, tmp_path) as proxy,
        client_of(tmp_path / "proxy", proxy.faults, real_cluster.kubeconfig) as bench,
    ):
        await scene(bench)


async def test_faults_are_injected_over_the_control_endpoint(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as (_, kubeconfig),
        through_proxy(kubeconfig, tmp_path, Recorder()) as proxy,
        client_of(tmp_path / "proxy", proxy.faults, kubeconfig) as bench,
        aiohttp.ClientSession() as session,
    ):
        document = {"fault": "lost_ack", "match": {"user_agent": "struck"}, "times": 1}
        async with session.post(proxy.url + "/-/faults", json=document) as response:
            assert response.status == 201
        with pytest.raises(Unreachable):
            await bench.client().create(CONFIG_MAPS, bench.namespace, config_map("a"))
        async with session.get(proxy.url + "/-/faults") as response:
            assert [each["struck"] for each in await response.json()] == [1]
        async with session.delete(proxy.url + "/-/faults") as response:
            assert await response.json() == []
        async with session.get(proxy.url + "/-/verdict") as response:
            assert response.status == 200
        assert await bench.exists("a")


async def test_the_embedded_servers_own_door_has_the_control_endpoint(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as (server, kubeconfig),
        client_of(kubeconfig, server.faults, kubeconfig) as bench,
    ):
        url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        async with aiohttp.ClientSession() as session:
            document = {"fault": "refuse", "status": 503, "match": {"user_agent": "struck"}}
            async with session.post(url + "/-/faults", json=document) as response:
                assert response.status == 201
            with pytest.raises(ApiError, match="ServiceUnavailable"):
                await bench.client().get(CONFIG_MAPS, bench.namespace, "a")
            async with session.delete(url + "/-/faults/1") as response:
                assert response.status == 200
        with pytest.raises(NotFound):
            await bench.client().get(CONFIG_MAPS, bench.namespace, "a")


async def test_the_proxy_records_what_reached_a_real_server(tmp_path: Path, real_cluster: ControlPlane) -> None:
    recorder = Recorder()
    async with (
        through_proxy(real_cluster.kubeconfig, tmp_path, recorder) as proxy,
        client_of(tmp_path / "proxy", proxy.faults, real_cluster.kubeconfig) as bench,
    ):
        made = await bench.client("fleet/0 m=a").create(CONFIG_MAPS, bench.namespace, config_map("a"))
        proxy.faults.inject(LostAck(match=Match(verbs=("delete",)), times=1))
        with pytest.raises(Unreachable):
            await bench.client("fleet/0 m=a").delete(CONFIG_MAPS, bench.namespace, "a")
        proxy.faults.inject(Refuse(match=Match(verbs=("patch",)), status=500))
        with pytest.raises(ApiError):
            await bench.client().merge_patch(CONFIG_MAPS, bench.namespace, "a", {"data": {}})
    told = [(each.verb, each.status, each.removed) for each in recorder.entries if each.name == "a"]
    assert told == [("create", 201, False), ("delete", 200, True), ("lost", 0, False), ("refused", 500, False)]
    first = next(each for each in recorder.entries if each.verb == "create")
    assert (first.uid, first.resource_version) == (made["metadata"]["uid"], made["metadata"]["resourceVersion"])
    assert first.user_agent == "fleet/0 m=a"


async def test_a_clients_own_credentials_are_passed_on(tmp_path: Path, real_cluster: ControlPlane) -> None:
    async with through_proxy(real_cluster.kubeconfig, tmp_path) as proxy, aiohttp.ClientSession() as session:
        for headers, status in (({}, 200), ({"Authorization": "Bearer of-somebody-else"}, 401)):
            async with session.get(proxy.url + "/api/v1/namespaces", headers=headers) as response:
                assert response.status == status


async def test_a_server_that_is_gone_is_a_broken_connection(tmp_path: Path) -> None:
    async with embedded_server(tmp_path) as (_, kubeconfig):
        proxy = await FaultProxy.start(await Upstream.of(str(kubeconfig)))
    try:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get(proxy.url + "/version")
    finally:
        await proxy.close()


async def test_a_port_in_use_is_said_plainly_although_doors_share_theirs(tmp_path: Path) -> None:
    async with embedded_server(tmp_path) as (_, kubeconfig), through_proxy(kubeconfig, tmp_path) as proxy:
        with pytest.raises(ConfigError, match="in use"):
            await serve(ApiServer(), port=int(proxy.url.rpartition(":")[2]))


@pytest.mark.parametrize(
    "word",
    [Silence(), DelayEvents(), Partition(way="to_client"), DelayAnswers(seconds=60.0)],
    ids=lambda word: type(word).__name__,
)
async def test_watches_whose_clients_hung_up_leave_nothing_at_either_door(word: Word, tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as (server, kubeconfig),
        through_proxy(kubeconfig, tmp_path) as proxy,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        direct = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]

        async def watch(url: str) -> None:
            async with session.get(url + CONFIG_MAPS.path(), params={"watch": "true"}) as response:
                await response.read()

        watches = [asyncio.create_task(watch(url)) for url in (direct, proxy.url) for _ in range(20)]
        await eventually(lambda: len(server.watching.streams) == 40, within_seconds=10, what="all watches are open")
        for faults in (server.faults, proxy.faults):
            faults.inject(word)
        watches += [asyncio.create_task(watch(proxy.url)) for _ in range(20)]
        await eventually(lambda: held(server.faults) + held(proxy.faults) >= 60, within_seconds=10, what="more came")
        for each in watches:
            each.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await eventually(lambda: not server.watching.streams, within_seconds=10, what="the server has no watch left")
        await eventually(
            lambda: held(server.faults) + held(proxy.faults) == 0, within_seconds=10, what="nor have faults"
        )


def held(faults: Faults) -> int:
    """Streams and requests that faults have in hand."""
    return len(faults._streams) + len(faults._present._waiters)
