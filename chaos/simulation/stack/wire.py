"""A process's connections to the API server."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from chaos.simulation.process import Process
from chaos.simulation.stack.channel import Channel, Hop
from chaos.simulation.stack.network import SWITCHES, Network
from fleet.devcluster.wire.requests import Request
from shards.api.client import JSON, Query, Transport
from shards.errors import NotOwner, Unreachable


class Wire(Transport):
    """Implements `shards.api.client.Transport`. What it sends is the network's from then on."""

    def __init__(self, network: Network, process: Process, rng: random.Random) -> None:
        self._network = network
        self._process = process
        self._rng = rng
        self._front = rng.randrange(len(network.servers))
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
        if self._closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        await asyncio.sleep(0)  # for a connection, which may take its time
        if not_after is not None and self._process.clock() > not_after:
            raise NotOwner(f"the deadline of {method} {path} has passed")
        headers = {"user-agent": user_agent, "content-type": content_type, "accept": accept}
        hop = self._hop(f"{method} {path}", not_after)
        if self._process.alive:
            self._network.send(hop, Request(method, path, query, body, headers))
        try:
            async with asyncio.timeout(timeout_seconds):
                return await hop.arrived
        except TimeoutError as error:
            raise Unreachable(f"no answer to {method} {path} within {timeout_seconds:g} s") from error

    def _hop(self, what: str, not_after: float | None = None) -> Hop:
        """not_after: a reading of this process's clock (TCP_USER_TIMEOUT)."""
        process = self._process

        def until() -> float:
            return math.inf if not_after is None else process.clock.to_true(not_after)

        front = self._front
        if self._rng.random() < SWITCHES:
            front = self._rng.randrange(len(self._network.servers))
        return Hop(process.name, process.label, front, self._rng, what, alive=lambda: process.alive, until=until)

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, {"user-agent": user_agent, "accept": accept}, idle_seconds)

    @asynccontextmanager
    async def _stream(
        self, path: str, query: Query, headers: dict[str, str], idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self._closed:
            raise Unreachable("the transport is closed", maybe_applied=False)
        request = Request("GET", path, query, None, headers)
        channel = Channel(self._hop(f"GET {path}"), request)
        if self._process.alive:
            self._network.open(channel, request)
        try:
            try:
                async with asyncio.timeout(idle_seconds):
                    await channel.hop.arrived
            except TimeoutError as error:
                raise Unreachable(f"no answer to GET {path} for {idle_seconds:g} s") from error
            yield _chunks(channel, path, idle_seconds)
        finally:
            channel.close()

    async def close(self) -> None:
        self._closed = True


async def _chunks(channel: Channel, path: str, idle_seconds: float) -> AsyncIterator[bytes]:
    """Ends with the stream. Raises Unreachable."""
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                chunk = await channel.take()
        except TimeoutError as error:
            raise Unreachable(f"no byte of {path} for {idle_seconds:g} s") from error
        if not chunk:
            return
        yield chunk
