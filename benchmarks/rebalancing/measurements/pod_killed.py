"""SIGKILL of a whole pod (supervisor, agent and workers at once), under load: until every range has an open gate again.

Nobody is left who knows that it is gone: its member Lease has to run out. The same for the pod whose agent is the
coordinator, where an election comes before that.
"""

from __future__ import annotations

import asyncio

from benchmarks.rebalancing.bench import Bench, NotReached, median_and_worst, on_each_server, say
from benchmarks.rebalancing.evidence import openings
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row

PODS = ("pod-0", "pod-1", "pod-2")
SHARDS = 6
OBJECTS = 1_500
CHANGES_PER_SECOND = 50
RUNS = 3
"""Of each of the two."""
LEASE_SECONDS = 8.0
TARGET_SECONDS = 12.0
COORDINATOR_TARGET_SECONDS = 14.0
WATCHED_SECONDS = 40.0


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "pod-killed", bench.directory) as stage:
            ordinary, coordinator = await _times(stage, bench)
        name = f"until every key is owned, lease of 8 s, {server.name}"
        return [
            *median_and_worst(f"SIGKILL of a pod {name}", ordinary, "s", TARGET_SECONDS),
            *median_and_worst(f"SIGKILL of the coordinator's pod {name}", coordinator, "s", COORDINATOR_TARGET_SECONDS),
        ]

    return await on_each_server(bench, "pod_killed", on)


async def _times(stage: Stage, bench: Bench) -> tuple[list[float | None], list[float | None]]:
    await stage.depot.fill(bench.size(OBJECTS, 100))
    stage.configure(shards=SHARDS, per_pod=1, coordination={"leaseSeconds": LEASE_SECONDS})
    for pod in PODS:
        stage.start(pod)
    ordinary: list[float | None] = []
    coordinator: list[float | None] = []
    async with stage.depot.busy(CHANGES_PER_SECOND):
        for _ in range(bench.size(RUNS, 1)):
            for times, of_coordinator in ((ordinary, False), (coordinator, True)):
                times.append(await _killed(stage, of_coordinator=of_coordinator))
                say(f"{stage.server.name}: {'coordinator' if of_coordinator else 'pod'} killed, owned {times[-1]} s")
    return ordinary, coordinator


async def _killed(stage: Stage, *, of_coordinator: bool) -> float | None:
    """Seconds; None for longer than it is watched. The pod is there again afterwards."""
    await stage.until_even([f"{pod}-0" for pod in PODS], SHARDS)
    await asyncio.sleep(1.0)
    office = await stage.coordinator_pod()
    name = office if of_coordinator else next(pod for pod in PODS if pod != office)
    lost = {each for each, owner in stage.holders().items() if owner == f"{name}-0"}
    at = stage.pods[name].kill_all()

    def owned() -> bool:
        return lost <= openings(stage.notes(), at).keys()

    try:
        await stage.until(owned, within_seconds=WATCHED_SECONDS, what=f"the ranges of {name} are owned again")
    except NotReached:
        return None
    finally:
        stage.start(name)
    found = openings(stage.notes(), at)
    return max(found[each].time for each in lost) - at
