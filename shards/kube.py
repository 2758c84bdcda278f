"""The API server over HTTP: the one door to kubernetes.aio (configuration, authentication) and to aiohttp's client.

kubernetes.aio finds out where the server is and who we are; the requests are our own, on our own connections. Its
models, watch and election are never touched, and it is imported when a connection is made (0.4 s; `preload` before a
fork lets the children inherit it).

Sending late is what this module must not do (design 3.3, R2). Every connection is set to reset on close and to drop
data that is not acknowledged (SO_LINGER 0, TCP_USER_TIMEOUT); a request that is given up takes its connection with it.
The deadline is checked when the connection is in hand, and once more right before the first byte of a request with a
body is written, which aiohttp does one turn of the loop later.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from shards.client import JSON, Query, Transport, error_from
from shards.clock import Clock, boot_seconds
from shards.errors import ConfigError, NotOwner, ShardError, Unauthorized, Unreachable, Untrusted

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

CONNECT_SECONDS = 10.0
"""For one TCP and TLS handshake of a watch; those of requests count against the request's own timeout."""

KEEPALIVE_SECONDS = 45.0
"""Idle connections are dropped sooner than servers (90 s) and common load balancers (60 s) drop them."""

USER_TIMEOUT_SECONDS = 20.0
"""How long sent data may stay unacknowledged where a request names no deadline."""

TOKEN_SECONDS = 60.0
"""Age at which a token that lives in a file is read again (kubelet rotates it in place)."""

EXPIRY_MARGIN_SECONDS = 60.0
"""How long before its expiry a plugin's credential is renewed."""

RETRY_SECONDS = 10.0
"""Pause after a renewal that failed; the old credential serves meanwhile."""

RELOAD_SECONDS = 1.0
"""Shortest time between two renewals because of 401: a server that refuses everybody must not make plugins spin."""

READ_BUFFER_BYTES = 1 << 18
"""Bytes that aiohttp buffers before it stops reading: a page of a list takes few wake-ups."""


def preload() -> None:
    """Imports what `connect` needs, so that processes forked later have it."""
    import kubernetes.aio.client
    import kubernetes.aio.config  # noqa: F401


async def connect(
    *, kubeconfig: str | None = None, context: str | None = None, clock: Clock = boot_seconds
) -> KubeTransport:
    """A transport to the cluster that is configured. No request is sent yet.

    kubeconfig: path or paths as in $KUBECONFIG. Without it: $KUBECONFIG, else the pod's service account, else
    ~/.kube/config. context: one of the kubeconfig, instead of its current one. Credential plugins run in a thread.
    Raises ConfigError.
    """
    load = _loader(kubeconfig, context)
    return KubeTransport(await asyncio.to_thread(load), load, clock)


class _Access(NamedTuple):
    """Where the server is and who we are. authorization: header value; "" = none. fresh_seconds: for how long it is."""

    host: str
    namespace: str
    authorization: str
    fresh_seconds: float
    ssl: ssl.SSLContext | None
    server_hostname: str | None
    proxy: str | None


_Load = Callable[[], _Access]

_temporary_files = threading.Lock()
"""The loader keeps its temporary files in a global: one load at a time, from writing them to removing them."""


def _loader(kubeconfig: str | None, context: str | None) -> _Load:
    chosen = kubeconfig or os.environ.get("KUBECONFIG")
    if not chosen and not context and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster
    paths = chosen or str(Path.home() / ".kube" / "config")
    if not any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path):
        raise ConfigError(
            "kubeconfig", f"{paths} does not exist; name one with --kubeconfig or $KUBECONFIG, or run in a pod"
        )
    return lambda: _from_kubeconfig(paths, context)


def _in_cluster() -> _Access:
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config import ConfigException, load_incluster_config

    configuration = Configuration()
    load: Callable[..., None] = load_incluster_config
    try:
        load(client_configuration=configuration)
        namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except (ConfigException, OSError) as error:
        raise ConfigError("", f"the pod's service account cannot be used: {error}") from error
    return _access(configuration, namespace, TOKEN_SECONDS)


def _from_kubeconfig(paths: str, context: str | None) -> _Access:
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config import kube_config

    configuration = Configuration()
    load: Callable[..., Coroutine[Any, Any, Any]] = kube_config.load_kube_config
    remove: Callable[[], None] = kube_config._cleanup_temp_files
    _temporary_files.acquire()
    try:
        loader = _in_own_loop(
            load(config_file=paths, context=context, client_configuration=configuration, persist_config=False)
        )
        user = loader._user or {}  # the loader has no public name for it
        chosen = loader.current_context["context"]
        access = _access(configuration, chosen.get("namespace") or "default", _fresh_seconds(loader, user))
    except ShardError:
        raise
    except Exception as error:  # the loader raises whatever its parsers, plugins and file reads raise
        raise ConfigError("kubeconfig", f"{paths} cannot be used: {error}") from error
    finally:
        # Inline certificates and keys were written to files that go at exit, and a worker that is killed has none.
        remove()
        _temporary_files.release()
    if "exec" in user and not access.authorization and not configuration.cert_file:
        raise ConfigError("kubeconfig", "the exec plugin gave neither a token nor a certificate; run it by hand")
    return access


