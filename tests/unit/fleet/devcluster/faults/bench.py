"""One client under faults, whatever carries its requests: in process, over HTTP, or through the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from fleet.devcluster.faults import Faults
from shards.api.client import Client, Transport
from shards.errors import NotFound
from shards.objects import Object, Resource
from shards.watching.wire import LineSplitter

CONFIG_MAPS = Resource("", "v1", "configmaps")

PATIENCE_SECONDS = 0.5
"""How long a client of these tests waits for what does not come."""


def config_map(name: str, **metadata: object) -> Object:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "data": {"a": "1"}}


class Watch:
    """The events of one open watch."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._lines = LineSplitter()
        self._ready: list[Object] = []
        self._reading: asyncio.Task[bytes] | None = None
        self.sizes: list[int] = []
        self.received = b""

    async def next(self) -> Object:
        """Raises StopAsyncIteration at the end, Unreachable."""
        while not self._ready:
            await self._read(None)
        return self._ready.pop(0)

    async def shown(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(each["type"], each["object"]["metadata"].get("name", "")) for each in events]

    async def quiet(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether nothing comes for so long."""
        await self._read(seconds)
        return not self._ready

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _read(self, seconds: float | None) -> None:
        # A read that is given up would take its bytes along.
        if self._reading is None:
            self._reading = asyncio.ensure_future(anext(self._chunks))
        done, _ = await asyncio.wait((self._reading,), timeout=seconds)
        if done:
            reading, self._reading = self._reading, None
            try:
                chunk = reading.result()
            except RuntimeError as error:
                raise StopAsyncIteration from error
            self.sizes.append(len(chunk))
            self.received += chunk
            self._ready += [msgspec.json.decode(line) for line in self._lines.feed(chunk)]


@dataclass
class Bench:
    """faults: those in the client's way. direct: a client without any in its way."""

    transport: Transport
    faults: Faults
    direct: Client
    namespace: str = "default"

    @property
    def path(self) -> str:
        return CONFIG_MAPS.path(self.namespace)

    def client(self, agent: str = "struck") -> Client:
        return Client(self.transport, user_agent=agent, timeout_seconds=PATIENCE_SECONDS)

    async def create(self, name: str, **metadata: object) -> str:
        """By hand. The resourceVersion."""
        made = await self.direct.create(CONFIG_MAPS, self.namespace, config_map(name, **metadata))
        return str(made["metadata"]["resourceVersion"])

    async def exists(self, name: str) -> bool:
        try:
            await self.direct.get(CONFIG_MAPS, self.namespace, name)
        except NotFound:
            return False
        return True

    async def version(self) -> str:
        """That of the collection now."""
        listed = await self.direct.list(CONFIG_MAPS, self.namespace)
        return str(listed["metadata"]["resourceVersion"])

    @asynccontextmanager
    async def watch(self, agent: str = "struck", **query: str) -> AsyncIterator[Watch]:
        """From now on, unless the query says otherwise."""
        if "resourceVersion" not in query and "sendInitialEvents" not in query:
            query["resourceVersion"] = await self.version()
        parameters = [("watch", "true"), *query.items()]
        async with self.transport.stream(self.path, query=parameters, user_agent=agent, idle_seconds=5.0) as chunks:
            made = Watch(chunks)
            try:
                yield made
            finally:
                await made.close()


def seconds() -> float:
    return asyncio.get_running_loop().time()


async def cached(bench: Bench, agent: str = "struck") -> list[str]:
    """Names of what a list from the cache shows."""
    listed = await bench.client(agent).list(CONFIG_MAPS, "default", query=[("resourceVersion", "0")])
    return [each["metadata"]["name"] for each in listed["items"]]
