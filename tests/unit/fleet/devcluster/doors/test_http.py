from __future__ import annotations

import asyncio
import io
import uuid
from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest
import yarl

from fleet.devcluster.doors.http import HttpDoor, quoted, serve
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from fleet.devcluster.recording.journal import decode_lines
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from shards.errors import ConfigError
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, config_map


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    made = await serve(ApiServer(recorder=Recorder()))
    yield made
    await made.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


async def test_requests_and_failures_travel_over_http(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    url = door.url + CONFIG_MAPS.path("default")
    for status in (201, 409):
        async with session.post(url, json=config_map("a")) as response:
            assert response.status == status
            assert response.content_type == "application/json"
            await response.read()
    async with session.get(door.url + "/apis/none.example/v1/things") as response:
        assert (response.status, await response.text()) == (404, "404 page not found\n")


async def test_a_watch_streams_lines_and_ends_when_the_client_leaves(
    door: HttpDoor, session: aiohttp.ClientSession
) -> None:
    async with session.get(door.url + CONFIG_MAPS.path(), params={"watch": "true"}) as response:
        async with session.post(door.url + CONFIG_MAPS.path("default"), json=config_map("a")) as made:
            await made.read()
        event = msgspec.json.decode(await response.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
        assert len(door.server.watching.streams) == 1


async def test_a_lost_answer_cuts_the_connection(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    door.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
    with pytest.raises(aiohttp.ClientError):
        await session.post(door.url + CONFIG_MAPS.path("default"), json=config_map("a"))
    async with session.get(door.url + CONFIG_MAPS.path("default", "a")) as response:
        assert response.status == 200
        await response.read()


async def test_a_port_in_use_is_said_plainly(door: HttpDoor) -> None:
    with pytest.raises(ConfigError, match="in use"):
        await serve(ApiServer(), port=door.port)


async def test_a_body_beyond_the_limit_is_refused(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    for size, status in ((900_000, 201), (3 * 1024 * 1024, 413)):
        big = msgspec.json.encode(config_map("a") | {"data": {"a": "x" * size}})
        headers = {"Content-Type": "application/json"}
        url = door.url + CONFIG_MAPS.path("default")
        async with session.post(url, data=io.BytesIO(big), headers=headers) as response:
            assert response.status == status
            await response.read()


async def test_the_control_endpoint_tells_the_verdict_and_the_journal(
    door: HttpDoor, session: aiohttp.ClientSession
) -> None:
    headers = {"User-Agent": "fleet/0"}
    async with session.post(door.url + CONFIG_MAPS.path("default"), json=config_map("a"), headers=headers) as made:
        await made.read()
    async with session.get(door.url + "/-/verdict") as response:
        verdict = await response.json()
    assert (verdict["clean"], verdict["unattributed_writes"], verdict["entries"]) == (False, 1, 1)
    async with session.get(door.url + "/-/journal?after=0") as response:
        entries = list(decode_lines(await response.read()))
    assert [(each.verb, each.name, each.user_agent) for each in entries] == [("create", "a", "fleet/0")]
    async with session.get(door.url + "/-/journal?after=1") as response:
        assert await response.read() == b""
    async with session.get(door.url + "/-/counts") as response:
        assert await response.json() == [{"verb": "create", "resource": "v1/configmaps", "status": 201, "count": 1}]


async def test_a_followed_journal_goes_on_with_what_happens(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    async with session.get(door.url + "/-/journal?follow=true") as response:
        async with session.get(door.url + CONFIG_MAPS.path()) as listed:
            await listed.read()
        entries = list(decode_lines(await response.content.readline()))
    assert [each.verb for each in entries] == ["list"]


@pytest.mark.parametrize(("path", "status"), [("/-/none", 404), ("/-/journal?after=x", 400)])
async def test_a_wrong_control_request_is_refused(
    door: HttpDoor, session: aiohttp.ClientSession, path: str, status: int
) -> None:
    async with session.get(door.url + path) as response:
        assert response.status == status
        await response.read()


async def test_every_answer_has_an_id_and_is_not_to_be_kept(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    async with session.get(door.url + CONFIG_MAPS.path()) as response:
        assert uuid.UUID(response.headers["Audit-Id"]).version == 4
        assert response.headers["Cache-Control"] == "no-cache, private"
    async with session.get(door.url + "/healthz", headers={"Audit-Id": "mine"}) as response:
        assert response.headers["Audit-Id"] == "mine"


async def test_each_warning_is_a_header_of_its_own(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    body = config_map("a") | {"first": 1, "second": 2}
    async with session.post(door.url + CONFIG_MAPS.path("default"), json=body) as response:
        assert response.status == 201
        warnings = response.headers.getall("Warning")
    assert [each.startswith('299 - "unknown field') for each in warnings] == [True, True]


def test_a_warning_is_quoted_for_its_header() -> None:
    assert quoted('say "a\\b"\n') == '"say \\"a\\\\b\\" "'


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip", "gzip"), ("deflate, gzip", "gzip"), ("identity", None), ("gzip;q=0", None)]
)
async def test_a_long_answer_is_compressed_for_who_can_read_it(
    door: HttpDoor, session: aiohttp.ClientSession, accepted: str, encoding: str | None
) -> None:
    headers = {"Accept-Encoding": accepted}
    async with session.get(door.url + CONFIG_MAPS.path(), headers=headers) as response:
        assert "Content-Encoding" not in response.headers
        await response.read()
    big = config_map("a") | {"data": {"a": "x" * 200_000}}
    async with session.post(door.url + CONFIG_MAPS.path("default"), json=big) as made:
        assert made.status == 201
        await made.read()
    async with session.get(door.url + CONFIG_MAPS.path(), headers=headers) as response:
        assert response.headers.get("Content-Encoding") == encoding
        assert (await response.json())["items"][0]["data"] == big["data"]


async def test_a_query_and_a_path_are_decoded_once(door: HttpDoor, session: aiohttp.ClientSession) -> None:
    async with session.post(door.url + CONFIG_MAPS.path("default"), json=config_map("a", labels={"app": "x"})) as made:
        await made.read()
    path = CONFIG_MAPS.path("default").replace("config", "%63onfig")
    url = yarl.URL(f"{door.url}{path}?labelSelector=app+in+%28x%29", encoded=True)
    async with session.get(url) as response:
        assert [each["metadata"]["name"] for each in (await response.json())["items"]] == ["a"]


@pytest.mark.parametrize(
    ("agent", "query", "several"),
    [("client/1", "", False), ("curl/8", "", True), ("client/1", "?pretty=true", True), ("curl/8", "?pretty=0", False)],
)
async def test_people_read_json_on_several_lines(
    door: HttpDoor, session: aiohttp.ClientSession, agent: str, query: str, several: bool
) -> None:
    url = f"{door.url}{CONFIG_MAPS.path('default', 'none')}{query}"
    async with session.get(url, headers={"User-Agent": agent}) as response:
        assert (await response.json())["code"] == 404
        assert (len((await response.text()).splitlines()) > 1) is several


async def test_a_watch_of_an_old_client_ends_with_its_connection(door: HttpDoor) -> None:
    reader, writer = await asyncio.open_connection(door.host, door.port)
    path = CONFIG_MAPS.path("default")
    writer.write(f"GET {path}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true HTTP/1.0\r\n\r\n".encode())
    async with asyncio.timeout(10.0):
        head, _, lines = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.0 200")
    assert b"chunked" not in head
    assert msgspec.json.decode(lines.splitlines()[-1])["type"] == "BOOKMARK"
