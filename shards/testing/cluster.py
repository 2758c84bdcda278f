"""An API server in the test's own process, and controllers that run against it: no sockets, no fleet, no cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.authoring.controller import Controller, identity_of
from shards.errors import ApiError, ConfigError, NotFound
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.testing.observed import Failures, ObservedController
from shards.testing.running import RunningControllers, check_served, require_served
from shards.testing.virtual_time import loop_seconds

MEMBER = "worker-0"
START_SECONDS = 60.0
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
        for name in ("apiVersion", "kind"):
            if not isinstance(body.get(name), str):
                raise ConfigError(name, "missing; an object says its apiVersion and kind")
        api_version, kind = body["apiVersion"], body["kind"]
        found = self.server.registry.of(api_version, kind)
        if found is None:
            why = f"nothing serves {kind!r} of {api_version!r}; install its CustomResourceDefinition"
            raise ConfigError("kind", why)
        return found

    def _served(self, named: Resource | str) -> ResourceType:
        """Raises ConfigError."""
        resource = Resource.parse(named) if isinstance(named, str) else named
        require_served(resource, "resource", self.server.registry)
        found = self.server.registry.get(resource)
        assert found is not None
        return found

    async def install(self, *definitions: Object | str | Path) -> None:
        """Creates what the files or objects say, in order: definitions, namespaces, anything.

        Raises ApiError and ConfigError, with a note of the file and the document, and yaml.YAMLError.
        """
        for each in definitions:
            if isinstance(each, dict):
                await self.create(each)
                continue
            text = await asyncio.to_thread(Path(each).read_text)
            for number, document in enumerate(yaml.safe_load_all(text), start=1):
                if document is not None:
                    await self._install(document, f"document {number} of {each}")

    async def _install(self, document: object, what: str) -> None:
        if not isinstance(document, dict):
            raise ConfigError("install", f"{what} is no object, but {type(document).__name__}")
        try:
            await self.create(document)
        except (ApiError, ConfigError) as error:
            error.add_note(what)
            raise

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

    async def patch_status(
        self, resource: Resource | str, name: str, status: Object, *, namespace: str = "default"
    ) -> Object:
        """Merges into the status of an object, as the controller would that is not there: of a Deployment, of a Pod.

        Raises as `get` does, and NotFound.
        """
        kind = self._served(resource)
        where = namespace if kind.namespaced else ""
        return await self.client.merge_patch(kind.resource, where, name, {"status": status}, "status")

    async def get(self, resource: Resource | str, name: str, *, namespace: str = "default") -> Object | None:
        """The object as it is now; None where there is none. Raises ApiError, and ConfigError where nothing serves the
        resource."""
        kind = self._served(resource)
        try:
            return await self.client.get(kind.resource, namespace if kind.namespaced else "", name)
        except NotFound:
            return None

    async def list(self, resource: Resource | str, *, namespace: str = "") -> list[Object]:
        """All objects of a resource, of one namespace where it is given. Raises as `get` does."""
        kind = self._served(resource)
        answer = await self.client.list(kind.resource, namespace if kind.namespaced else "")
        items: list[Object] = answer["items"]
        return items

    async def delete(self, resource: Resource | str, name: str, *, namespace: str = "default") -> None:
        """Deletes it as a user would; what it owned goes with it. Raises as `get` does, and NotFound."""
        kind = self._served(resource)
        await self.client.delete(kind.resource, namespace if kind.namespaced else "", name)
        await self.server.collect_garbage()

    @asynccontextmanager
    async def running(
        self, *controllers: Controller, settings: ShardSettings | None = None, start_seconds: float = START_SECONDS
    ) -> AsyncIterator[RunningControllers]:
        """The controllers at work on every key, as in a fleet of one worker that owns everything. Garbage is collected
        meanwhile, and namespaces end.

        Raises ConfigError for a declaration that is not complete and for a resource that nothing serves, TimeoutError
        when the views are not complete after `start_seconds`.
        """
        identity_of(controllers)
        check_served(controllers, self.server.registry)
        runtime = self._runtime(settings or ShardSettings())
        failures = Failures()
        shard = Shard(WHOLE, [ObservedController(each, failures) for each in controllers], runtime, MEMBER)
        garbage = asyncio.create_task(self.server.run_controllers(), name="garbage collection")
        try:
            await _start(shard, start_seconds)
            yield RunningControllers(self.server, shard, failures, garbage)
            failures.raise_outcome()
        finally:
            garbage.cancel()
            await asyncio.gather(garbage, return_exceptions=True)
            await shard.stop()
            runtime.close()

    def _runtime(self, settings: ShardSettings) -> WorkerRuntime:
        return WorkerRuntime(
            transport=self.transport(),
            clock=loop_seconds,
            rng=random.Random(self._rng.random()),
            settings=settings,
            metrics=ShardMetrics(),
            slots=Slots(settings.queue.max_concurrent_reconciles),
        )

    def close(self) -> None:
        """Ends all watches."""
        self.server.close()


async def _start(shard: Shard, seconds: float) -> None:
    until = loop_seconds() + FOREVER_SECONDS
    try:
        async with asyncio.timeout(seconds):
            await shard.activate(Tenure(MEMBER, 1, WHOLE, 1, until=lambda: until), None, previous_epoch=0)
    except TimeoutError:
        why = shard.trouble or "no list was answered"
        raise TimeoutError(f"the controllers did not see all their objects within {seconds:g} s: {why}") from None


def _namespace(kind: ResourceType, body: Object) -> str:
    if not kind.namespaced:
        return ""
    namespace: str = (body.get("metadata") or {}).get("namespace") or "default"
    return namespace
