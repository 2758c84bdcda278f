"""The API server over HTTP, on connections of our own: the door to aiohttp's client.

Sending late is what this module must not do (design 3.3, R2). Every connection is set to reset on close and to drop
data that is not acknowledged (`shards.transport.connections`); a request that is given up takes its connection with it.
The deadline is checked when the connection is in hand, and once more right before the first byte is written
(`shards.transport.exchange`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import quote, urlencode

import aiohttp

from shards.api.client import JSON, Query, Transport, error_from
from shards.api.request_meters import NO_METERS, RequestMeters
from shards.clock import Clock
from shards.errors import NotOwner, ShardError, Unauthorized, Unreachable, Untrusted
from shards.transport.attempt import Attempt, current_attempt
from shards.transport.connections import Connections
from shards.transport.credentials import Access, Credentials, Load
from shards.transport.exchange import Opened


class KubeTransport(Transport):
    """HTTP requests to one API server. Made by `connect`, on the loop that uses it, after any fork.

    host: its URL. namespace: the kubeconfig context's, or the pod's; "default" where none is named.
    """

    def __init__(self, access: Access, load: Load, clock: Clock, meters: RequestMeters = NO_METERS) -> None:
        self.meters = meters
        self.host = access.host
        self.namespace = access.namespace
        self._clock = clock
        self._credentials = Credentials(access, load, clock)
        self._connections = Connections(access)
        self._retired: list[Connections] = []
        self._closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        accept: str = JSON,
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        """As in Transport. A write is sent at most once; a read may be sent again on a second connection.

        Given up at `not_after` at the latest: no answer that comes after the deadline counts.
        """
        give_up_at = self._clock() + timeout_seconds
        if not_after is not None:
            if self._clock() >= not_after:
                raise NotOwner("the deadline has passed; the request was not sent")
            # What is on the wire past the deadline is reset (R2), whatever timeout the caller thought of.
            give_up_at = min(give_up_at, not_after)
        target = _target(path, query)
        # Servers compress answers above 128 KiB only, lists: that costs them less than to encrypt eight times as much.
        headers = {"Accept-Encoding": "gzip"}
        if body is not None:
            headers["Content-Type"] = content_type
        refusals = 0
        while True:
            self._check_open()
            access = self._credentials.current()
            attempt = Attempt(self._clock, not_after)
            seconds = max(give_up_at - self._clock(), 0.001)
            connections = self._enter(access)
            try:
                return await self._exchange(
                    connections,
                    attempt,
                    method,
                    target,
                    body,
                    self._headers(headers, user_agent, accept, access),
                    seconds,
                )
            except (Unauthorized, Untrusted):
                # Neither was carried out. The token, the client certificate or the authority may have been replaced.
                refusals += 1
                if refusals > 1 or not await self._credentials.replaced(access, give_up_at - self._clock()):
                    raise
            finally:
                await self._leave(connections)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """As in Transport. The connection is reset when the context ends."""
        target = _target(path, query)
        refusals = 0
        while True:
            self._check_open()
            access = self._credentials.current()
            attempt = Attempt(self._clock)
            connections = self._enter(access)
            headers = self._headers({"Accept-Encoding": "identity"}, user_agent, accept, access)
            try:
                opened = await self._open(connections, attempt, target, headers, idle_seconds)
                break
            except (Unauthorized, Untrusted):
                await self._leave(connections)
                refusals += 1
                if refusals > 1 or not await self._credentials.replaced(access, idle_seconds):
                    raise
            except BaseException:
                await self._leave(connections)
                raise
        try:
            chunks = _Chunks(opened.body, lambda error: self._translated(error, attempt), idle_seconds)
            try:
                yield chunks
            finally:
                chunks.close()
        finally:
            opened.close()
            await self._leave(connections)

    def _enter(self, access: Access) -> Connections:
        """Connections under that TLS context, for one request. Those under an earlier one retire."""
        if access.ssl is not self._connections.ssl:
            self._retired.append(self._connections)
            self._connections = Connections(access)
        self._connections.users += 1
        return self._connections

    async def _leave(self, connections: Connections) -> None:
        """The request is over. What has retired is closed when nobody uses it any more."""
        connections.users -= 1
        if self._retired:
            idle = [each for each in self._retired if not each.users]
            self._retired = [each for each in self._retired if each.users]
            for each in idle:
                await each.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Unreachable("the transport is closed", maybe_applied=False)

    async def close(self) -> None:
        self._closed = True
        await self._credentials.close()
        for each in (self._connections, *self._retired):
            await each.close()

    async def _exchange(
        self,
        connections: Connections,
        attempt: Attempt,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        seconds: float,
    ) -> bytes:
        token = current_attempt.set(attempt)
        began = self.meters.now()
        try:
            async with asyncio.timeout(seconds):
                answer = await connections.requests.send(attempt, method, target, headers, body)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            told = self._translated(error, attempt)
            if not isinstance(told, NotOwner):
                self.meters.exchanged(method, 0, began, len(body or b""))
            raise told from error
        finally:
            current_attempt.reset(token)
        self.meters.exchanged(method, answer.status, began, len(body or b""), len(answer.body))
        if answer.status >= 300:
            raise error_from(answer.status, answer.body, answer.headers.get("Retry-After"))
        return answer.body

    async def _open(
        self,
        connections: Connections,
        attempt: Attempt,
        target: str,
        headers: dict[str, str],
        idle_seconds: float,
    ) -> Opened:
        token = current_attempt.set(attempt)
        opened: Opened | None = None
        good = False
        try:
            async with asyncio.timeout(idle_seconds):
                opened = await connections.watches.open(attempt, "GET", target, headers)
                if opened.status >= 300:
                    raise error_from(opened.status, await opened.body.read(), opened.headers.get("Retry-After"))
            good = True
            return opened
        except TimeoutError as error:
            raise self._translated(aiohttp.SocketTimeoutError(), attempt) from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._translated(error, attempt) from error
        finally:
            current_attempt.reset(token)
            self.meters.opened(opened.status if opened is not None else 0)
            if opened is not None and not good:
                opened.close()

    def _translated(self, error: Exception, attempt: Attempt) -> ShardError:
        if attempt.late or (not attempt.sent and attempt.remaining() <= 0):
            return NotOwner("the deadline has passed; the request was not sent")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            detail = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
            return Untrusted(
                f"the certificate of {self.host} does not verify against the configured authority: {detail}"
            )
        if isinstance(error, aiohttp.SocketTimeoutError):
            return Unreachable(f"{self.host} was silent for too long", maybe_applied=attempt.sent)
        reason = str(error) or type(error).__name__
        return Unreachable(f"no answer from {self.host}: {reason}", maybe_applied=attempt.sent)

    def _headers(self, headers: dict[str, str], user_agent: str, accept: str, access: Access) -> dict[str, str]:
        found = {**headers, "Accept": accept}
        if user_agent:
            found["User-Agent"] = user_agent
        if access.authorization:
            found["Authorization"] = access.authorization
        return found


def _target(path: str, query: Query) -> str:
    return f"{path}?{urlencode(query, quote_via=quote)}" if query else path


class _Chunks:
    """The chunks of one answer, with aiohttp's errors translated. Given up when the server was silent for too long.

    One timer for as long as the silence may last: to set one for every chunk would cost as much as to read it.
    """

    def __init__(
        self, body: aiohttp.StreamReader, translate: Callable[[Exception], ShardError], idle_seconds: float
    ) -> None:
        self._body = body
        self._translate = translate
        self._idle_seconds = idle_seconds
        self._waits_since: float | None = None
        """By the loop's time; None: a chunk is being worked on, for as long as that takes."""
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(idle_seconds, self._look)

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        self._waits_since = self._loop.time()
        try:
            chunk = await self._body.readany()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._translate(error) from error
        finally:
            self._waits_since = None
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        silent = 0.0 if self._waits_since is None else self._loop.time() - self._waits_since
        if silent >= self._idle_seconds:
            self._body.set_exception(aiohttp.SocketTimeoutError())
        else:
            self._timer = self._loop.call_later(self._idle_seconds - silent, self._look)
