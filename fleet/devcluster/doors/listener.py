"""A listening port that can be made to refuse connections (aiohttp)."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import LineTooLong
from aiohttp.http_parser import RawRequestMessage

from fleet.devcluster.faults import Faults
from fleet.devcluster.wire.requests import BODY_LIMIT
from shards.errors import ConfigError

_HEAD_LIMIT = 1024 * 1024
"""Of a request line and of a header, in bytes: what Go's server takes for all of them together."""
_BACKLOG = 128
_SHUTDOWN_SECONDS = 1.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Listener:
    """HTTP on one port. While the fault `unreachable` strikes everybody, nobody listens there and kept connections end.

    host, port: what was bound.
    """

    def __init__(self, handler: Handler, faults: Faults, tls: ssl.SSLContext | None) -> None:
        self.host = ""
        self.port = 0
        self._faults = faults
        self._tls = tls
        self._handler = handler
        self._busy: set[web.RequestHandler] = set()
        self._web = _Server(
            self._handle,
            request_factory=_request,
            handler_cancellation=True,
            access_log=None,
            max_line_size=_HEAD_LIMIT,
            max_field_size=_HEAD_LIMIT,
            auto_decompress=False,  # the API server does not know Content-Encoding in requests
        )
        self._kept: socket.socket | None = None
        self._listening: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._opening: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, handler: Handler, faults: Faults, host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> Listener:
        """port 0: any free one. Raises ConfigError when the port is taken or the host is none of this machine's."""
        made = cls(handler, faults, tls)
        try:
            made._bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ConfigError("port", f"{host}:{port} is in use by another process; choose another port") from error
            raise ConfigError("host", f"cannot listen on {host}:{port}: {error.strerror}") from error
        made._follow()
        faults.on_change.append(made._follow)
        if made._opening is not None:
            await made._opening
        return made

    async def close(self) -> None:
        """Stops listening, and ends connections after what they are at, or after a second."""
        self._faults.on_change.remove(self._follow)
        if self._opening is not None:
            await self._opening
        self._stop()
        await self._web.shutdown(_SHUTDOWN_SECONDS)
        if self._kept is not None:
            self._kept.close()

    def _bind(self, host: str, port: int) -> None:
        # This socket never listens: it keeps the port while nothing does.
        self._kept = _socket(host, port, shared=False)
        self.host, self.port = host, self._kept.getsockname()[1]

    def _follow(self) -> None:
        """Listens, or does not, as the faults want it."""
        if self._faults.refuses_all:
            self._stop()
        elif self._listening is None:
            self._listening = _socket(self.host, self.port, shared=True)
            self._listening.listen(_BACKLOG)
            self._opening = asyncio.get_running_loop().create_task(self._serve(self._listening), name="listen")

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._listening is not None:
            self._listening.close()
        self._server = self._listening = None
        for connection in self._web.connections:
            if connection in self._busy:
                connection.close()  # after what it is at
            else:
                connection.force_close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            if request.headers.get("Expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0  # the answer has not begun yet
            return await self._handler(request)
        finally:
            self._busy.discard(request.protocol)

    async def _serve(self, listening: socket.socket) -> None:
        server = await asyncio.get_running_loop().create_server(self._web, sock=listening, ssl=self._tls)
        if self._listening is listening:
            self._server = server
        else:
            server.close()


class _Connection(web.RequestHandler):
    """Refuses what is no HTTP in the words of Go's server."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return super().handle_error(request, status, exc, message)
        if isinstance(exc, LineTooLong):
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        answer = web.Response(status=status, text=f"{int(status)} {HTTPStatus(status).phrase}")
        answer.force_close()
        return answer


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


def _socket(host: str, port: int, *, shared: bool) -> socket.socket:
    """shared: next to one that is bound to the port already."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not shared:
            _refuse_taken(family, kind, protocol, address)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _refuse_taken(family: int, kind: int, protocol: int, address: object) -> None:
    """A port that another one shares would take our connections in turns. Raises OSError."""
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gave it


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)
