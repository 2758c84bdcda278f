"""One request and its answer on a kept connection to one API server, below aiohttp's session.

The session would parse the URL, keep cookies, be ready for redirects and make a task for the body, for every request:
together they cost as much as all the rest. Connections, pool, proxies, TLS and the parser are aiohttp's all the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from shards.attempt import Attempt
from shards.credentials import Access

READ_BUFFER_BYTES = 1 << 18
"""Bytes that aiohttp buffers before it stops reading: a page of a list takes few wake-ups."""

_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_IS_VISIBLE = re.compile("[!-~]*")
_BREAKS = re.compile("[\r\n\0]")
_UNLIMITED = aiohttp.ClientTimeout(total=None)
"""Whoever sends sets the time for the whole exchange."""


class Answer(NamedTuple):
    """headers: by name, in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Exchange:
    """Requests to the server, each on a connection of its own while it lasts. Made on the loop that uses it."""

    def __init__(self, connector: aiohttp.TCPConnector, access: Access) -> None:
        self._connector = connector
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

    async def _once(self, attempt: Attempt, head: bytes, body: bytes | None) -> Answer:
        connection = await self._connector.connect(self._server, [], _UNLIMITED)
        try:
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                raise aiohttp.ServerDisconnectedError
            protocol.set_response_params(read_until_eof=True, read_bufsize=READ_BUFFER_BYTES)
            if attempt.remaining() <= 0:
                attempt.late = True
                raise aiohttp.ClientConnectionError("the deadline has passed")
            transport.write(head if body is None else head + body)
            answer = await _answer(protocol)
        except BaseException:
            # At once, and nothing that was not sent yet goes out after it.
            attempt.reset()
            connection.close()
            raise
        if transport.get_write_buffer_size():
            attempt.reset()  # the server did not want to hear the rest
            connection.close()
        else:
            connection.release()
        return answer

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


async def _answer(protocol: ResponseHandler) -> Answer:
    """The final one, whole."""
    try:
        message, payload = await protocol.read()
        while 100 <= message.code < 200 and message.code != 101:
            message, payload = await protocol.read()
    except HttpProcessingError as error:
        raise aiohttp.ClientPayloadError(f"not HTTP: {error.message}") from error
    return Answer(message.code, message.headers, await payload.read())
