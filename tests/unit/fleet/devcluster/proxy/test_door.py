"""Who may come in: what the proxy does for a client is played in tests/integration/test_fault_proxy.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from fleet.devcluster.doors.http import HttpDoor, serve
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.server import ApiServer
from shards.errors import ConfigError
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, config_map

PAGES = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example:8001"},
]


@pytest.fixture
async def server() -> AsyncIterator[HttpDoor]:
    made = await serve(ApiServer())
    yield made
    await made.close()


@pytest.fixture
async def proxy(server: HttpDoor) -> AsyncIterator[FaultProxy]:
    made = await FaultProxy.start(await Upstream.at(server.url))
    yield made
    await made.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


@pytest.mark.parametrize("headers", PAGES, ids=str)
async def test_a_page_in_a_browser_writes_nothing_through_the_proxy(
    proxy: FaultProxy, session: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    url = proxy.url + CONFIG_MAPS.path("default")
    async with session.post(url, json=config_map("a"), headers=headers) as response:
        told = await response.json()
        assert (response.status, told["kind"], told["reason"]) == (403, "Status", "Forbidden")
        assert told["message"]
    async with session.get(proxy.url + CONFIG_MAPS.path("default", "a")) as response:
        assert response.status == 404


@pytest.mark.parametrize("headers", PAGES, ids=str)
@pytest.mark.parametrize("where", ["proxy", "server"])
async def test_a_page_in_a_browser_injects_no_fault(
    proxy: FaultProxy, server: HttpDoor, session: aiohttp.ClientSession, headers: dict[str, str], where: str
) -> None:
    door = proxy if where == "proxy" else server
    async with session.post(door.url + "/-/faults", json={"fault": "reset"}, headers=headers) as response:
        told = await response.json()
        assert (response.status, bool(told["error"])) == (403, True)
    assert list(door.control.faults) == []


async def test_a_fault_must_say_that_it_is_json(proxy: FaultProxy, session: aiohttp.ClientSession) -> None:
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        async with session.post(proxy.url + "/-/faults", data=b'{"fault": "reset"}', headers=headers) as response:
            assert response.status == 415
            assert "application/json" in (await response.json())["error"]
    assert list(proxy.faults) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
async def test_the_proxy_listens_on_loopback_only(server: HttpDoor, host: str) -> None:
    upstream = await Upstream.at(server.url)
    with pytest.raises(ConfigError, match="loopback") as raised:
        await FaultProxy.start(upstream, host=host)
    assert raised.value.path == "host"
    await upstream.close()


async def test_the_proxy_has_a_url_on_either_loopback(server: HttpDoor, tmp_path: Path) -> None:
    proxy = await FaultProxy.start(await Upstream.at(server.url), host="::1")
    try:
        assert proxy.url.startswith("http://[::1]:")
        async with aiohttp.ClientSession() as session, session.get(proxy.url + "/healthz") as response:
            assert response.status == 200
    finally:
        await proxy.close()


@pytest.mark.parametrize("where", ["proxy", "server"])
async def test_a_client_that_asks_before_it_sends_its_body_is_told_to_go_on(
    proxy: FaultProxy, server: HttpDoor, session: aiohttp.ClientSession, where: str
) -> None:
    url = (proxy if where == "proxy" else server).url + CONFIG_MAPS.path("default")
    async with asyncio.timeout(5.0):
        async with session.post(url, json=config_map("a"), expect100=True) as response:
            assert response.status == 201
        async with session.get(f"{url}/a") as response:
            assert (await response.json())["data"] == {"a": "1"}


async def test_the_kubeconfig_of_the_proxy_is_its_owners_alone(proxy: FaultProxy, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    proxy.write_kubeconfig(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert proxy.url in file.read_text()
