"""The HTTP door of an embedded server (aiohttp)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote
from uuid import UUID

import msgspec
from aiohttp import HttpVersion11, web
from aiohttp.web_protocol import RequestPayloadError
from multidict import CIMultiDict

from fleet.devcluster.doors import browsers
from fleet.devcluster.doors.control import PREFIX, Control, refused
from fleet.devcluster.doors.listener import Listener
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import JSON, Answer, ConnectionLost, EventStream
from fleet.devcluster.wire.requests import BODY_LIMIT, TRUE, has_bad_escape, parse_query

_GZIP_THRESHOLD_BYTES = 128 * 1024
_GZIP_LEVEL = 1
"""Both as in the real server's response writers; it compresses lists and objects, never watches."""

_BODILESS = frozenset({"GET", "HEAD"})
"""Methods whose bodies the real server does not look at."""

_PEOPLE = ("curl", "Wget", "Mozilla/5.0")


@dataclass(slots=True)
class HttpDoor:
    """A listening server. port: the one that was bound."""

    server: ApiServer
    host: str
    port: int
    control: Control
    _listener: Listener
    _garbage: asyncio.Task[None]
    _scheme: str = "http"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}:{self.port}"

    async def close(self) -> None:
        """Ends all watches and stops listening."""
        self._garbage.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._garbage
        self.server.close()
        self.control.close()
        await self._listener.close()


async def serve(
    server: ApiServer, host: str = "127.0.0.1", port: int = 0, *, ssl_context: ssl.SSLContext | None = None
) -> HttpDoor:
    """Listens, and collects garbage in the background. port 0: any free one. ssl_context: serves https.

    The verdict and the journal are there when the server has a recorder. Raises ConfigError when the port is taken.
    """
    control = Control(server.recorder, server.faults, server.storage)

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith(PREFIX):
            return await answer_control(control, request)
        return await _respond(server, request)

    listener = await Listener.start(handler, server.faults, host, port, tls=ssl_context)
    garbage = asyncio.get_running_loop().create_task(server.run_controllers(), name="controllers")
    return HttpDoor(server, host, listener.port, control, listener, garbage, "https" if ssl_context else "http")


async def _respond(server: ApiServer, request: web.BaseRequest) -> web.StreamResponse:
    split = split_target(request.raw_path)
    if split is None:
        return _no_http()
    path, raw_query = split
    try:
        body = await request.read() if request.can_read_body and request.method not in _BODILESS else None
    except web.HTTPRequestEntityTooLarge:
        return await send(request, Answer.failed(statuses.too_big(BODY_LIMIT)))
    except RequestPayloadError:
        return _no_http()
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), _utf8(value))
    if "audit-id" not in headers:
        headers["audit-id"] = str(UUID(int=server.rng.getrandbits(128), version=4))
    try:
        answer = await server.handle(request.method, path, parse_query(raw_query), body, headers)
    except ConnectionLost:
        return abort(request)
    if answer.stream is None and answer.content_type == JSON and _for_people(headers.get("user-agent", ""), raw_query):
        answer.body = msgspec.json.format(answer.body, indent=2)
    answer.headers = {"Audit-Id": headers["audit-id"], "Cache-Control": "no-cache, private", **answer.headers}
    if len(answer.body) > _GZIP_THRESHOLD_BYTES and _takes_gzip(headers.get("accept-encoding", "")):
        answer.body = gzip.compress(answer.body, _GZIP_LEVEL)
        answer.headers.update({"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
    return await send(request, answer)


def split_target(raw: str) -> tuple[str, str] | None:
    """The path, decoded, and the raw query of a request line; None where Go's net/url finds a bad escape in the path.

    A client may name the server too, as it does to a proxy: `http://host/path`.
    """
    path, _, query = _utf8(raw).partition("?")
    if not path.startswith("/"):
        path = "".join(path.partition("://")[2].partition("/")[1:])
    if "%" in path:
        if has_bad_escape(path):
            return None
        path = unquote(path)
    return path, query


def _utf8(text: str) -> str:
    """The text, with bytes that are not UTF-8, which aiohttp keeps as surrogates, replaced as Go's JSON does."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def _no_http() -> web.Response:
    """As Go's server refuses what it cannot read."""
    answer = web.Response(status=400, text="400 Bad Request")
    answer.force_close()
    return answer


def _takes_gzip(accept_encoding: str) -> bool:
    """As the real server reads it: the plain word, without a weight."""
    return any(each.strip() == "gzip" for each in accept_encoding.split(","))


def _for_people(user_agent: str, raw_query: str) -> bool:
    """Whether JSON is to be written on several lines: on demand, and for tools that people read with."""
    wanted = next((value for name, value in parse_query(raw_query) if name == "pretty"), "") if raw_query else ""
    return wanted in TRUE if wanted else user_agent.startswith(_PEOPLE)


async def send(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Writes an answer to its connection: the whole body, or chunk by chunk from its stream, which is closed then.

    A stream that raises ConnectionLost aborts the connection.
    """
    headers = CIMultiDict(answer.headers)
    headers["Content-Type"] = answer.content_type
    if answer.retry_after:
        headers["Retry-After"] = answer.retry_after
    for warning in answer.warnings:
        headers.add("Warning", f"299 - {quoted(warning)}")
    if answer.stream is None:
        return web.Response(status=answer.status, body=answer.body, headers=headers)
    try:
        return await _send_chunks(request, answer.status, headers, _chunks(answer.stream))
    except ConnectionLost:
        return abort(request)
    finally:
        answer.stream.close()


def abort(request: web.BaseRequest) -> web.StreamResponse:
    """Breaks the connection, with whatever was not sent yet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def quoted(text: str) -> str:
    """A quoted-string of a Warning header; control characters become blanks, as no header may hold them."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(each if each.isprintable() else " " for each in escaped) + '"'


async def _chunks(stream: EventStream) -> AsyncIterator[bytes]:
    while chunk := await stream.read():
        yield chunk


async def _send_chunks(
    request: web.BaseRequest, status: int, headers: Mapping[str, str], chunks: AsyncIterator[bytes]
) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers=headers)
    if request.version >= HttpVersion11:
        response.enable_chunked_encoding()  # to older clients the end of the connection is the end of the answer
    # A client that goes away is how every watch ends sooner or later.
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    return response


async def answer_control(control: Control, request: web.BaseRequest) -> web.StreamResponse:
    """The control endpoint's answer, for those on this machine who are no page in its browser."""
    why = browsers.refusal(request.headers)
    if not browsers.is_loopback(request.remote or ""):
        why = "the control endpoint answers to loopback only"
    if why:
        return await send(request, refused(403, why))
    if request.method == "POST" and not browsers.is_json(request.content_type):
        return await send(request, refused(415, "send application/json: curl --json, not curl -d"))
    body = await request.read() if request.can_read_body else None
    return await send(request, control.answer(request.method, request.path, request.query, body))