def _fresh_seconds(loader: Any, user: Any) -> float:
    expiry: datetime | None = getattr(loader, "exec_plugin_expiry", None)
    if expiry is not None:
        return max((expiry - datetime.now(UTC)).total_seconds() - EXPIRY_MARGIN_SECONDS, RELOAD_SECONDS)
    return TOKEN_SECONDS if "tokenFile" in user or "auth-provider" in user else math.inf


def _access(configuration: Any, namespace: str, fresh_seconds: float) -> _Access:
    tls = None
    if configuration.host.startswith("https"):
        tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
        if configuration.cert_file:
            tls.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
        if not configuration.verify_ssl:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
    return _Access(
        host=configuration.host.rstrip("/"),
        namespace=namespace,
        authorization=configuration.api_key.get("BearerToken", "").strip(),
        fresh_seconds=fresh_seconds,
        ssl=tls,
        server_hostname=configuration.tls_server_name or None,
        proxy=configuration.proxy or None,
    )


def _in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    # In a thread, on a plain loop: the loader starts exec plugins, and a subprocess started from the worker's own loop
    # would stop it for as long as the fork of a large process takes.
    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


class _Credentials:
    """The Authorization header. Renewed in the background before it is stale, and on demand when the server refuses."""

    def __init__(self, access: _Access, load: _Load, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._header = access.authorization
        self._loaded_at = clock()
        self._stale_at = self._loaded_at + access.fresh_seconds
        self._renewal: asyncio.Task[None] | None = None

    def header(self) -> str:
        """The present one; starts a renewal where it is stale."""
        if self._clock() >= self._stale_at:
            self._start()
        return self._header

    async def replaced(self, refused: str) -> bool:
        """Whether there is another header than the one that the server refused. All callers share one renewal."""
        if self._header == refused and self._clock() >= self._loaded_at + RELOAD_SECONDS:
            await asyncio.shield(self._start())
        return self._header != refused

    async def close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait((self._renewal,))

    def _start(self) -> asyncio.Task[None]:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
        return self._renewal

    async def _renew(self) -> None:
        self._loaded_at = self._clock()
        try:
            access = await asyncio.to_thread(self._load)
        except ConfigError as error:
            log.warning("credentials were not renewed: %s", error)
            self._stale_at = self._clock() + RETRY_SECONDS
            return
        self._header = access.authorization
        self._stale_at = self._clock() + access.fresh_seconds


@dataclass(slots=True, eq=False)
class _Attempt:
    """One request on its way through aiohttp.

    sent: bytes may have left. late: the deadline passed after the connection was in hand; nothing was written.
    """

    clock: Clock
    not_after: float | None = None
    repeatable: bool = True
    sent: bool = False
    late: bool = False
    transport: asyncio.Transport | None = None

    def remaining(self) -> float:
        return math.inf if self.not_after is None else self.not_after - self.clock()

    def take(self, transport: asyncio.Transport) -> None:
        """The connection is in hand. Raises NotOwner past the deadline, and for a repetition that nobody asked for."""
        if self.sent and not self.repeatable:
            # aiohttp repeats PUT and DELETE when a kept connection turns out to be closed. The first one may have been
            # carried out, and its conflict with the second would read as "refused".
            raise _NotRepeated
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


class _NotRepeated(Exception):
    """A write's connection broke while it was being sent."""


_attempt: ContextVar[_Attempt] = ContextVar("attempt")


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
            _attempt.get().take(transport)
        except BaseException:
            connection.release()
            raise
        return connection


class _Request(aiohttp.ClientRequest):
    """Looks at the deadline once more before a body is written. Until then the head of the request is held back too."""

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: aiohttp.connector.Connection, content_length: int | None = None
    ) -> None:
        attempt = _attempt.get()
        if attempt.remaining() <= 0:
            attempt.late = True
            if conn.protocol is not None:
                conn.protocol.set_exception(aiohttp.ClientConnectionError("the deadline has passed"))
            return
        await super().write_bytes(writer, conn, content_length)


class _Response(aiohttp.ClientResponse):
    """Closed early, it takes its connection down at once: no goodbye, and nothing flushed that was not sent yet."""

    def close(self) -> None:
        connection = self.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        super().close()


def _socket(address: Any) -> socket.socket:
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


