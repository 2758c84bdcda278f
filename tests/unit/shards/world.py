"""An embedded API server in virtual time, with one custom resource, for tests of what writes to it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import msgspec
from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import JSON, Client, Query
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller
from shards.clock import Clock
from shards.errors import NotFound
from shards.keyrange import WHOLE, KeyRange
from shards.metrics import ShardMetrics
from shards.objects import Key, Object, Resource
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.settings import ShardSettings
from shards.shard import Shard, WorkerRuntime

WEBSITES = Resource("demo.shardfleet.dev", "v1", "websites")
CONFIGMAPS = Resource("", "v1", "configmaps")
SECRETS = Resource("", "v1", "secrets")
EVENTS = Resource("", "v1", "events")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: Object = {
    "metadata": {"name": "websites.demo.shardfleet.dev"},
    "spec": {
        "group": "demo.shardfleet.dev",
        "scope": "Namespaced",
        "names": {"plural": "websites", "kind": "Website"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, "subresources": {"status": {}}}
        ],
    },
}


@dataclass(frozen=True)
class Sent:
    """One request as it was handed to the transport. error: what came of it, "" for a success."""

    method: str
    path: str
    body: Any
    agent: UserAgent
    timeout_seconds: float
    not_after: float | None
    at: float
    error: str = ""


class RecordingTransport:
    """Notes every request, and lets a test get in between. fail: returns the exception to raise instead of sending."""

    def __init__(self, inner: InProcessTransport) -> None:
        self.inner = inner
        self.sent: list[Sent] = []
        self.accepted: list[tuple[str, str]] = []
        """Of lists and watches of informers: path and Accept."""
        self.fail: Callable[[Sent], Exception | None] = lambda _: None
        self.before: Callable[[Sent], None] = lambda _: None
        self.latency_seconds = 0.0

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
        agent = UserAgent.parse(user_agent) or UserAgent("")
        decoded = None if body is None else msgspec.json.decode(body)
        sent = Sent(method, unquote(path), decoded, agent, timeout_seconds, not_after, self.inner.clock())
        if sent.agent.reason == "informer":
            self.accepted.append((path, accept))
        index = len(self.sent)
        self.sent.append(sent)
        try:
            self.before(sent)
            error = self.fail(sent)
            if error is not None:
                raise error
            if self.latency_seconds:
                await asyncio.sleep(self.latency_seconds)
            return await self.inner.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                user_agent=user_agent,
                accept=accept,
                timeout_seconds=timeout_seconds,
                not_after=not_after,
            )
        except BaseException as raised:
            self.sent[index] = replace(sent, error=type(raised).__name__)
            raise

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[Any]:
        self.accepted.append((path, accept))
        return self.inner.stream(path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds)

    async def close(self) -> None:
        await self.inner.close()

    def writes(self) -> list[Sent]:
        """Requests other than reads, in order."""
        return [each for each in self.sent if each.method != "GET"]

    def reads(self, reason: str) -> list[Sent]:
        """Reads with that reason in the User-Agent."""
        return [each for each in self.sent if each.method == "GET" and each.agent.reason == reason]


class World:
    """A server, and the worker that runs shards against it. Times are readings of `clock`."""

    def __init__(self, settings: ShardSettings | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.clock: Clock = lambda: 1000.0 + loop.time()
        self.server = ApiServer(ServerSettings(bookmark_seconds=60.0), rng=random.Random(1), wall_seconds=self.clock)
        self.server.seed(CRDS, DEFINITION)
        self.transport = RecordingTransport(InProcessTransport(self.server, clock=self.clock))
        self.kubectl = Client(InProcessTransport(self.server, clock=self.clock))
        self.settings = settings or ShardSettings()
        self.registry = CollectorRegistry()
        self.runtime = self.worker()
        self.shards: list[Shard] = []

    def worker(self) -> WorkerRuntime:
        """The runtime of one more worker, with the same server and metrics."""
        metrics = self.runtime.metrics if hasattr(self, "runtime") else ShardMetrics(self.registry)
        return WorkerRuntime(
            transport=self.transport,
            clock=self.clock,
            rng=random.Random(7),
            settings=self.settings,
            metrics=metrics,
            slots=Slots(self.settings.queue.max_concurrent_reconciles),
        )

    def tenure(self, *, epoch: int = 1, of: KeyRange = WHOLE, seconds: float = 3600.0) -> Tenure:
        until = self.clock() + seconds
        return Tenure("worker-0", 3, of, epoch, until=lambda: until)

    def shard(self, controllers: Controller | Sequence[Controller], of: KeyRange = WHOLE) -> Shard:
        listed = [controllers] if isinstance(controllers, Controller) else controllers
        shard = Shard(of, listed, self.runtime, "worker-0")
        self.shards.append(shard)
        return shard

    async def running(self, controllers: Controller | Sequence[Controller]) -> Shard:
        """A shard of the whole space that owns it for the first time."""
        shard = self.shard(controllers)
        await shard.activate(self.tenure(), None, previous_epoch=0)
        return shard

    def website(self, name: str = "a", **spec: Any) -> Object:
        return self.server.seed(WEBSITES, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum over whatever else the metric is divided by; 0.0 where it has no value."""
        samples = (sample for family in self.registry.collect() for sample in family.samples if sample.name == name)
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    async def exists(self, resource: Resource, name: str) -> bool:
        try:
            await self.kubectl.get(resource, "default", name)
        except NotFound:
            return False
        return True

    def lag(self, resource: Resource, seconds: float | None = None) -> Callable[[], None]:
        """Watch events of the resource arrive that much later, or not before the returned function is called."""
        return self.server.faults.inject(DelayEvents(match=Match(resource=str(resource)), seconds=seconds)).release

    async def close(self) -> None:
        for shard in self.shards:
            await shard.stop()
        self.server.close()


def key_of(body: Object) -> Key:
    metadata = body["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"], metadata["uid"])
