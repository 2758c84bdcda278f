"""Writes of Leases while nothing moves: renewals of members and coordinator, and nothing that grows with the shards."""

from __future__ import annotations

import asyncio
import time

from benchmarks.rebalancing.bench import Bench, on_each_server, say
from benchmarks.rebalancing.evidence import renewals_per_second, spent
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import staged
from benchmarks.table import Row

PODS = ("pod-0", "pod-1")
PER_POD = 2
FEW, MANY = 16, 1_024
OBJECTS = 1_000
CHANGES_PER_SECOND = 20
WATCHED_SECONDS = 30.0
SETTLE_SECONDS = 5.0
START_SECONDS = 240.0

WRITES_PER_SECOND = 0.5
"""Of one member, and of the coordinator."""
SAME = 0.05
"""Within this part of it, two rates of renewals are the same: intervals are drawn."""


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        most = WRITES_PER_SECOND * (len(PODS) * PER_POD + 1)
        few = await _rate(server, bench, FEW)
        many = await _rate(server, bench, bench.size(MANY, 64))
        return [
            Row(f"Lease writes of 4 workers and a coordinator, 16 shards, {server.name}", round(few, 3), "1/s", most),
            Row(f"Lease writes of the same, 1,024 shards, {server.name}", round(many, 3), "1/s", most),
            Row(f"the same, ratio, {server.name}", round(many / few, 4), "x", 1 + SAME),
        ]

    return await on_each_server(bench, "steady", on)


async def _rate(server: BenchServer, bench: Bench, shards: int) -> float:
    async with staged(server, f"steady-{shards}", bench.directory) as stage:
        await stage.depot.fill(bench.size(OBJECTS, 100))
        stage.configure(shards=shards, per_pod=PER_POD)
        for pod in PODS:
            stage.start(pod)
        members = [f"{pod}-{slot}" for pod in PODS for slot in range(PER_POD)]
        began = time.time()
        await stage.until_even(members, shards, within_seconds=START_SECONDS)
        say(f"{server.name}: {shards} shards open after {time.time() - began:.1f} s")
        await asyncio.sleep(SETTLE_SECONDS)
        began = time.time()
        async with stage.depot.busy(CHANGES_PER_SECOND):
            await asyncio.sleep(WATCHED_SECONDS if not bench.quick else 8.0)
        ended, entries = time.time(), stage.writes()
        say(f"{server.name}: {spent(entries, began, ended)}")
        return renewals_per_second(entries, began, ended)
