"""The API server behind a proxy, reached over HTTP (aiohttp)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.tracing import Trace
from multidict import CIMultiDict, MultiMapping
from yarl import URL

from fleet.devcluster.faults import ConnectionRefused
from fleet.devcluster.wire.answers import Answer, ConnectionLost, Interrupted
from fleet.devcluster.wire.requests import Request
from shards.clock import boot_seconds
from shards.transport.credentials import Access, Credentials
from shards.transport.kube import loader

CONNECT_SECONDS = 10.0

_OURS = frozenset(
    ("connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that belong to one connection."""
_LINE_BYTES = 4 << 20
"""A line that is longer is passed on in parts."""
_BINARY = ("protobuf", "cbor")
_taken: ContextVar[list[aiohttp.connector.Connection]] = ContextVar("taken")


class _Connector(aiohttp.TCPConnector):
    """Sends a write at most once. aiohttp repeats PUT and DELETE when a kept connection turns out to be closed, and a
    write that a client sent once must not be carried out twice."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        taken = _taken.get()
        if taken and req.method != "GET":
            raise ConnectionLost("the connection to the server broke")
        connection = await super().connect(req, traces, timeout)
        taken.append(connection)
        return connection


class Upstream:
    """Carries requests to one API server. Made and used on one event loop."""

    def __init__(self, host: str, credentials: Credentials | None, options: Mapping[str, Any]) -> None:
        """host: its URL. credentials: for clients that bring none. options: of aiohttp's requests."""
        self.host = host
        self._credentials = credentials
        self._options = dict(options)
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    @classmethod
    async def at(cls, url: str) -> Upstream:
        """A server that asks nobody who they are."""
        return cls(url, None, {})

    @classmethod
    async def of(cls, kubeconfig: str | None = None, context: str | None = None) -> Upstream:
        """The cluster that is configured, as of `shards.transport.kube.connect`. Raises ConfigError."""
        load = loader(kubeconfig, context)
        access: Access = await asyncio.to_thread(load)
        options: dict[str, Any] = {"ssl": access.ssl if access.ssl is not None else True}
        if access.proxy is not None:
            options["proxy"] = access.proxy
        if access.server_hostname is not None:
            options["server_hostname"] = access.server_hostname
        return cls(access.host, Credentials(access, load, boot_seconds), options)

    async def close(self) -> None:
        if self._credentials is not None:
            await self._credentials.close()
        await self._session.close()

    async def send(self, request: Request, target: str, headers: MultiMapping[str]) -> Answer:
        """target: path and query as the client wrote them; headers: likewise.

        Raises ConnectionLost where the server does not answer, and for a target that is no path.
        """
        if self._session.closed:
            raise ConnectionLost("the proxy is closed")
        if not target.startswith("/"):
            # "@elsewhere/" behind the host would be the host, and would get the credentials.
            raise ConnectionLost(f"{target!r} is no path")
        credentials = None if "Authorization" in headers else self._credentials
        if credentials is None:
            return await self._send(request, target, headers, "")
        access = credentials.current()
        answer = await self._send(request, target, headers, access.authorization)
        # A client that was there by itself would renew a token that is refused; what is refused was not carried out.
        if answer.status == 401 and await credentials.replaced(access, CONNECT_SECONDS):
            answer = await self._send(request, target, headers, credentials.current().authorization)
        return answer

    async def _send(self, request: Request, target: str, headers: MultiMapping[str], authorization: str) -> Answer:
        """authorization: ours; "" adds none."""
        token = _taken.set([])
        try:
            response = await self._session.request(
                request.method,
                URL(self.host + target, encoded=True),
                data=request.body,
                headers=_headers(headers, authorization),
                allow_redirects=False,
                skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
                **self._options,
            )
            if response.status < 300 and _goes_on(request):
                return _answer(response, b"", UpstreamStream(response))
            async with response:
                return _answer(response, await response.read(), None)
        except aiohttp.ClientConnectorError as error:
            raise ConnectionRefused(f"the server cannot be reached: {error}") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectionLost(f"the server does not answer: {error}") from error
        finally:
            _taken.reset(token)


class UpstreamStream:
    """The lines of a watch or the bytes of a log as they come; an `EventStream`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._lines = "json" in response.headers.get("Content-Type", "")
        self._partial = b""
        self._reading: asyncio.Future[bytes] | None = None
        self._interruption: asyncio.Future[None] | None = None
        self._closed = False

    async def read(self) -> bytes:
        """Raises ConnectionLost where the server's connection breaks, Interrupted."""
        while chunk := await self._read():
            if not self._lines:
                return chunk
            # A large event comes in several chunks, and a fault may end the stream only between two events.
            whole, end, rest = (self._partial + chunk).rpartition(b"\n")
            self._partial = rest
            if end or len(rest) > _LINE_BYTES:
                self._partial, rest = (rest, b"") if end else (b"", rest)
                return whole + end + rest
        partial, self._partial = self._partial, b""
        return b"" if self._closed else partial

    async def _read(self) -> bytes:
        if self._closed:
            return b""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._response.content.readany())
            self._reading.add_done_callback(_take_note)  # of a failure that nobody reads any more
        self._interruption = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait((self._reading, self._interruption), return_when=asyncio.FIRST_COMPLETED)
            if self._closed:
                return b""
            if not self._reading.done():
                raise Interrupted
            chunk = self._reading.result()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectionLost(f"the server's connection broke: {error}") from error
        finally:
            self._interruption.cancel()
        self._reading = None
        return chunk

    def interrupt(self) -> None:
        if self._interruption is not None and not self._interruption.done():
            self._interruption.set_result(None)

    def close(self) -> None:
        self._closed = True
        if self._reading is not None:
            self._reading.cancel()
        self._response.close()


def _headers(given: MultiMapping[str], authorization: str) -> CIMultiDict[str]:
    headers = CIMultiDict((name, value) for name, value in given.items() if name.lower() not in _OURS)
    # Faults read and cut what passes; compressed bytes and those of protobuf say nothing to them.
    headers["Accept-Encoding"] = "identity"
    if "Accept" in headers:
        headers["Accept"] = _text_only(",".join(headers.getall("Accept")))
    if authorization:
        headers["Authorization"] = authorization
    return headers


def _take_note(reading: asyncio.Future[bytes]) -> None:
    if not reading.cancelled():
        reading.exception()


def _goes_on(request: Request) -> bool:
    """Whether the answer is a stream that may never end: a watch, also by its old paths, or a log that is followed."""
    root, *parts = request.path.lstrip("/").split("/", 4)
    old = parts[1 if root == "api" else 2 :][:1] == ["watch"]
    return request.method == "GET" and (old or request.flag("watch") or request.flag("follow"))


def _answer(response: aiohttp.ClientResponse, body: bytes, stream: UpstreamStream | None) -> Answer:
    left_out = _OURS | {"content-type", "retry-after", "warning"}
    return Answer(
        response.status,
        body,
        response.headers.get("Content-Type", "application/octet-stream"),
        response.headers.get("Retry-After", ""),
        stream,
        {name: value for name, value in response.headers.items() if name.lower() not in left_out},
        [_unquoted(each) for each in response.headers.getall("Warning", [])],
    )


def _unquoted(warning: str) -> str:
    """The sentence of a Warning header: 299 - "a sentence"."""
    _, _, quoted = warning.partition('"')
    return quoted.removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")


def _text_only(accept: str) -> str:
    """Without binary encodings, where the client takes others as well."""
    kept = [each for each in accept.split(",") if not any(word in each for word in _BINARY)]
    return ",".join(kept) or accept
