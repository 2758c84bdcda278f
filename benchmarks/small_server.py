"""A server that costs next to nothing, in a process of its own: it answers every request with the same small object."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import cast

from benchmarks.forked_server import Announce, forked_server

_METADATA = b'{"name":"small","namespace":"default","uid":"1","resourceVersion":"12345"}'
_BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":%s,"data":{"a":"%s"}}' % (_METADATA, b"x" * 400)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
_LENGTH = b"content-length: "


class _Connection(asyncio.Protocol):
    """Reads no more of a request than where it ends."""

    def __init__(self) -> None:
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not registered as one

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (head := self._held.find(b"\r\n\r\n")) >= 0:
            _, _, tail = self._held[:head].lower().partition(_LENGTH)
            end = head + 4 + int(tail.partition(b"\r\n")[0] or 0)
            if len(self._held) < end:
                return
            self._held = self._held[end:]
            self._transport.write(_ANSWER)


async def _serve(announce: Announce) -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    announce(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


def small_server() -> AbstractContextManager[str]:
    """Its URL. To be started before this process has a loop or a thread."""
    return forked_server(_serve)
