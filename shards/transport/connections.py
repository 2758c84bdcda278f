"""Connections to an API server, through aiohttp, under one TLS context.

Every connection is set to reset on close and to drop data that is not acknowledged, and is handed out only to a request
that may still be sent (design 3.3, R2).
"""

from __future__ import annotations

from contextlib import suppress

import aiohttp

from shards.transport.attempt import current_attempt, fenced_socket
from shards.transport.credentials import Access
from shards.transport.exchange import Exchange

with suppress(ImportError):  # where there is no wheel of it, zlib does the same
    from isal import isal_zlib

    # Lists come compressed, and to inflate them takes it 40 % of zlib's time: 3 % of the CPU of a cold sync.
    aiohttp.set_zlib_backend(isal_zlib)

KEEPALIVE_SECONDS = 45.0
"""Idle connections are dropped sooner than servers (90 s) and common load balancers (60 s) drop them."""


CONNECT_SECONDS = 10.0
"""For one TCP and TLS handshake of a watch; those of requests count against the request's own timeout."""


class _Connector(aiohttp.TCPConnector):
    """Hands a connection out only to a request that may still be sent."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        connection = await super().connect(req, traces, timeout)
        try:
            transport = connection.transport
            if transport is None:
                raise aiohttp.ServerDisconnectedError
            current_attempt.get().take(transport)
        except BaseException:
            connection.release()
            raise
        return connection


class Connections:
    """Those under one TLS context. A rotated authority or client certificate is another context, and others of these.

    requests, watches: on connectors of their own, because watches hold their connections for minutes. Without a limit,
    because a lease renewal must not wait behind a hundred other requests. users: how many are under way.
    """

    def __init__(self, access: Access) -> None:
        self.ssl = access.ssl
        self._connectors = _connector(access), _connector(access)
        requests, watches = self._connectors
        self.requests = Exchange(requests, access)
        self.watches = Exchange(watches, access, connect_seconds=CONNECT_SECONDS)
        self.users = 0

    async def close(self) -> None:
        for each in self._connectors:
            await each.close()


def _connector(access: Access) -> _Connector:
    return _Connector(
        ssl=access.ssl if access.ssl is not None else True,
        limit=0,
        keepalive_timeout=KEEPALIVE_SECONDS,
        socket_factory=fenced_socket,
    )
