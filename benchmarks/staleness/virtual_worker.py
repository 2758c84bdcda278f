"""One worker with one shard on an embedded server, in virtual time, with as much latency as a cluster has."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import Client
from shards.authoring.controller import Controller
from shards.journal import NO_JOURNAL, Journal
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from shards.testing.virtual_time import loop_seconds

ORDERS = Resource("bench.shardfleet.dev", "v1", "orders")
CONFIG_MAPS = Resource("", "v1", "configmaps")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

REQUEST_SECONDS = 0.004
"""Of the network there and back. Events of a write overtake its answer by half of it, as they may in a cluster."""

FIRST_LOOK_SECONDS = 0.5
WALL_SECONDS = 1.0e9

_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
_VERSION = {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, "subresources": {"status": {}}}
_NAMES = {"plural": "orders", "kind": "Order"}
DEFINITION: Object = {
    "metadata": {"name": "orders.bench.shardfleet.dev"},
    "spec": {"group": "bench.shardfleet.dev", "scope": "Namespaced", "names": _NAMES, "versions": [_VERSION]},
}


def order(name: str) -> Object:
    """One whose first revision, 0, needs nothing."""
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"revision": 0}}


def seed(server: ApiServer, count: int) -> list[str]:
    """Installs orders and their definition. Returns the names of the orders."""
    server.seed(CRDS, DEFINITION)
    names = [f"order-{number:05d}" for number in range(count)]
    for name in names:
        server.seed(ORDERS, order(name))
    return names


class DistantTransport(InProcessTransport):
    """Requests take their time on the way to the server, and answers back."""

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        await asyncio.sleep(REQUEST_SECONDS / 2)
        answer = await super().request(method, path, **options)
        await asyncio.sleep(REQUEST_SECONDS / 2)
        return answer


@dataclass
class VirtualWorker:
    """names: of the orders. recorder: of the server. user: somebody else's client."""

    server: ApiServer
    recorder: Recorder
    names: list[str]
    user: Client
    shard: Shard

    def uid_of(self, name: str) -> str:
        """Of an order; "" where there is none."""
        held = next((each for each in self.shard.views[str(ORDERS)].store.each_key() if each.name == name), None)
        return held.uid if held is not None else ""


@asynccontextmanager
async def working(
    controller: Controller, count: int, *, gate: bool, journal: Journal = NO_JOURNAL
) -> AsyncIterator[VirtualWorker]:
    """The controller at work on so many orders, after its first look at each of them."""
    recorder = Recorder(clock=loop_seconds)
    server = ApiServer(
        ServerSettings(), rng=random.Random(1), wall_seconds=lambda: WALL_SECONDS + loop_seconds(), recorder=recorder
    )
    names = seed(server, count)
    settings = ShardSettings(gate=GateSettings(enabled=gate))
    runtime = WorkerRuntime(
        transport=DistantTransport(server, clock=loop_seconds),
        clock=loop_seconds,
        rng=random.Random(2),
        settings=settings,
        metrics=ShardMetrics(CollectorRegistry()),
        slots=Slots(settings.queue.max_concurrent_reconciles),
        journal=journal,
    )
    shard = Shard(WHOLE, [controller], runtime, "bench")
    user = Client(InProcessTransport(server, clock=loop_seconds), user_agent="somebody")
    garbage = asyncio.create_task(server.run_controllers())
    try:
        await shard.activate(
            Tenure("bench", 1, WHOLE, 1, until=lambda: loop_seconds() + 3600.0), None, previous_epoch=0
        )
        await asyncio.sleep(FIRST_LOOK_SECONDS)
        assert not shard.unsettled(), "every order was looked at, and needed nothing"
        yield VirtualWorker(server, recorder, names, user, shard)
    finally:
        garbage.cancel()
        await asyncio.gather(garbage, return_exceptions=True)
        await shard.stop()
        runtime.close()
        server.close()


def moments(rng: random.Random, per_second: float, seconds: float) -> Iterable[float]:
    """When changes come: at random, so many a second. Pauses before each."""
    at = 0.0
    while True:
        pause = rng.expovariate(per_second)
        at += pause
        if at >= seconds:
            return
        yield pause
