"""One request on its way to the server: what may still be sent, and what already was.

Sending late is what a request must not do (design 3.3, R2).
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from shards.clock import Clock
from shards.errors import NotOwner

USER_TIMEOUT_SECONDS = 20.0
"""How long sent data may stay unacknowledged where a request names no deadline."""


@dataclass(slots=True, eq=False)
class Attempt:
    """One request on its way through aiohttp.

    sent: bytes may have left. late: the deadline passed after the connection was in hand; nothing was written.
    """

    clock: Clock
    not_after: float | None = None
    sent: bool = False
    late: bool = False
    transport: asyncio.Transport | None = None

    def remaining(self) -> float:
        return math.inf if self.not_after is None else self.not_after - self.clock()

    def take(self, transport: asyncio.Transport) -> None:
        """The connection is in hand. Raises NotOwner past the deadline."""
        remaining = self.remaining()
        if remaining <= 0:
            raise NotOwner("the deadline has passed; the request was not sent")
        sock = transport.get_extra_info("socket")
        sock.setsockopt(
            socket.IPPROTO_TCP,
            socket.TCP_USER_TIMEOUT,
            max(1, int(1000 * min(remaining, USER_TIMEOUT_SECONDS))),
        )
        self.transport = transport
        self.sent = True

    def reset(self) -> None:
        """Closes the connection at once, with what it had not sent."""
        if self.transport is not None:
            self.transport.abort()


current_attempt: ContextVar[Attempt] = ContextVar("attempt")


def fenced_socket(address: Any) -> socket.socket:
    """Resets when it is closed, and drops what nobody acknowledges. address: of a TCP server, as of getaddrinfo."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * USER_TIMEOUT_SECONDS))
    return made
