"""An operator's process on the stage: the product's own shard over a transport that tells what passes, and that ends or
stands still when the process does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.requests import Target, name_in
from shards.api.client import Transport
from shards.authoring.controller import Controller
from shards.gates.watermark import Watermark
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.testing.observed import Failures, ObservedController
from shards.testing.virtual_time import loop_seconds
from shards.watching.wire import LineSplitter

TENURE_SECONDS = 10 * 3600.0

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}


@dataclass(frozen=True)
class Asked:
    """A write on its way. verb: create, update or delete. body: what it sends."""

    verb: str
    resource: str
    name: str
    subresource: str
    body: Object

    @classmethod
    def of(cls, method: str, path: str, body: bytes | None) -> Asked | None:
        """None for a read."""
        target = Target.parse(path)
        if target is None or method not in _VERBS:
            return None
        sent: Object = msgspec.json.decode(body) if body else {}
        name = target.name or (name_in(body) if body else "")
        return cls(_VERBS[method], str(target.resource), name, target.subresource, sent)


@dataclass
class Taps:
    """Who is told of what passes. asked: a write is about to be sent. answered: it was carried out, since that many
    commits. seen: the view has taken in an event: resource, the object before (None: it was not shown) and after."""

    asked: Callable[[Asked], None] = lambda asked: None
    answered: Callable[[Asked, int], None] = lambda asked, since: None
    seen: Callable[[str, Object | None, Object | None], None] = lambda resource, old, new: None
    commits: Callable[[], int] = lambda: 0


class TappedTransport(Transport):
    """A transport that can die, as that of a killed process: nothing it was asked for is answered any more."""

    def __init__(self, server: ApiServer, taps: Taps) -> None:
        self._inner = InProcessTransport(server, clock=loop_seconds)
        self._taps = taps
        self._shown: dict[str, Object] = {}
        """By UID, what watches showed."""
        self.going = asyncio.Event()
        """Cleared: the process stands still."""
        self.going.set()
        self.dead = False

    async def request(self, method: str, path: str, *, body: bytes | None = None, **options: Any) -> bytes:
        await self._alive()
        asked = Asked.of(method, path, body)
        if asked is not None:
            self._taps.asked(asked)
            await self._alive()
        since = self._taps.commits()
        answer = await self._inner.request(method, path, body=body, **options)
        if asked is not None:
            self._taps.answered(asked, since)
        await self._alive()
        return answer

    async def _alive(self) -> None:
        await self.going.wait()
        if self.dead:
            await asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._alive()
        async with self._inner.stream(path, **options) as chunks:
            yield self._tapped(path, chunks)

    async def _tapped(self, path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        target = Target.parse(path)
        lines = LineSplitter()
        async for chunk in chunks:
            await self._alive()
            yield chunk
            # Whoever took the chunk has taken it in when it asks for the next one.
            for line in lines.feed(chunk):
                if target is not None:
                    self._see(str(target.resource), msgspec.json.decode(line))

    def _see(self, resource: str, event: Object) -> None:
        if event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
            return
        body: Object = event["object"]
        uid = body["metadata"]["uid"]
        old = self._shown.pop(uid, body if event["type"] != "ADDED" else None)
        if event["type"] != "DELETED":
            self._shown[uid] = body
        self._taps.seen(resource, old, None if event["type"] == "DELETED" else body)

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class Process:
    """One worker that owns everything. name: of the member. `stand_by` or `own` starts it, once.

    failures: what its reconciles raised, shared by all processes of a stage.
    """

    name: str
    controller: Controller
    settings: ShardSettings
    transport: TappedTransport
    failures: Failures
    seed: int = 0
    shard: Shard = field(init=False)

    def __post_init__(self) -> None:
        runtime = WorkerRuntime(
            transport=self.transport,
            clock=loop_seconds,
            rng=random.Random(f"{self.seed} {self.name}"),
            settings=self.settings,
            metrics=ShardMetrics(CollectorRegistry()),
            slots=Slots(8),
            server_side_sharding=True,
        )
        self.shard = Shard(WHOLE, [ObservedController(self.controller, self.failures)], runtime, self.name)

    async def stand_by(self) -> None:
        """Its views are complete when this returns."""
        await self.shard.prewarm()

    async def own(self, epoch: int, mark: Watermark | None = None) -> None:
        """Returns when reconciles run. epoch: of the shard, from now on."""
        until = loop_seconds() + TENURE_SECONDS
        tenure = Tenure(self.name, 1, WHOLE, epoch, until=lambda: until)
        await self.shard.activate(tenure, mark, previous_epoch=epoch - 1)

    async def let_go(self) -> Watermark:
        """As in a planned move."""
        mark = await self.shard.drain(5.0)
        await self.shard.stop()
        return mark

    def kill(self) -> None:
        """From here on it does nothing."""
        self.transport.dead = True
        self.transport.going.set()

    async def bury(self) -> None:
        """Ends its tasks."""
        self.kill()
        await self.shard.stop()
