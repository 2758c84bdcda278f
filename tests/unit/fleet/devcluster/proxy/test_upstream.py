from __future__ import annotations

import asyncio
import math
from itertools import count

import pytest
from aiohttp import web
from multidict import CIMultiDict

from fleet.devcluster.proxy.upstream import Upstream, UpstreamStream, _goes_on
from fleet.devcluster.wire.answers import ConnectionLost
from fleet.devcluster.wire.requests import Request
from shards.transport.credentials import Access, Credentials


@pytest.mark.parametrize("target", ["@elsewhere.example/api", "http://elsewhere.example/api", "*", ""])
async def test_a_target_that_would_lead_elsewhere_is_not_sent(target: str) -> None:
    upstream = await Upstream.at("http://127.0.0.1:9")
    try:
        with pytest.raises(ConnectionLost, match="is no path"):
            await upstream.send(Request("GET", target), target, CIMultiDict())
    finally:
        await upstream.close()


class Content:
    """What a server sends, chunk by chunk."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = [*chunks]

    async def readany(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


class Response:
    def __init__(self, content_type: str, *chunks: bytes) -> None:
        self.headers = {"Content-Type": content_type}
        self.content = Content(*chunks)

    def close(self) -> None: ...


async def read_all(content_type: str, *chunks: bytes) -> list[bytes]:
    stream = UpstreamStream(Response(content_type, *chunks))  # type: ignore[arg-type]  # as much of one as it uses
    found = []
    while chunk := await stream.read():
        found.append(chunk)
    stream.close()
    return found


async def test_events_are_passed_on_whole_however_they_arrive() -> None:
    chunks = (b'{"a":', b"1}", b'\n{"b":2}\n{"c', b'":3}\n', b'{"d":4')
    assert await read_all("application/json;stream=watch", *chunks) == [
        b'{"a":1}\n{"b":2}\n',
        b'{"c":3}\n',
        b'{"d":4',
    ]


async def test_logs_and_binary_streams_are_passed_on_as_they_arrive() -> None:
    for content_type in ("text/plain", "application/vnd.kubernetes.protobuf;stream=watch"):
        assert await read_all(content_type, b"no end", b" of a line") == [b"no end", b" of a line"]


async def test_a_line_that_does_not_end_is_passed_on_in_parts() -> None:
    piece = b"x" * (1 << 20)
    found = await read_all("application/json", *[piece] * 12)
    assert b"".join(found) == piece * 12
    assert max(map(len, found)) <= 5 << 20


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/api/v1/pods", [("watch", "true")], True),
        ("/api/v1/namespaces/a/pods/b/log", [("follow", "1")], True),
        ("/api/v1/watch/namespaces/a/pods", [], True),
        ("/apis/apps/v1/watch/deployments", [], True),
        ("/api/v1/namespaces/watch/pods", [], False),
        ("/apis/apps/v1/namespaces/watch/deployments", [], False),
        ("/api/v1/pods", [], False),
        ("/healthz", [], False),
    ],
)
def test_what_may_never_end_is_streamed(path: str, query: list[tuple[str, str]], expected: bool) -> None:
    assert _goes_on(Request("GET", path, query)) is expected


async def test_a_closed_proxy_carries_nothing() -> None:
    upstream = await Upstream.at("http://127.0.0.1:9")
    await upstream.close()
    with pytest.raises(ConnectionLost, match="closed"):
        await upstream.send(Request("GET", "/api"), "/api", CIMultiDict())


@pytest.mark.parametrize(
    ("brought", "status", "sent"),
    [({}, 201, ["Bearer old", "Bearer new"]), ({"Authorization": "Bearer of-another"}, 401, ["Bearer of-another"])],
    ids=["of the kubeconfig", "of the client"],
)
async def test_a_token_that_is_refused_is_renewed_once_unless_it_is_the_clients(
    brought: dict[str, str], status: int, sent: list[str]
) -> None:
    found: list[str] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        found.append(request.headers["Authorization"])
        return web.Response(status=201 if found[-1] == "Bearer new" else 401)

    def access(token: str) -> Access:
        return Access(host, "default", f"Bearer {token}", math.inf, None, None, None)

    server = await asyncio.get_running_loop().create_server(web.Server(handle), "127.0.0.1")
    host = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    times = count(0.0, 10.0)
    upstream = Upstream(host, Credentials(access("old"), lambda: access("new"), lambda: next(times)), {})
    answer = await upstream.send(Request("POST", "/api", body=b"{}"), "/api", CIMultiDict(brought))
    assert (answer.status, found) == (status, sent)
    await upstream.close()
    server.close()
