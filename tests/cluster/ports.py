"""Loopback ports that nobody else takes between being chosen and being used."""

from __future__ import annotations

import socket


class ReservedPort:
    """A free TCP port of 127.0.0.1, held until `release`.

    The socket is bound and never listens. A server that sets SO_REUSEADDR, as Go's do, may listen on the port all the
    same (Linux allows the second bind as long as only one of the two listens); everybody who asks for *any* free port
    gets another.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))
        # Only now: with the option set before, the kernel could hand out a port that another reservation holds.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        self._socket.close()
