"""A tiny API server of one collection on a raw socket, whose answers can be spoilt byte by byte.

What it knows is right at all times; only the way it says so is not.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec

Kind = Literal["list", "watch"]


class End:
    """Steps of an answer that are no bytes."""

    FIN = "fin"
    RST = "rst"


@dataclass(frozen=True)
class Answer:
    """head: up to and with the empty line. body: as on the wire. open: nothing ends it, more may follow."""

    head: bytes
    body: bytes
    open: bool = False

    @property
    def whole(self) -> bytes:
        return self.head + self.body


Spoil = Callable[[Answer], Sequence[bytes | str]]
"""What is written instead of an answer: bytes, each piece by itself, and at last perhaps how the connection ends."""

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


def sized(body: bytes, *headers: bytes) -> bytes:
    """The head of an answer that tells its length."""
    return b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""))


@dataclass
class Truth:
    """The collection and its history."""

    version: int = 100
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)

    def put(self, name: str, text: str = "") -> None:
        self.version += 1
        known = self.objects.get(name)
        uid = known["metadata"]["uid"] if known else f"uid-{name}-{self.version}"
        made = {
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(self.version)},
            "data": {"t": text},
        }
        self.objects[name] = made
        self.history.append((self.version, "MODIFIED" if known else "ADDED", made))

    def remove(self, name: str) -> None:
        self.version += 1
        gone = msgspec.json.decode(msgspec.json.encode(self.objects.pop(name)))
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, "DELETED", gone))

    def versions(self) -> dict[str, str]:
        return {name: each["metadata"]["resourceVersion"] for name, each in self.objects.items()}

    def list_body(self, start: int = 0, count: int = 0) -> bytes:
        """A page of so many from there; 0 for all."""
        items = list(self.objects.values())
        end = start + count if count else len(items)
        metadata = {"resourceVersion": str(self.version), "continue": str(end) if end < len(items) else ""}
        items = items[start:end]
        return msgspec.json.encode({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items})

    def lines_after(self, version: int) -> list[bytes]:
        return [_line(kind, each) for at, kind, each in self.history if at > version]

    def initial_lines(self) -> list[bytes]:
        metadata = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
        lines = [_line("ADDED", each) for each in self.objects.values()]
        return [*lines, _line("BOOKMARK", {"kind": "ConfigMap", "metadata": metadata})]


def _line(kind: str, body: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": body}) + b"\n"


class RawServer:
    """spoil: for the next answer of a kind, once. spared: so many answers of that kind are whole before.

    asked: kinds of requests, in order; queries: theirs. connections: open ones. page: objects of a page; 0 for all.
    """

    def __init__(self) -> None:
        self.truth = Truth()
        self.spoil: dict[Kind, Spoil] = {}
        self.spared: dict[Kind, int] = {}
        self.spoilt = 0
        self.asked: list[Kind] = []
        self.queries: list[dict[str, str]] = []
        self.page = 0
        self.connections = 0
        self.port = 0
        self._open: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def watched(self) -> bool:
        """Whether somebody watches."""
        return bool(self._open)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RawServer]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.end_watches()
            await server.wait_closed()

    def end_watches(self) -> None:
        """All watches that are open end as they should."""
        for writer in self._open:
            writer.write(b"0\r\n\r\n")
            writer.close()
        self._open = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                query = parse_qs(urlsplit(head.split(b" ", 2)[1].decode()).query)
                kind: Kind = "watch" if "watch" in query else "list"
                self.asked.append(kind)
                self.queries.append({name: value for name, [value] in query.items()})
                if not await self._say(writer, kind, self._answer(query)):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.connections -= 1
            writer.close()

    def _answer(self, query: dict[str, list[str]]) -> Answer:
        if "watch" not in query:
            start = int(query.get("continue", ["0"])[0])
            body = self.truth.list_body(start, self.page)
            return Answer(sized(body), body)
        if "sendInitialEvents" in query:
            lines = self.truth.initial_lines()
        else:
            lines = self.truth.lines_after(int(query["resourceVersion"][0]))
        return Answer(CHUNKED, b"".join(map(chunk, lines)), open=True)

    async def _say(self, writer: asyncio.StreamWriter, kind: Kind, answer: Answer) -> bool:
        """Whether the connection is still good for more."""
        spared = self.spared.pop(kind, 0)
        if spared:
            self.spared[kind] = spared - 1
        spoil = None if spared else self.spoil.pop(kind, None)
        if spoil is not None:
            self.spoilt += 1
        for step in spoil(answer) if spoil else (answer.whole,):
            if step == End.RST:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            if isinstance(step, str):
                return False
            writer.write(step)
            await writer.drain()
            await asyncio.sleep(0)
        if answer.open:
            self._open.append(writer)
        return True
