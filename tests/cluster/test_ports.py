from __future__ import annotations

import socket

import pytest

from tests.cluster.ports import ReservedPort


def bound(port: int, *, reuse: bool) -> socket.socket:
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(reuse))
        made.bind(("127.0.0.1", port))
    except OSError:
        made.close()
        raise
    return made


def test_a_server_that_reuses_addresses_can_listen_on_a_reserved_port() -> None:
    reserved = ReservedPort()

    with bound(reserved.number, reuse=True) as server:
        server.listen()
        socket.create_connection(("127.0.0.1", reserved.number), timeout=5).close()

    reserved.release()


def test_nobody_else_can_take_a_reserved_port() -> None:
    reserved = ReservedPort()

    with pytest.raises(OSError, match="in use"):
        bound(reserved.number, reuse=False)

    reserved.release()
    bound(reserved.number, reuse=False).close()
