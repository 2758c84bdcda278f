"""Who we are towards the API server, and whom we trust: renewed before it is stale and when either side refuses."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import NamedTuple

from shards.clock import Clock

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
"""Pause after a renewal that failed; the old credential serves meanwhile."""

RELOAD_SECONDS = 1.0
"""Shortest time between two renewals because of 401: a server that refuses everybody must not make plugins spin."""


class Access(NamedTuple):
    """Where the server is and who we are.

    authorization: header value; "" = none. fresh_seconds: for how long it is. ssl: authority and client certificate;
    the same object for as long as their content is the same.
    """

    host: str
    namespace: str
    authorization: str
    fresh_seconds: float
    ssl: ssl.SSLContext | None
    server_hostname: str | None
    proxy: str | None


Load = Callable[[], Access]
"""Reads the configuration again, in a thread; may run a credential plugin. Raises ConfigError."""


class Credentials:
    """What requests carry now. Renewed in the background before it is stale, and on demand when it is refused."""

    def __init__(self, access: Access, load: Load, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._access = access
        self._loaded_at = clock()
        self._stale_at = self._loaded_at + access.fresh_seconds
        self._renewal: asyncio.Task[None] | None = None

    def current(self) -> Access:
        """The present one; starts a renewal where it is stale."""
        if self._clock() >= self._stale_at:
            self._start()
        return self._access

    async def replaced(self, refused: Access, within_seconds: float) -> bool:
        """Whether there is another one than that which was refused. All callers share one renewal.

        within_seconds: how long to wait for it. A plugin that hangs must not hold a request beyond its own timeout.
        """
        if self._access is refused and (self._renewing() or self._clock() >= self._loaded_at + RELOAD_SECONDS):
            await asyncio.wait((self._start(),), timeout=within_seconds)
        return self._access is not refused

    async def close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait((self._renewal,))

    def _renewing(self) -> bool:
        return self._renewal is not None and not self._renewal.done()

    def _start(self) -> asyncio.Task[None]:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
        return self._renewal

    async def _renew(self) -> None:
        self._loaded_at = self._clock()
        try:
            access = await asyncio.to_thread(self._load)
        except Exception as error:  # it reads files and runs plugins of others; the old credential serves meanwhile
            log.warning("credentials were not renewed: %s", error)
            self._stale_at = self._clock() + RETRY_SECONDS
            return
        if access.authorization != self._access.authorization or access.ssl is not self._access.ssl:
            self._access = access
        self._stale_at = self._clock() + access.fresh_seconds
