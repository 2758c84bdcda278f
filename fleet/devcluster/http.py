"""The HTTP door of an embedded server (aiohttp)."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage

from fleet.devcluster import statuses
from fleet.devcluster.answers import Answer, EventStream
from fleet.devcluster.control import Control
from fleet.devcluster.faults import AckLost
from fleet.devcluster.server import ApiServer
from shards.errors import ConfigError

_BODY_LIMIT = 3 * 1024 * 1024
"""The real server's limit on a request body, in bytes."""


@dataclass(slots=True)
class HttpDoor:
    """A listening server. port: the one that was bound."""

    server: ApiServer
    host: str
    port: int
    control: Control | None
    _runner: web.ServerRunner
    _garbage: asyncio.Task[None]

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def close(self) -> None:
        """Ends all watches and stops listening."""
        self._garbage.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._garbage
        self.server.close()
        if self.control is not None:
            self.control.close()
        await self._runner.cleanup()


async def serve(server: ApiServer, host: str = "127.0.0.1", port: int = 0) -> HttpDoor:
    """Listens, and collects garbage in the background. port 0: any free one.

    The control endpoint is there when the server has a recorder. Raises ConfigError when the port is taken.
    """
    control = Control(server.recorder) if server.recorder is not None else None

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/-/"):
            return await _control(control, request)
        return await _respond(server, request)

    door = web.Server(handler, request_factory=_request, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(door, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError("port", f"{host}:{port} is in use by another process; choose another port") from error
        raise ConfigError("host", f"cannot listen on {host}:{port}: {error.strerror}") from error
    bound = runner.addresses[0][1]
    garbage = asyncio.get_running_loop().create_task(server.garbage.run(), name="garbage collection")
    return HttpDoor(server, host, bound, control, runner, garbage)


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_BODY_LIMIT)


async def _respond(server: ApiServer, request: web.BaseRequest) -> web.StreamResponse:
    try:
        body = await request.read() if request.can_read_body else None
    except web.HTTPRequestEntityTooLarge:
        refused = statuses.too_big(_BODY_LIMIT)
        return _send(Answer(refused.code, refused.body()))
    headers = {
        "user-agent": request.headers.get("User-Agent", ""),
        "content-type": request.headers.get("Content-Type", ""),
    }
    try:
        answer = await server.handle(request.method, request.path, list(request.query.items()), body, headers)
    except AckLost:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)
    if answer.stream is not None:
        return await _send_stream(request, answer, answer.stream)
    return _send(answer)


def _send(answer: Answer) -> web.Response:
    headers = {**answer.headers, "Content-Type": answer.content_type}
    if answer.retry_after:
        headers["Retry-After"] = answer.retry_after
    return web.Response(status=answer.status, body=answer.body, headers=headers)


async def _send_stream(request: web.BaseRequest, answer: Answer, stream: EventStream) -> web.StreamResponse:
    async def chunks() -> AsyncIterator[bytes]:
        while chunk := await stream.read():
            yield chunk

    try:
        return await _send_chunks(request, answer.content_type, chunks())
    finally:
        stream.close()


async def _send_chunks(request: web.BaseRequest, content_type: str, chunks: AsyncIterator[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.enable_chunked_encoding()
    # A client that goes away is how every watch ends sooner or later.
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    return response


async def _control(control: Control | None, request: web.BaseRequest) -> web.StreamResponse:
    if not ipaddress.ip_address(request.remote or "0.0.0.0").is_loopback:
        return web.Response(status=403, text="the control endpoint answers to loopback only")
    if control is None or request.method != "GET":
        return web.Response(status=404, text="no recorder" if control is None else "GET only")
    if request.path == "/-/journal":
        if not request.query.get("after", "0").isdigit():
            return web.Response(status=400, text="after: the sequence number of an entry")
        return await _send_chunks(request, "application/jsonlines", control.journal(request.query))
    document = control.document(request.path)
    if document is None:
        return web.Response(status=404, text=f"nothing at {request.path}")
    return web.Response(body=document, content_type="application/json")
