"""One worker with a shard of everything on the embedded server, in virtual time, with the version gate on or off.

The same reconciler runs either way. Children are ConfigMaps, the primaries Websites without a schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fleet.devcluster.kinds.resources import ResourceType
from shards import Context, Controller, Request, Result
from shards.objects import Object, Resource
from shards.settings import GateSettings, QueueSettings, ShardSettings
from tests.unit.shards.world import CONFIGMAPS, WEBSITES, Sent, World

ON_AND_OFF = pytest.mark.parametrize("gate", [True, False], ids=["gate on", "gate off"])
"""For what holds either way: something else than the gate sees to it, and the test says what."""

Reconcile = Callable[[Context, Request], Awaitable[Result | None]]
CONTROLLER = "websites"


def settings_of(*, gate: bool, reads_per_second: float = 5.0, at_once: int = 8) -> ShardSettings:
    """reads_per_second: budget of live reads. at_once: concurrent reconciles."""
    gates = GateSettings(enabled=gate, live_reads_per_second=reads_per_second)
    return ShardSettings(gate=gates, queue=QueueSettings(max_concurrent_reconciles=at_once))


def controller_of(reconcile: Reconcile, *, owns: Sequence[Resource] = (CONFIGMAPS,)) -> Controller:
    websites = Controller(CONTROLLER, primary=str(WEBSITES))
    for each in owns:
        websites.owns(str(each))
    websites.reconcile(reconcile)
    return websites


class Gated(World):
    """A server, a worker, and what the worker asked of the server."""

    def posts(self, resource: Resource = CONFIGMAPS) -> list[Sent]:
        """Creates that were carried out."""
        return self.carried_out("POST", resource)

    def carried_out(self, method: str, resource: Resource) -> list[Sent]:
        return [each for each in self.asked(method, resource) if not each.error]

    def asked(self, method: str, resource: Resource) -> list[Sent]:
        """Requests of that resource, whatever came of them. Those of informers aside."""
        path = resource.path("default")
        own = (each for each in self.transport.sent if each.agent.reason != "informer")
        return [each for each in own if each.method == method and f"{each.path}/".startswith(f"{path}/")]

    def live_reads(self) -> int:
        return len([each for each in self.transport.sent if each.method == "GET" and each.agent.key])

    def parks(self, resource: Resource = CONFIGMAPS) -> float:
        """Times that the gate held a key back until its view showed writes of the resource."""
        return self.metric("shardfleet_gate_parks_total", controller=CONTROLLER, resource=str(resource))

    def there(self, resource: Resource = CONFIGMAPS) -> dict[str, Object]:
        """What the server has, by name, without a request."""
        kind = self.kind_of(resource)
        objects = (each.decode() for each in self.server.storage.table(kind).objects.values())
        return {each["metadata"]["name"]: each for each in objects if each["metadata"].get("namespace") == "default"}

    def kind_of(self, resource: Resource) -> ResourceType:
        found = self.server.registry.get(resource)
        assert found is not None
        return found

    async def touch(self, name: str = "a", **spec: Any) -> Object:
        """Changes a Website as a user would."""
        return await self.kubectl.merge_patch(WEBSITES, "default", name, {"spec": spec})

    async def recreate(self, name: str = "a", **spec: Any) -> Object:
        """The name again, under another UID."""
        await self.kubectl.delete(WEBSITES, "default", name)
        return self.website(name, **spec)

    async def eventually(self, condition: Callable[[], bool], *, within_seconds: float, what: str) -> float:
        """Looks a thousand times. Returns after how many virtual seconds it held. Fails with `what`."""
        began = self.clock()
        while not condition():
            assert self.clock() < began + within_seconds, f"not within {within_seconds:g} s: {what}"
            await asyncio.sleep(within_seconds / 1000)
        return self.clock() - began


@asynccontextmanager
async def gated(reconcile: Reconcile | Controller, *, gate: bool, **settings: Any) -> AsyncIterator[Gated]:
    """The reconciler at work, with garbage collection. settings: of `settings_of`."""
    async with gated_world(gate=gate, **settings) as world:
        await world.running(reconcile if isinstance(reconcile, Controller) else controller_of(reconcile))
        yield world


@asynccontextmanager
async def gated_world(*, gate: bool, **settings: Any) -> AsyncIterator[Gated]:
    """The same before a shard is opened."""
    world = Gated(settings_of(gate=gate, **settings))
    garbage = asyncio.create_task(world.server.run_controllers())
    try:
        yield world
    finally:
        garbage.cancel()
        await asyncio.gather(garbage, return_exceptions=True)
        await world.close()
