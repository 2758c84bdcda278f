"""One request and its answer on a kept connection to one API server, below aiohttp's session.

The session would parse the URL, keep cookies, be ready for redirects and make a task for the body, for every request:
together they cost as much as all the rest. Connections, pool, proxies, TLS and the parser are aiohttp's all the same.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from yarl import URL

from shards.transport.attempt import Attempt
from shards.transport.credentials import Access

READ_BUFFER_BYTES = 1 << 18
"""Bytes that aiohttp buffers before it stops reading: a page of a list takes few wake-ups."""

_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_IS_VISIBLE = re.compile("[!-~]*")
_BREAKS = re.compile("[\r\n\0]")


class Answer(NamedTuple):
    """headers: by name, in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Opened:
    """An answer whose head has come. Whoever has it must `close` it."""

    __slots__ = ("_attempt", "_connection", "body", "headers", "status")

    def __init__(
        self,
        attempt: Attempt,
        connection: aiohttp.connector.Connection,
        message: RawResponseMessage,
        body: aiohttp.StreamReader,
    ) -> None:
        self._attempt = attempt
        self._connection = connection
        self.status = message.code
        self.headers: Mapping[str, str] = message.headers
        self.body = body

    def close(self) -> None:
        """An answer that was whole leaves its connection to the next request; any other takes it down at once: no
        goodbye, and nothing flushed that was not sent yet."""
        transport = self._connection.transport
        # A server that does not want to hear all of a body may answer before it was sent.
        if self.body.is_eof() and transport is not None and not transport.get_write_buffer_size():
            self._connection.release()
        else:
            self._attempt.reset()
            self._connection.close()


class Exchange:
    """Requests to the server, each on a connection of its own while it lasts. Made on the loop that uses it.

    connect_seconds: for one TCP and TLS handshake; None: whoever sends sets the time for the whole exchange.
    """

    def __init__(
        self, connector: aiohttp.TCPConnector, access: Access, *, connect_seconds: float | None = None
    ) -> None:
        self._connector = connector
        # aiohttp rounds long timeouts up to the loop's next whole second.
        self._limits = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds, ceil_threshold=math.inf)
        url = URL(access.host)
        # Tells the connector whom to reach, and how; it is never sent.
        self._server = aiohttp.ClientRequest(
            "GET",
            url,
            loop=asyncio.get_running_loop(),
            proxy=URL(access.proxy) if access.proxy is not None else None,
            server_hostname=access.server_hostname,
        )
        # A proxy that sees the request has to be told where it goes.
        seen_by_proxy = access.proxy is not None and not self._server.is_ssl()
        self._prefix = access.host if seen_by_proxy else url.raw_path.rstrip("/")

    async def send(
        self, attempt: Attempt, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        """The whole answer. Arguments and errors as of `open`."""
        opened = await self.open(attempt, method, target, headers, body)
        try:
            return Answer(opened.status, opened.headers, await opened.body.read())
        finally:
            opened.close()

    async def open(
        self, attempt: Attempt, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Opened:
        """target: path below the server's URL, with its query. A read whose connection turned out to be closed is sent
        again, once, on another one.

        Raises aiohttp.ClientError, OSError and, when the connection is in hand too late, NotOwner.
        """
        head = self._head(method, target, headers, body)
        try:
            return await self._once(attempt, head, body)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            if method != "GET" or not attempt.sent:
                raise
            return await self._once(attempt, head, body)

    async def _once(self, attempt: Attempt, head: bytes, body: bytes | None) -> Opened:
        connection = await self._connector.connect(self._server, [], self._limits)
        try:
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                raise aiohttp.ServerDisconnectedError
            protocol.set_response_params(read_until_eof=True, read_bufsize=READ_BUFFER_BYTES)
            if attempt.remaining() <= 0:
                attempt.late = True
                raise aiohttp.ClientConnectionError("the deadline has passed")
            transport.write(head if body is None else head + body)
            return Opened(attempt, connection, *await _answered(protocol))
        except BaseException:
            attempt.reset()
            connection.close()
            raise

    def _head(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        if not _IS_VISIBLE.fullmatch(target):
            target = quote(target, safe=_VISIBLE)
        lines = [f"{method} {self._prefix}{target} HTTP/1.1"]
        for name in ("Host", "Authorization", "Proxy-Authorization"):
            if name in self._server.headers and name not in headers:
                lines.append(f"{name}: {self._server.headers[name]}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method != "GET":
            lines.append(f"Content-Length: {len(body or b'')}")
        if any(map(_BREAKS.search, lines)):
            raise ValueError("a header of a request contains a line break")
        return "\r\n".join((*lines, "", "")).encode()


async def _answered(protocol: ResponseHandler) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    """The head of the final answer, and where its body will come."""
    try:
        message, body = await protocol.read()
        while 100 <= message.code < 200 and message.code != 101:
            message, body = await protocol.read()
    except HttpProcessingError as error:
        raise aiohttp.ClientPayloadError(f"not HTTP: {error.message}") from error
    return message, body
