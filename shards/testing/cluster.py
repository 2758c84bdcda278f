"""An API server in the test's own process, and controllers that run against it: no sockets, no fleet, no cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from fleet.devcluster.inprocess import InProcessTransport
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.client import Client
from shards.controller import Controller
from shards.errors import ConfigError, NotFound
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.tenure import Tenure
from shards.testing.virtual_time import loop_seconds

MEMBER = "worker-0"
QUIET_SECONDS = 1.0
POLL_SECONDS = 0.05
FOREVER_SECONDS = 10 * 365 * 86400.0
WALL_SECONDS_AT_START = 1_000_000_000.0


class EmbeddedCluster:
    """One embedded API server and its clients. To be used on one event loop, on virtual time or not.

    server: everything that it can do, faults too: `cluster.server.faults`. recorder: every request that was made.
    """

    def __init__(self, *, seed: int = 0, settings: ServerSettings | None = None) -> None:
        """seed: of UIDs, generated names, jitter: the same seed gives the same history on virtual time."""
        self.recorder = Recorder(clock=loop_seconds)
        self.server = ApiServer(
            settings,
            rng=random.Random(seed),
            wall_seconds=lambda: WALL_SECONDS_AT_START + loop_seconds(),
            recorder=self.recorder,
        )
        self.client = Client(self.transport(), user_agent="test")
        self._rng = random.Random(seed)

    def transport(self) -> InProcessTransport:
        """A connection of its own into the server."""
        return InProcessTransport(self.server, clock=loop_seconds)

    def kind_of(self, body: Object) -> ResourceType:
        """What serves objects of this apiVersion and kind. Raises ConfigError."""
        api_version, kind = body.get("apiVersion", ""), body.get("kind", "")
        found = self.server.registry.of(api_version, kind)
        if found is None:
            why = f"nothing serves {kind!r} of {api_version!r}; install its CustomResourceDefinition"
            raise ConfigError("kind", why)
        return found

    async def install(self, *definitions: Object | str | Path) -> None:
        """Creates what the files or objects say, in order: definitions, namespaces, anything. Raises ApiError."""
        for each in definitions:
            if isinstance(each, dict):
                await self.create(each)
                continue
            text = await asyncio.to_thread(Path(each).read_text)
            for document in yaml.safe_load_all(text):
                if document:
                    await self.create(document)

    async def create(self, body: Object) -> Object:
        """The created object. Without a namespace it goes into `default`. Raises ApiError."""
        kind = self.kind_of(body)
        return await self.client.create(kind.resource, _namespace(kind, body), body)

    async def apply(self, body: Object) -> Object:
        """Creates the object, or merges what is given into it. Raises ApiError."""
        kind, name = self.kind_of(body), body["metadata"]["name"]
        namespace = _namespace(kind, body)
        if await self.get(kind.resource, name, namespace=namespace) is None:
            return await self.create(body)
        return await self.client.merge_patch(kind.resource, namespace, name, body)

    async def get(self, resource: Resource | str, name: str, *, namespace: str = "default") -> Object | None:
        """The object as it is now; None where there is none."""
        try:
            return await self.client.get(_resource(resource), namespace, name)
        except NotFound:
            return None

    async def list(self, resource: Resource | str, *, namespace: str = "") -> list[Object]:
        """All objects of a resource, of one namespace where it is given."""
        answer = await self.client.list(_resource(resource), namespace)
        items: list[Object] = answer["items"]
        return items

    async def delete(self, resource: Resource | str, name: str, *, namespace: str = "default") -> None:
        """Deletes it as a user would; what it owned goes with it. Raises ApiError."""
        await self.client.delete(_resource(resource), namespace, name)
        await self.server.collect_garbage()

    @asynccontextmanager
    async def running(
        self, *controllers: Controller, settings: ShardSettings | None = None
    ) -> AsyncIterator[RunningControllers]:
        """The controllers at work on every key, as in a fleet of one worker that owns everything."""
        chosen = settings or ShardSettings()
        runtime = WorkerRuntime(
            transport=self.transport(),
            clock=loop_seconds,
            rng=random.Random(self._rng.random()),
            settings=chosen,
            metrics=ShardMetrics(),
            slots=asyncio.Semaphore(chosen.queue.max_concurrent_reconciles),
        )
        shard = Shard(WHOLE, controllers, runtime, MEMBER)
        until = loop_seconds() + FOREVER_SECONDS
        try:
            await shard.activate(Tenure(MEMBER, 1, WHOLE, 1, until=lambda: until), None, previous_epoch=0)
            yield RunningControllers(self, shard)
        finally:
            await shard.stop()
            runtime.close()

    def close(self) -> None:
        """Ends all watches."""
        self.server.close()


def _namespace(kind: ResourceType, body: Object) -> str:
    if not kind.namespaced:
        return ""
    namespace: str = body.get("metadata", {}).get("namespace") or "default"
    return namespace


class RunningControllers:
    """Controllers at work. shard: the one that runs them all."""

    def __init__(self, cluster: EmbeddedCluster, shard: Shard) -> None:
        self.shard = shard
        self._cluster = cluster

    async def settled(self, *, within_seconds: float = 60.0, quiet_seconds: float = QUIET_SECONDS) -> None:
        """Returns when for a while nobody wrote anything and no key was ready, running, parked or failing.

        What is due later, such as `Result(requeue_after_seconds=300)`, is not waited for. Raises TimeoutError, which
        names the keys.
        """
        deadline = loop_seconds() + within_seconds
        state, since = self._state(), loop_seconds()
        while state[1] or loop_seconds() - since < quiet_seconds:
            if loop_seconds() >= deadline:
                keys = ", ".join(state[1]) or "none, but objects are being written"
                raise TimeoutError(f"not settled within {within_seconds:g} s: {keys}")
            await asyncio.sleep(POLL_SECONDS)
            before, state = state, self._state()
            if state != before:
                since = loop_seconds()

    def _state(self) -> tuple[int, list[str]]:
        return self._cluster.server.storage.version, self.shard.unsettled()


def _resource(named: Resource | str) -> Resource:
    return Resource.parse(named) if isinstance(named, str) else named
