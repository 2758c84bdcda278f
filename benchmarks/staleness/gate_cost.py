"""What the gate costs when nothing is late: CPU of a worker's process over HTTP, with the gate, with it switched off,
and without its records of writes.

The server is embedded, in a process of its own, so that only the client's side counts. One shard serves all rounds;
what differs is switched between them. The three take turns, in a drawn order, in rounds so short that whatever else
the machine does meets all of them.
"""

from __future__ import annotations

import asyncio
import gc
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path

import msgspec
import uvloop

from benchmarks.forked_server import Announce, forked_server
from benchmarks.staleness.virtual_worker import ORDERS, seed
from fleet.devcluster.doors.http import serve
from fleet.devcluster.doors.kubeconfig import kubeconfig_text, write_kubeconfig
from fleet.devcluster.server import ApiServer
from shards.authoring.controller import Context, Controller, Request
from shards.clock import boot_seconds
from shards.gates.own_writes import Barrier, Blocked, OwnWrites, Views
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Key, ObjectName, Resource
from shards.ownership.tenure import unfenced
from shards.queue.slots import Slots
from shards.reconciling.engine import Engine
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.transport.kube import connect

KEYS = 50
"""Reconciles of a round that write."""

IDLE_PASSES = 20
"""How often a round without writes goes through all keys."""

TURNS = 120
WARM_UP = 3


class Mode(Enum):
    """What a round runs with. NONE: as if the gate had never been written."""

    ON = "on"
    OFF = "off"
    NONE = "none"


class Turn(msgspec.Struct, frozen=True):
    """Microseconds of CPU for one reconcile, of one round in each mode, right after another."""

    on: float
    off: float
    none: float


class Cost(msgspec.Struct, frozen=True):
    """writing: a reconcile with a write, and the one that its own event causes. idle: one that has nothing to do.
    live_reads: of all rounds."""

    writing: list[Turn]
    idle: list[Turn]
    live_reads: int


class _NoRecords(OwnWrites):
    """Takes note of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._one = Barrier(Key("", "", ""), ORDERS, ObjectName("", ""), "", "")

    def begin(self, key: Key, resource: Resource, name: ObjectName, uid: str, resource_version: str = "") -> Barrier:
        return self._one

    def landed(self, barrier: Barrier, uid: str, resource_version: str) -> None:
        return

    def blocked(self, key: Key, views: Views) -> Blocked | None:
        return None


class _Rounds:
    """An author who writes what each round says, and knows when all of it has come back."""

    def __init__(self) -> None:
        self._due: set[str] = set()
        self._left = 0
        self._number = 0
        self._over = asyncio.Event()

    def controller(self) -> Controller:
        orders = Controller("orders", primary=str(ORDERS))
        orders.reconcile(self._reconcile)
        return orders

    def expect(self, runs: int, due: set[str]) -> asyncio.Event:
        """A new round. due: names that are to be written once. Set after so many reconciles."""
        self._due, self._left, self._number = due, runs, self._number + 1
        self._over.clear()
        return self._over

    async def _reconcile(self, ctx: Context, request: Request) -> None:
        ctx.store.get()
        if request.name in self._due:
            self._due.discard(request.name)
            await ctx.client.patch_status({"round": self._number})
        self._left -= 1
        if not self._left:
            self._over.set()


class _Bench:
    """The worker whose gate is switched."""

    def __init__(self, rounds: _Rounds, runtime: WorkerRuntime, shard: Shard) -> None:
        self._rounds = rounds
        self._runtime = runtime
        [self._engine] = engines_of(shard)
        assert self._engine.fence is not None, "the shard is active"
        self._fence = self._engine.fence
        self._records, self._no_records = self._fence.writes, _NoRecords()
        self._keys = list(self._engine.stores[ORDERS].each_key())

    def switch(self, mode: Mode) -> None:
        settings = self._runtime.settings
        self._runtime.change(replace(settings, gate=replace(settings.gate, enabled=mode is Mode.ON)))
        assert self._runtime.gates.version_gate(self._engine.controller.name, WHOLE) is (mode is Mode.ON)
        self._fence.writes = self._no_records if mode is Mode.NONE else self._records

    async def turn(self, rng: random.Random, *, writing: bool) -> Turn:
        found = {}
        gc.collect()
        gc.disable()  # a collection would meet one of the three
        try:
            for mode in rng.sample(list(Mode), k=len(Mode)):
                self.switch(mode)
                found[mode.value] = await (self._written() if writing else self._looked_at())
        finally:
            gc.enable()
        return Turn(**found)

    async def _written(self) -> float:
        """Every reconcile writes once; then its own event has it run again."""
        before = time.process_time()
        await self._pass(2, {key.name for key in self._keys})
        return (time.process_time() - before) / len(self._keys) * 1e6

    async def _looked_at(self) -> float:
        before = time.process_time()
        for _ in range(IDLE_PASSES):
            await self._pass(1, set())
        return (time.process_time() - before) / (IDLE_PASSES * len(self._keys)) * 1e6

    async def _pass(self, runs: int, due: set[str]) -> None:
        """Once through all keys. runs: of each."""
        over = self._rounds.expect(runs * len(self._keys), due)
        for key in self._keys:
            self._engine.add(key)
        await over.wait()

    def live_reads(self) -> int:
        samples = (sample for metric in self._runtime.metrics.live_reads.collect() for sample in metric.samples)
        return int(sum(sample.value for sample in samples if sample.name.endswith("_total")))


def engines_of(shard: Shard) -> tuple[Engine, ...]:
    """A shard shows its engines to nobody; a benchmark of one of them has to reach in."""
    return tuple(shard._engines)


async def _serve(announce: Announce) -> None:
    server = ApiServer()
    seed(server, KEYS)
    door = await serve(server)
    announce(door.url)
    await asyncio.Event().wait()


@asynccontextmanager
async def _bench(kubeconfig: Path) -> AsyncIterator[_Bench]:
    transport = await connect(kubeconfig=str(kubeconfig))
    settings, rounds = ShardSettings(), _Rounds()
    runtime = WorkerRuntime(
        transport=transport,
        clock=boot_seconds,
        rng=random.Random(1),
        settings=settings,
        metrics=ShardMetrics(),
        slots=Slots(settings.queue.max_concurrent_reconciles),
    )
    shard = Shard(WHOLE, [rounds.controller()], runtime, "bench")
    over = rounds.expect(KEYS, set())
    try:
        await shard.activate(unfenced("bench"), None, previous_epoch=0)
        await over.wait()
        yield _Bench(rounds, runtime, shard)
    finally:
        await shard.stop()
        runtime.close()
        await transport.close()


async def _cost(kubeconfig: Path, turns: int) -> Cost:
    rng = random.Random(3)
    async with _bench(kubeconfig) as bench:
        writing, idle = [], []
        for _ in range(turns + WARM_UP):
            writing.append(await bench.turn(rng, writing=True))
            idle.append(await bench.turn(rng, writing=False))
        return Cost(writing[WARM_UP:], idle[WARM_UP:], bench.live_reads())


def cost(turns: int = TURNS) -> Cost:
    """To be called in a process that has no loop and no thread."""
    with forked_server(_serve) as url, tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "kubeconfig"
        write_kubeconfig(file, kubeconfig_text(url, name="bench"))
        return uvloop.run(_cost(file, turns))
