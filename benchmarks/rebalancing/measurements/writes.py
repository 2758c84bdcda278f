"""What moves cost the API server: a pod joins and leaves a fleet whose parcels nobody changes, so that every write of
the fleet is about the moves.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.rebalancing.bench import Bench, on_each_server, say
from benchmarks.rebalancing.evidence import Spent, handovers, spent
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import Stage, staged
from benchmarks.table import Row

PODS = ("pod-0", "pod-1")
GUEST = "pod-2"
SHARDS = 12
OBJECTS = 600
RUNS = 2
"""A run: it comes and goes."""
SETTLE_SECONDS = 4.0

LEASES_A_MOVE = 3
MAPS_A_ROUND = 1


async def measure(bench: Bench) -> list[Row]:
    async def on(server: BenchServer) -> list[Row]:
        async with staged(server, "writes", bench.directory) as stage:
            return await _rows(stage, bench)

    return await on_each_server(bench, "writes", on)


async def _rows(stage: Stage, bench: Bench) -> list[Row]:
    await stage.depot.fill(bench.size(OBJECTS, 100))
    stage.configure(shards=SHARDS, per_pod=1)
    members = [f"{pod}-0" for pod in PODS]
    for pod in PODS:
        stage.start(pod)
    await stage.until_even(members, SHARDS)
    await asyncio.sleep(SETTLE_SECONDS)
    rounds: list[tuple[int, Spent]] = []
    for _ in range(bench.size(RUNS, 1)):
        rounds.append(await _round(stage, members, joins=True))
        rounds.append(await _round(stage, members, joins=False))
    name = stage.server.name
    return [
        Row(f"moves, by a pod that joins and leaves, {name}", sum(moves for moves, _ in rounds), "moves"),
        Row(f"writes of shard Leases a move, worst round, {name}", _worst_per_move(rounds), "", LEASES_A_MOVE),
        Row(f"writes of the map a round, worst, {name}", max(cost.maps for _, cost in rounds), "", MAPS_A_ROUND),
        Row(f"writes of objects, all rounds, {name}", sum(cost.objects for _, cost in rounds), "", 0),
        Row(f"other writes but Leases of members and coordinator, {name}", sum(c.others for _, c in rounds), "", 0),
        Row(f"Kubernetes Events, all rounds, {name}", sum(cost.events for _, cost in rounds), "events"),
    ]


def _worst_per_move(rounds: list[tuple[int, Spent]]) -> float:
    return max(round(cost.shard_leases / max(moves, 1), 3) for moves, cost in rounds)


async def _round(stage: Stage, members: list[str], *, joins: bool) -> tuple[int, Spent]:
    """Moves, and what was written for them."""
    began = time.time()
    if joins:
        stage.start(GUEST)
        await stage.until_even([*members, f"{GUEST}-0"], SHARDS)
    else:
        await asyncio.to_thread(stage.pods[GUEST].terminate)
        await stage.until_even(members, SHARDS)
    await asyncio.sleep(SETTLE_SECONDS)
    cost = spent(stage.writes(), began, time.time())
    moves = sum(1 for gap in handovers(stage.notes()) if gap.began >= began)
    say(f"{stage.server.name}: {'joined' if joins else 'left'}, {moves} moves, {cost}")
    return moves, cost
