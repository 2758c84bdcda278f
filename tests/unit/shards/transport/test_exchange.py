"""Requests below aiohttp's session: what goes over the wire, and when a connection is kept."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from shards.errors import Unreachable
from shards.transport.kube import KubeTransport, connect
from tests.unit.shards.transport.http_server import Request, Server, answer, chunk, kubeconfig

BODY = 32 << 20
"""More than the sockets' buffers hold."""

NO_HTTP = (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
BODIES = [("GET", None, None), ("DELETE", None, "0"), ("POST", b"", "0"), ("PUT", b"{}", "2"), ("PATCH", b"x" * 9, "9")]
"""Of each method, and what is said of its length."""


@asynccontextmanager
async def connected(tmp_path: Path, below: str = "") -> AsyncIterator[tuple[Server, KubeTransport]]:
    async with Server().running() as server:
        path = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{server.port}{below}")
        transport = await connect(kubeconfig=path)
        yield server, transport
        await transport.close()


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (aiohttp.TCPConnector.connect, ("req", "traces", "timeout")),
        (aiohttp.connector.Connection.release, ()),
        (aiohttp.connector.Connection.close, ()),
        (ResponseHandler.set_response_params, ("read_until_eof", "read_bufsize", "auto_decompress", "read_timeout")),
        (ResponseHandler.read, ()),
        (aiohttp.StreamReader.readany, ()),
        (aiohttp.StreamReader.read, ()),
        (aiohttp.StreamReader.is_eof, ()),
        (aiohttp.StreamReader.set_exception, ("exc",)),
        (aiohttp.ClientRequest, ("method", "url", "loop", "proxy", "server_hostname")),
    ],
    ids=lambda part: getattr(part, "__qualname__", ""),
)
def test_the_parts_of_aiohttp_that_it_does_not_promise_are_where_they_were(
    part: Callable[..., object], names: tuple[str, ...]
) -> None:
    """When this fails, shards/transport/exchange.py has to follow: docs/decisions/0013."""
    assert set(names) <= inspect.signature(part).parameters.keys()


def test_connections_show_their_protocol_and_transport() -> None:
    for name in ("protocol", "transport"):
        assert isinstance(inspect.getattr_static(aiohttp.connector.Connection, name), property)


@pytest.mark.parametrize("below", ["/k8s/clusters/c-1", "/k8s/clusters/c-1/"])
async def test_a_server_below_a_path_is_asked_there(tmp_path: Path, below: str) -> None:
    async with connected(tmp_path, below) as (server, transport):
        await transport.request("GET", "/api/v1/pods", query=[("limit", "5")])
        assert server.requests[0].target == "/k8s/clusters/c-1/api/v1/pods?limit=5"
        assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(("method", "body", "length"), BODIES)
async def test_the_length_of_a_body_is_said(
    tmp_path: Path, method: str, body: bytes | None, length: str | None
) -> None:
    async with connected(tmp_path) as (server, transport):
        await transport.request(method, "/api", body=body)
        assert server.requests[0].headers.get("content-length") == length
        assert server.requests[0].body == (body or b"")


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("a b", "/api/a%20b"),
        ("a\r\nHost: elsewhere", "/api/a%0D%0AHost:%20elsewhere"),
        ("ä", "/api/%C3%A4"),
        ("a%20b", "/api/a%20b"),
    ],
)
async def test_a_name_that_is_none_cannot_say_more_than_a_path(tmp_path: Path, name: str, sent: str) -> None:
    async with connected(tmp_path) as (server, transport):
        await transport.request("GET", f"/api/{name}")
        assert [each.target for each in server.requests] == [sent]


async def test_a_header_with_a_line_break_is_not_sent(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, transport):
        with pytest.raises(ValueError, match="line break"):
            await transport.request("GET", "/api", user_agent="fleet\r\nImpersonate-User: admin")
        assert server.requests == []


async def test_interim_answers_are_passed_over(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, transport):
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
        server.answers = lambda _: hints + answer(200, b'{"a":1}')
        assert await transport.request("GET", "/api") == b'{"a":1}'
        assert await transport.request("GET", "/api") == b'{"a":1}'
        assert server.connections == 1


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"[1,") + chunk(b"2]") + b"0\r\n\r\n",
        answer(200, b"[1,2]"),
    ],
)
async def test_an_answer_in_chunks_is_put_together_and_its_connection_kept(tmp_path: Path, said: bytes) -> None:
    async with connected(tmp_path) as (server, transport):
        server.answers = lambda _: said
        assert [await transport.request("GET", "/api") for _ in range(2)] == [b"[1,2]"] * 2
        assert server.connections == 1


async def test_an_answer_up_to_the_end_of_the_connection_is_whole(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, transport):

        def last(_: Request) -> bytes:
            asyncio.get_running_loop().call_soon(server.writers[-1].close)
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}"

        server.answers = last
        assert [await transport.request("GET", "/api") for _ in range(2)] == [b"{}"] * 2
        assert server.connections == 2


async def test_an_answer_without_a_body_is_empty(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, transport):
        server.answers = lambda _: b"HTTP/1.1 204 No Content\r\n\r\n"
        assert [await transport.request("DELETE", "/api") for _ in range(2)] == [b""] * 2
        assert server.connections == 1


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
)
async def test_what_is_no_http_is_no_answer(tmp_path: Path, said: bytes) -> None:
    async with connected(tmp_path) as (server, transport):
        server.answers = lambda _: said
        with pytest.raises(Unreachable) as caught:
            await transport.request("PUT", "/api", body=b"{}")
        assert caught.value.maybe_applied


async def test_a_connection_on_which_a_body_was_not_sent_whole_is_not_kept(tmp_path: Path) -> None:
    """A server that refuses a body may answer before it has read it; the rest would be taken for the next request."""
    ends: list[int] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(200, head.split(b" ")[0]))
        read = 0
        with suppress(ConnectionError):
            while not ends and read < BODY:
                await said.wait()
                read += len(found := await reader.read(1 << 20))
                if not found:
                    break
        ends.append(read)
        writer.close()

    said = asyncio.Event()
    async with await asyncio.start_server(refuse, "127.0.0.1", 0, limit=1 << 10) as server:
        port = server.sockets[0].getsockname()[1]
        transport = await connect(kubeconfig=kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}"))
        assert await transport.request("PUT", "/api", body=b"x" * BODY) == b"PUT"
        said.set()
        assert await transport.request("GET", "/api") == b"GET"
        await transport.close()
        while len(ends) < 2:
            await asyncio.sleep(0)
    assert max(ends) < BODY


async def test_requests_at_one_time_have_connections_of_their_own(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, transport):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(transport.request("GET", f"/api/{number}")) for number in range(5)]
        assert [task.result() for task in tasks] == [b"{}"] * 5
        assert server.connections == 5
        await transport.request("GET", "/api")
        assert server.connections == 5
