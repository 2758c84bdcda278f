"""Connections to an API server, through aiohttp, under one TLS context.

Every connection is set to reset on close and to drop data that is not acknowledged, and is handed out only to a request
that may still be sent (design 3.3, R2).
"""

from __future__ import annotations

import math

import aiohttp

from shards.attempt import current_attempt, fenced_socket
from shards.credentials import Access
from shards.exchange import READ_BUFFER_BYTES, Exchange

KEEPALIVE_SECONDS = 45.0
"""Idle connections are dropped sooner than servers (90 s) and common load balancers (60 s) drop them."""


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


class _Response(aiohttp.ClientResponse):
    """Closed early, it takes its connection down at once: no goodbye, and nothing flushed that was not sent yet."""

    def close(self) -> None:
        connection = self.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        super().close()


class Connections:
    """Those under one TLS context. A rotated authority or client certificate is another context, and others of these.

    requests, watches: on connectors of their own, because watches hold their connections for minutes. Without a limit,
    because a lease renewal must not wait behind a hundred other requests. users: how many are under way.
    """

    def __init__(self, access: Access) -> None:
        self.ssl = access.ssl
        self._kept = _connector(access)
        self.requests = Exchange(self._kept, access)
        self.watches = aiohttp.ClientSession(
            connector=_connector(access),
            response_class=_Response,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=READ_BUFFER_BYTES,
            trust_env=False,
        )
        self.users = 0

    async def close(self) -> None:
        await self._kept.close()
        await self.watches.close()


def timeout(**seconds: float) -> aiohttp.ClientTimeout:
    """By aiohttp's names; what is not named has no limit."""
    # aiohttp rounds long timeouts up to the loop's next whole second; one that is measured by a lease is exact.
    return aiohttp.ClientTimeout(**{"total": None, **seconds}, ceil_threshold=math.inf)


def _connector(access: Access) -> _Connector:
    return _Connector(
        ssl=access.ssl if access.ssl is not None else True,
        limit=0,
        keepalive_timeout=KEEPALIVE_SECONDS,
        socket_factory=fenced_socket,
    )
