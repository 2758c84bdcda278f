"""A small HTTP server on the loopback interface, and kubeconfigs that name it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml


@dataclass
class Request:
    """As the server read it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answer = bytes | None
"""Bytes to write; None: never answer."""


def answer(status: int = 200, body: bytes = b"{}", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Server:
    """Answers every request with what `answers` says. ends: how the connections ended, as they end."""

    answers: Callable[[Request], Answer] = lambda _: answer()
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    scheme: str = "http"
    host: str = "127.0.0.1"
    ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        end = "closed"
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                method, target, _ = first.split(" ")
                headers = {k.lower(): v for k, v in (each.split(": ", 1) for each in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append(Request(method, target, headers, body))
                self.arrived.set()
                said = self.answers(self.requests[-1])
                if said is None:
                    await reader.read(1)
                    break
                writer.write(said)
        except ConnectionResetError:
            end = "reset"
        except asyncio.IncompleteReadError as error:
            end = "cut" if error.partial else "closed"
        finally:
            self.ends.put_nowait(end)
            writer.close()

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        server = await asyncio.start_server(self.serve, self.host, 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        self.scheme = "https" if tls else "http"
        try:
            yield self
        finally:
            server.close()
            for writer in self.writers:
                writer.transport.abort()
            await server.wait_closed()


def kubeconfig(
    path: Path, server: str, *, user: Mapping[str, object] | None = None, cluster: Mapping[str, object] | None = None
) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "local", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "me", "user": dict(user or {})}],
        "contexts": [
            {"name": "main", "context": {"cluster": "local", "user": "me"}},
            {"name": "blue", "context": {"cluster": "local", "user": "me", "namespace": "blue"}},
        ],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


class Clock:
    """Boot seconds that a test moves. readings: how often it was read; before the one numbered `late_at`, 5 s pass."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.readings = 0
        self.late_at = 0

    def __call__(self) -> float:
        self.readings += 1
        if self.readings == self.late_at:
            self.now += 5
        return self.now
