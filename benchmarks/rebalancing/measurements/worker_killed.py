"""SIGKILL of one worker whose supervisor lives, under load: until a key of its is reconciled again.

That is the first write of its next incarnation that the server carried out, since the kill. Each worker is killed once:
one that dies again within a minute is started again later and later, on purpose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from benchmarks.rebalancing.bench import Bench, median_and_worst, on_each_server, say
from benchmarks.rebalancing.evidence import is_status_write
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row
from fleet.devcluster.recording.journal import Entry
from shards.api.useragent import UserAgent

PODS = ("pod-0", "pod-1")
PER_POD = 3
SHARDS = 12
OBJECTS = 3_000
CHANGES_PER_SECOND = 50
TARGET_SECONDS = 1.0

REST_SECONDS = 2.0
"""Before each kill."""
WATCHED_SECONDS = 10.0
"""After each kill, at most."""


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "worker-killed", bench.directory) as stage:
            times = await _times(stage, bench)
        name = f"SIGKILL of a worker until its first key is reconciled, {server.name}"
        return median_and_worst(name, times, "s", TARGET_SECONDS)

    return await on_each_server(bench, "worker_killed", on)


async def _times(stage: Stage, bench: Bench) -> list[float | None]:
    per_pod = bench.size(PER_POD, 1)
    await stage.depot.fill(bench.size(OBJECTS, 200))
    stage.configure(shards=SHARDS, per_pod=per_pod)
    for pod in PODS:
        stage.start(pod)
    await stage.until_even([f"{pod}-{slot}" for pod in PODS for slot in range(per_pod)], SHARDS)
    times: list[float | None] = []
    async with stage.depot.busy(CHANGES_PER_SECOND):
        for slot in range(per_pod):
            for name in PODS:
                await asyncio.sleep(REST_SECONDS)
                times.append(await _killed(stage, name, slot))
                say(f"{stage.server.name}: {name}-{slot} killed, reconciles again after {times[-1]} s")
    return times


async def _killed(stage: Stage, pod: str, slot: int) -> float | None:
    """Seconds; None for longer than it is watched."""
    member = f"{pod}-{slot}"
    stage.writes()  # what was written so far is read before, not while the next incarnation starts
    killed_at = stage.pods[pod].kill_worker(slot)
    for _ in range(int(WATCHED_SECONDS)):
        await asyncio.sleep(1.0)
        first = first_act(stage.writes(), member, killed_at)
        if first is not None:
            return first - killed_at
    return None


def first_act(entries: Iterable[Entry], member: str, killed_at: float) -> float | None:
    """When the first write of a reconcile was carried out whose author is a later incarnation of the member."""
    before = 0
    for entry in entries:
        agent = UserAgent.parse(entry.user_agent) if is_status_write(entry) else None
        if agent is None or agent.member != member:
            continue
        if entry.time <= killed_at:
            before = max(before, int(agent.epoch))
        elif int(agent.epoch) > before:
            return entry.time
    return None
