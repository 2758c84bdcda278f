"""Planned handovers between living workers, one after the other, while the parcels change.

What tells the members where a range belongs is the map. Here a hand writes it, two targets at a time, so that three
hundred handovers take minutes and not hours; everything behind the map (standby, announcement, drain, release, claim,
gate) goes its ordinary way, and the coordinator, which has nothing to even out, lets it be. Quiet stretches lie between
stretches of handovers, so that latencies with and without them meet the same machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.rebalancing.bench import Bench, on_each_server, say
from benchmarks.rebalancing.evidence import Gap, handovers, is_change, is_status_write, percentile, reactions, spent
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row
from fleet.records.coordination import CasConflict
from fleet.records.record import ShardMap

PODS = ("pod-0", "pod-1")
SHARDS = 4
OBJECTS_PER_SHARD = 5_000
CHANGES_PER_SECOND = 50
HANDOVERS = 300
AT_ONCE = 2
"""A swap: each member gives one range and takes one, so that the coordinator finds nothing to even out."""

STRETCHES = 6
"""Of handovers, each behind a quiet one."""
QUIET_SECONDS = 12.0
SETTLE_SECONDS = 1.0
"""After the last gate of a stretch opened: what was queued meanwhile counts as its."""

P50_SECONDS = 0.1
P99_SECONDS = 1.0
SLOWER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time, since 1970. moving: whether ranges changed hands in it."""

    began: float
    ended: float
    moving: bool


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "handovers", bench.directory) as stage:
            return await _measured(stage, bench)

    return await on_each_server(bench, "handovers", on)


async def _measured(stage: Stage, bench: Bench) -> list[Row]:
    objects, wanted = bench.size(OBJECTS_PER_SHARD, 100), bench.size(HANDOVERS, 4)
    stretches, quiet = bench.size(STRETCHES, 1), QUIET_SECONDS if not bench.quick else 2.0
    say(f"{stage.server.name}: {objects * SHARDS} parcels for {wanted} handovers")
    await stage.depot.fill(objects * SHARDS)
    stage.configure(shards=SHARDS, per_pod=1, rebalance={"churnPerRound": 1.0, "cooldownSeconds": 86_400.0})
    for pod in PODS:
        stage.start(pod)
    await stage.until_even([f"{pod}-0" for pod in PODS], SHARDS)
    found: list[Stretch] = []
    async with stage.depot.busy(CHANGES_PER_SECOND):
        await asyncio.sleep(quiet)  # what joining left to do is no part of the first quiet stretch
        for _ in range(stretches):
            began = time.time()
            await asyncio.sleep(quiet)
            between = time.time()
            for _ in range(wanted // stretches // AT_ONCE):
                await _swap(stage)
            await asyncio.sleep(SETTLE_SECONDS)
            found += [Stretch(began, between, moving=False), Stretch(between, time.time(), moving=True)]
    await asyncio.sleep(2 * SETTLE_SECONDS)
    return _rows(stage, found)


async def _swap(stage: Stage) -> None:
    """Two members give each other a range; returns when both gates are open."""
    before = stage.holders()
    moved = await _retarget(stage, before)

    def arrived() -> bool:
        now = stage.holders()
        return all(now.get(each) == target for each, target in moved.items())

    await stage.until(arrived, within_seconds=60, what=f"{moved} have moved")


async def _retarget(stage: Stage, held: dict[str, str]) -> dict[str, str]:
    """The new targets of the ranges that are to move, as they were written."""
    while True:
        stored = await stage.coordination.read_map()
        assert stored is not None, "a fleet whose ranges are open has a map"
        moved = swapped(stored.map, held)
        targets = tuple(
            moved.get(str(each), target) for each, target in zip(stored.map.ranges, stored.map.targets, strict=True)
        )
        new = replace(stored.map, version=stored.map.version + 1, targets=targets)
        try:
            await stage.coordination.write_map(new, stored.version)
            return moved
        except CasConflict:
            continue  # the coordinator had something to say meanwhile


def swapped(shard_map: ShardMap, held: dict[str, str]) -> dict[str, str]:
    """Of each of two members the range that moved longest ago, and its new target: versions of the map go round."""
    of: dict[str, list[str]] = {}
    for each in shard_map.ranges:
        of.setdefault(held[str(each)], []).append(str(each))
    (first, firsts), (second, seconds) = sorted(of.items())[:2]
    turn = shard_map.version
    return {firsts[turn % len(firsts)]: second, seconds[turn % len(seconds)]: first}


def _rows(stage: Stage, stretches: Sequence[Stretch]) -> list[Row]:
    name, entries = stage.server.name, stage.writes()
    moving = [each for each in stretches if each.moving]
    gaps = [gap for gap in handovers(stage.notes()) if _within(gap.began, moving)]
    unowned = [gap.seconds for gap in gaps]
    seen = reactions(entries)
    during = [each.seconds for each in seen if _within(each.changed, moving)]
    quiet = [each.seconds for each in seen if _within(each.changed, [each for each in stretches if not each.moving])]
    p99s = percentile(during, 0.99), percentile(quiet, 0.99)
    cost = [spent(entries, each.began, each.ended) for each in moving]
    leases = sum(each.shard_leases for each in cost)
    return [
        Row(f"planned handovers, {name}", len(gaps), "", None),
        Row(f"unowned in one, p50, {name}", _ms(percentile(unowned, 0.5)), "ms", P50_SECONDS * 1e3),
        Row(f"unowned in one, p99, {name}", _ms(percentile(unowned, 0.99)), "ms", P99_SECONDS * 1e3),
        Row(f"unowned in one, worst, {name}", _ms(max(unowned)), "ms"),
        Row(f"change to reconcile, p50, without handovers, {name}", _ms(percentile(quiet, 0.5)), "ms"),
        Row(f"change to reconcile, p50, during handovers, {name}", _ms(percentile(during, 0.5)), "ms"),
        Row(f"change to reconcile, p99, without handovers, {name}", _ms(p99s[1]), "ms"),
        Row(f"change to reconcile, p99, during handovers, {name}", _ms(p99s[0]), "ms"),
        Row(f"the same, more, {name}", _ms(p99s[0] - p99s[1]), "ms", SLOWER_SECONDS * 1e3),
        Row(f"changes that no reconcile saw, {name}", sum(1 for each in seen if each.seen is None), "", 0),
        Row(f"writes of shard Leases for one, {name}", round(leases / len(gaps), 3), "", 3),
        Row(f"writes of objects for all of them, {name}", _beyond_changes(entries), "", 0),
    ]


def _beyond_changes(entries: Iterable[object]) -> int:
    """Writes of the fleet to parcels that no change asked for."""
    kept = list(entries)
    return sum(map(is_status_write, kept)) - sum(map(is_change, kept))  # type: ignore[arg-type]


def slowest(gaps: Iterable[Gap], count: int = 10) -> list[Gap]:
    return sorted(gaps, key=lambda gap: -gap.seconds)[:count]


def _within(moment: float, stretches: Iterable[Stretch]) -> bool:
    return any(each.began <= moment < each.ended for each in stretches)


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 1)
