"""How a child is asked how it is: a unix socket in the run directory, one request line, one line of JSON back.

Requests: `status` (a mapping of the child's own; `ready` and `reason` are read by the agent) and `metrics`
(`MetricsAnswer`). Every connection carries one request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fleet.processes.children import socket_path

log = logging.getLogger(__name__)

_REQUEST_SECONDS = 2.0
ASK_SECONDS = 1.0
"""A worker's loop is watched to move within a second; one that does not answer by then is reported as silent."""


class MetricsAnswer(msgspec.Struct, frozen=True):
    """incarnation: count of the child. families: as `fleet.health.metrics.snapshot` writes them."""

    incarnation: int
    families: msgspec.Raw


class Unanswered(Exception):
    """The child has no socket, does not answer in time, or answered with an error."""


VIEW_AGE_SECONDS = 90.0
"""Oldest view of objects on a worker that is ready. API servers send a bookmark every minute, so a view whose watch is
well is never as old. A watch that is silent is given up after 75 s; `shards.informers.freshness` lists after 150 s."""


def unready_reason(
    now: float, *, held_until: float, view_confirmed_at: float, lease_seconds: float, view_age: float = 0.0
) -> str:
    """Why a member is not ready; "" when it is. Times are boot-clock seconds.

    Ready: its member Lease is held, its view of map and shard Leases was confirmed within a lease (R13), and what its
    shards see was known to be current within VIEW_AGE_SECONDS. view_age: in seconds, of the shard furthest behind.
    """
    if not math.isfinite(held_until):
        return "the member Lease is not held"
    if now >= held_until:
        return f"the member Lease ran out {now - held_until:.1f} s ago"
    if now - view_confirmed_at > lease_seconds:
        return "the view of map and shard Leases is not confirmed"
    if view_age > VIEW_AGE_SECONDS:
        return f"a view of objects was last known to be current {view_age:.0f} s ago"
    return ""


class HealthServer:
    """A child's own side. It answers from the loop, so an answer proves that the loop is alive."""

    def __init__(
        self,
        run_dir: Path,
        name: str,
        *,
        incarnation: int,
        status: Callable[[], Mapping[str, object]],
        metrics: Callable[[], bytes],
    ) -> None:
        """metrics: see `fleet.health.metrics.snapshot`. Raises ConfigError when the socket's path is too long."""
        self._path = socket_path(run_dir, name)
        self._incarnation = incarnation
        self._status = status
        self._metrics = metrics
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Replaces the socket that a predecessor left: two incarnations of one name never run at once."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, os.fspath(self._path))

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # A peer that goes away, or sends no line, is its own affair.
            with contextlib.suppress(OSError, asyncio.TimeoutError, ValueError):
                async with asyncio.timeout(_REQUEST_SECONDS):
                    request = (await reader.readline()).decode("utf-8", "replace").strip()
                    writer.write(self._answer(request) + b"\n")
                    await writer.drain()
        finally:
            writer.close()

    def _answer(self, request: str) -> bytes:
        try:
            if request == "status":
                return msgspec.json.encode(self._status())
            if request == "metrics":
                return msgspec.json.encode(MetricsAnswer(self._incarnation, msgspec.Raw(self._metrics())))
        except Exception as error:
            # The callables belong to the worker; their fault must not silence the socket.
            log.exception("no answer to %r", request)
            return msgspec.json.encode({"error": f"{type(error).__name__}: {error}"})
        return msgspec.json.encode({"error": f"unknown request {request!r}; known: status, metrics"})


async def _ask(run_dir: Path, name: str, request: str, timeout_seconds: float) -> bytes:
    try:
        async with asyncio.timeout(timeout_seconds):
            reader, writer = await asyncio.open_unix_connection(os.fspath(socket_path(run_dir, name)))
            try:
                writer.write(f"{request}\n".encode())
                answer = await reader.read(-1)
            finally:
                writer.close()
    except TimeoutError as error:
        raise Unanswered(f"{name} did not answer within {timeout_seconds:g} s") from error
    except OSError as error:
        raise Unanswered(f"{name} is not there: {error.strerror or error}") from error
    if not answer.endswith(b"\n"):
        raise Unanswered(f"{name} broke off its answer")
    return answer


async def ask_status(run_dir: Path, name: str, *, timeout_seconds: float = ASK_SECONDS) -> dict[str, Any]:
    """Raises Unanswered."""
    answer = msgspec.json.decode(await _ask(run_dir, name, "status", timeout_seconds), type=dict[str, Any])
    if set(answer) == {"error"}:
        raise Unanswered(f"{name}: {answer['error']}")
    return answer


async def ask_metrics(run_dir: Path, name: str, *, timeout_seconds: float = ASK_SECONDS) -> MetricsAnswer:
    """Raises Unanswered."""
    answer = await _ask(run_dir, name, "metrics", timeout_seconds)
    try:
        return msgspec.json.decode(answer, type=MetricsAnswer)
    except msgspec.ValidationError as error:
        raise Unanswered(f"{name}: {answer.decode().strip()}") from error
