"""A rolling restart of five pods under load, as a StatefulSet makes it: from the last ordinal to the first, each pod
ends by SIGTERM and is started again under the next revision, and the next one follows when its member is there.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rebalancing.bench import Bench, median_and_worst, on_each_server, say
from benchmarks.rebalancing.evidence import Gap, handovers, percentile, reactions
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry

PODS = tuple(f"pod-{ordinal}" for ordinal in range(5))
SHARDS = 15
OBJECTS = 1_500
CHANGES_PER_SECOND = 50
REST_SECONDS = 3.0
SETTLE_SECONDS = 10.0
"""After the last pod is there again: moves that follow are counted."""
START_SECONDS = 60.0

RUNS = 2
UNOWNED_SECONDS = 1.0
MOVES = 2

_TROUBLE = re.compile(r" (ERROR|CRITICAL) |failed, next try")


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "rolling", bench.directory) as stage:
            return await _rows(stage, bench)

    return await on_each_server(bench, "rolling", on)


@dataclass(frozen=True, slots=True)
class Rolled:
    """One rolling restart. unowned: seconds without a working owner, by range; moves likewise."""

    took: float
    unowned: dict[str, float]
    moves: dict[str, int]


async def _rows(stage: Stage, bench: Bench) -> list[Row]:
    pods = PODS[: bench.size(len(PODS), 2)]
    await stage.depot.fill(bench.size(OBJECTS, 100))
    stage.configure(shards=SHARDS, per_pod=1)
    for pod in pods:
        stage.start(pod, revision="0")
    await stage.until_even([f"{pod}-0" for pod in pods], SHARDS)
    async with stage.depot.busy(CHANGES_PER_SECOND):
        await asyncio.sleep(REST_SECONDS)
        began = time.time()
        runs = [await _rolled(stage, pods, str(run + 1), bench) for run in range(bench.size(RUNS, 1))]
    await asyncio.sleep(REST_SECONDS)
    entries, name = stage.writes(), stage.server.name
    seconds = [each.seconds for each in reactions(entries) if each.changed >= began]
    trouble = [line for _, text in stage.logs() for line in text.splitlines() if _TROUBLE.search(line)]
    for line in trouble[:20]:
        say(line)
    what = f"rolling restart of {len(pods)} pods, {name}"
    worst = [max(run.unowned.values(), default=0.0) for run in runs]
    moves = [float(max(run.moves.values(), default=0)) for run in runs]
    return [
        *median_and_worst(what, [run.took for run in runs], "s", None, 1),
        *median_and_worst(f"{what}: unowned in all, worst shard", worst, "s", UNOWNED_SECONDS),
        *median_and_worst(f"{what}: moves, worst shard", moves, "", MOVES),
        Row(f"{what}: moves of {SHARDS} shards, all runs", sum(sum(run.moves.values()) for run in runs), "moves"),
        Row(f"{what}: errors in the logs", len(trouble), "", 0),
        Row(f"{what}: overlaps of ownership", overlaps(entries), "", 0),
        Row(f"{what}: changes that no reconcile saw", seconds.count(float("inf")), "", 0),
        Row(f"{what}: change to reconcile meanwhile, p99", round(percentile(seconds, 0.99) * 1e3, 1), "ms"),
    ]


async def _rolled(stage: Stage, pods: Sequence[str], revision: str, bench: Bench) -> Rolled:
    began = time.time()
    for pod in reversed(pods):
        await _restarted(stage, pod, revision)
        say(f"{stage.server.name}: {pod} restarted after {time.time() - began:.1f} s in all")
    await stage.until(lambda: len(stage.holders()) == SHARDS, within_seconds=START_SECONDS, what="all ranges are open")
    took = time.time() - began
    await asyncio.sleep(SETTLE_SECONDS if not bench.quick else 1.0)
    return Rolled(took, *per_range([gap for gap in handovers(stage.notes()) if gap.began >= began]))


async def _restarted(stage: Stage, pod: str, revision: str) -> None:
    """Returns when the next start of the pod has its member Lease: its readiness."""
    code = await asyncio.to_thread(stage.pods[pod].terminate)
    if code:
        say(f"{pod} ended with {code}")
    before = await stage.coordination.read_member(f"{pod}-0")
    epoch = before.epoch if before is not None else 0
    stage.start(pod, revision=revision)
    async with asyncio.timeout(START_SECONDS):
        while True:
            found = await stage.coordination.read_member(f"{pod}-0")
            if found is not None and found.holder is not None and found.epoch > epoch:
                return
            await asyncio.sleep(0.1)


def per_range(gaps: list[Gap]) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds without a working owner, and moves, of each range that moved."""
    of: defaultdict[str, list[float]] = defaultdict(list)
    for gap in gaps:
        of[gap.range].append(gap.seconds)
    return {each: sum(seconds) for each, seconds in of.items()}, {each: len(seconds) for each, seconds in of.items()}


def overlaps(entries: list[Entry]) -> int:
    """Broken promises about ownership that the judge finds in these writes."""
    for seq, entry in enumerate(entries, start=1):
        entry.seq = seq
    verdict = judge(entries)
    return verdict.overlap_violations + verdict.writes_after_release