class KubeTransport(Transport):
    """HTTP requests to one API server. Made by `connect`, on the loop that uses it, after any fork.

    host: its URL. namespace: the kubeconfig context's, or the pod's; "default" where none is named.
    """

    def __init__(self, access: _Access, load: _Load, clock: Clock) -> None:
        self.host = access.host
        self.namespace = access.namespace
        self._clock = clock
        self._credentials = _Credentials(access, load, clock)
        # Watches hold their connections for minutes; on connectors of their own they never stand in a request's way.
        # Without a limit, because a lease renewal must not wait behind a hundred other requests.
        self._requests = _session(access)
        self._watches = _session(access)
        self._options: dict[str, Any] = {"allow_redirects": False}
        if access.proxy is not None:
            self._options["proxy"] = access.proxy
        if access.server_hostname is not None:
            self._options["server_hostname"] = access.server_hostname

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        """As in Transport. A write is sent at most once; a read may be sent again on a second connection."""
        give_up_at = self._clock() + timeout_seconds
        url = self._url(path, query)
        headers = {"Content-Type": content_type} if body is not None else {}
        refusals = 0
        while True:
            authorization = self._credentials.header()
            attempt = _Attempt(self._clock, not_after, repeatable=method == "GET")
            seconds = max(give_up_at - self._clock(), 0.001)
            try:
                return await self._exchange(
                    attempt, method, url, body, self._headers(headers, user_agent, authorization), seconds
                )
            except Unauthorized:
                refusals += 1
                if refusals > 1 or not await self._credentials.replaced(authorization):
                    raise

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", idle_seconds: float = 75.0
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """As in Transport. The connection is reset when the context ends."""
        url = self._url(path, query)
        timeout = _timeout(sock_connect=CONNECT_SECONDS, sock_read=idle_seconds)
        refusals = 0
        while True:
            authorization = self._credentials.header()
            attempt = _Attempt(self._clock)
            try:
                response = await self._open(attempt, url, self._headers({}, user_agent, authorization), timeout)
                break
            except Unauthorized:
                refusals += 1
                if refusals > 1 or not await self._credentials.replaced(authorization):
                    raise
        try:
            yield _Chunks(response, lambda error: self._translated(error, attempt))
        finally:
            response.close()
            attempt.reset()

    async def close(self) -> None:
        await self._credentials.close()
        await self._requests.close()
        await self._watches.close()

    async def _exchange(
        self,
        attempt: _Attempt,
        method: str,
        url: URL,
        body: bytes | None,
        headers: dict[str, str],
        seconds: float,
    ) -> bytes:
        token = _attempt.set(attempt)
        complete = False
        try:
            response = await self._requests.request(
                method, url, data=body, headers=headers, timeout=_timeout(total=seconds), **self._options
            )
            answer = await response.read()
            complete = True
        except (aiohttp.ClientError, OSError, TimeoutError, _NotRepeated) as error:
            raise self._translated(error, attempt) from error
        finally:
            _attempt.reset(token)
            if not complete:
                attempt.reset()
        if response.status >= 300:
            raise error_from(response.status, answer, response.headers.get("Retry-After"))
        return answer

    async def _open(
        self, attempt: _Attempt, url: URL, headers: dict[str, str], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        token = _attempt.set(attempt)
        opened = False
        try:
            response = await self._watches.request("GET", url, headers=headers, timeout=timeout, **self._options)
            if response.status >= 300:
                answer = await response.read()
                raise error_from(response.status, answer, response.headers.get("Retry-After"))
            opened = True
            return response
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._translated(error, attempt) from error
        finally:
            _attempt.reset(token)
            if not opened:
                attempt.reset()

    def _translated(self, error: Exception, attempt: _Attempt) -> ShardError:
        if attempt.late:
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

    def _url(self, path: str, query: Query) -> URL:
        text = f"{self.host}{path}"
        return URL(f"{text}?{urlencode(query, quote_via=quote)}" if query else text, encoded=True)

    def _headers(self, headers: dict[str, str], user_agent: str, authorization: str) -> dict[str, str]:
        found = {**headers, "Accept": JSON, "Accept-Encoding": "identity"}
        if user_agent:
            found["User-Agent"] = user_agent
        if authorization:
            found["Authorization"] = authorization
        return found


def _timeout(**seconds: float) -> aiohttp.ClientTimeout:
    # aiohttp rounds long timeouts up to the loop's next whole second; one that is measured by a lease is exact.
    return aiohttp.ClientTimeout(**{"total": None, **seconds}, ceil_threshold=math.inf)


def _session(access: _Access) -> aiohttp.ClientSession:
    connector = _Connector(
        ssl=access.ssl if access.ssl is not None else True,
        limit=0,
        keepalive_timeout=KEEPALIVE_SECONDS,
        socket_factory=_socket,
    )
    return aiohttp.ClientSession(
        connector=connector,
        request_class=_Request,
        response_class=_Response,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=READ_BUFFER_BYTES,
        trust_env=False,
    )


class _Chunks:
    """The chunks of one answer, with aiohttp's errors translated."""

    def __init__(self, response: aiohttp.ClientResponse, translate: Callable[[Exception], ShardError]) -> None:
        self._content = response.content
        self._translate = translate

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._translate(error) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk
