"""Workers that stop (SIGSTOP) with a write on its way, for three leases, while others take over what they had.

Before the socket: a worker stops between its deadline check and the first byte; the write is sent when it wakes, long
after. In the proxy: the write is sent in time, and what is between worker and server holds it for as long. A Lease is
no fence for either: what keeps the write from doing harm is what it carries. Told by kind of write: how many the server
refused, how many it accepted, and whether any of these was written over what somebody else had written since. The
supervisors stand still too: one that runs kills a worker that is frozen past its deadline, and nothing is sent at all.
The admission fence is off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from benchmarks.rebalancing.actor import ACT, NEEDS_CHILD, READY
from benchmarks.rebalancing.bench import Bench, NotReached, on_each_server, say
from benchmarks.rebalancing.depot import PARCELS
from benchmarks.rebalancing.held_writes import CONFIG_MAPS, Tally, judge_hit, rows_of
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.rebalancing.stage import FLEET_NAME, BenchPod, Stage, staged
from benchmarks.rebalancing.stopping_pod import Hit
from benchmarks.table import Row
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Partition
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.records.coordination import CasConflict
from fleet.records.object_names import LEASES, Names
from shards.api.client import Client

ACTOR_FILE = Path(__file__).parents[1] / "actor.py"
STOPPING = (sys.executable, "-m", "benchmarks.rebalancing.stopping_pod", "run")
STOPPED, LEFT = "pod-a", "pod-b"
"""The pod whose workers stop, and the one that takes over. So never most of all members are silent at once (R12).
Workers of the first that did not stop may be given ranges as well; behind a proxy that holds writes they change
nothing, and the held write is then accepted."""
WORKERS = 5
SHARDS = 20
LEASE_SECONDS = 3.0
STOPPED_SECONDS = 3 * LEASE_SECONDS
TIMES = 50
"""Of each kind of write."""
MOST_ROUNDS = 3 * TIMES
PARCELS_A_KIND = 4
"""In each round: about half of them are the stopped pod's."""
HIT_SECONDS = 4.0
LAND_SECONDS = 4.0
"""For all that the proxy held to arrive before the workers go on: what comes later counts as begun later."""
HELD: tuple[Literal["create", "update", "patch", "delete"], ...] = ("create", "update", "patch", "delete")
PRIMARY_KINDS = ("status", "create", "update", "delete", "apply")


async def measure(bench: Bench) -> list[Row]:
    """All at the same time, both servers and both places: what is stopped costs nothing, and no second is measured."""
    found = await asyncio.gather(
        *(_on(replace(bench, servers=[server]), where) for server in bench.servers for where in ("before", "after"))
    )
    return [row for rows in found for row in rows]


async def _on(bench: Bench, where: str) -> list[Row]:
    async def measured(server: BenchServer) -> list[Row]:
        async with staged(server, f"stopped-{where}", bench.directory) as stage:
            return rows_of(await _stopped(stage, bench, where), server.name, where)

    return await on_each_server(bench, f"stopped_worker, {where} the socket", measured)


async def _stopped(stage: Stage, bench: Bench, where: str) -> Tally:
    wanted, tally = bench.size(TIMES, 1), Tally()
    stage.configure(
        shards=SHARDS,
        per_pod=WORKERS,
        controller=f"{ACTOR_FILE}:parcels",
        coordination={"leaseSeconds": LEASE_SECONDS},
        rebalance={"churnPerRound": 1.0, "cooldownSeconds": 1.0},
    )
    failpoints = stage.directory / "failpoints"
    failpoints.mkdir()
    stage.start(LEFT)  # first, so that the coordinator is there
    await stage.until_even([f"{LEFT}-{slot}" for slot in range(WORKERS)], SHARDS)
    async with _way_to(stage) as proxy:
        _start_stopping(stage, proxy, failpoints, where)
        for number in range(MOST_ROUNDS):
            missing = tally.missing(wanted)
            if not missing:
                break
            await _round(stage, tally, failpoints, proxy if where == "after" else None, number, missing)
            counts = ", ".join(f"{kind} {outcome.count}" for kind, outcome in tally.kinds.items())
            say(f"{stage.server.name}, {where}, round {number + 1}: {counts}")
    return tally


@contextlib.asynccontextmanager
async def _way_to(stage: Stage) -> AsyncIterator[FaultProxy]:
    """Between the stopping pod and the server, and nobody else."""
    proxy = await FaultProxy.start(await Upstream.of(str(stage.server.kubeconfig)))
    try:
        yield proxy
    finally:
        await proxy.close()


def _start_stopping(stage: Stage, proxy: FaultProxy, failpoints: Path, where: str) -> None:
    kubeconfig = stage.directory / "proxy"
    proxy.write_kubeconfig(kubeconfig, stage.namespace)
    pod = BenchPod(
        STOPPED,
        stage.config,
        kubeconfig,
        stage.directory,
        namespace=stage.namespace,
        environment={"FAILPOINTS": str(failpoints), "FAILPOINT_WHERE": where},
        command=STOPPING,
        rooms=stage.rooms,
    )
    stage.pods[STOPPED] = pod
    pod.__enter__()


async def _round(
    stage: Stage, tally: Tally, failpoints: Path, proxy: FaultProxy | None, number: int, missing: Sequence[str]
) -> None:
    """Each of the missing kinds at most once. proxy: that holds the requests; None: the workers do."""
    await stage.until_spread([f"{STOPPED}-{slot}" for slot in range(WORKERS)], SHARDS, within_seconds=120.0)
    armed = list(missing[: WORKERS - 1])
    if proxy is not None and {"shard Lease", "member Lease"} <= set(armed):
        armed.remove("member Lease")
    kinds = [kind for kind in PRIMARY_KINDS if kind in armed]
    client = Client(stage.transport, user_agent="hand")
    names = {f"act-{number}-{kind}-{i}": kind for kind in kinds for i in range(PARCELS_A_KIND)}
    await asyncio.gather(*(_prepared(client, stage.namespace, name, kind) for name, kind in names.items()))
    pod = stage.pods[STOPPED]
    assert pod.process is not None
    pod.process.send_signal(signal.SIGSTOP)
    held = await _held(stage, armed) if proxy is not None else []
    holds = [proxy.faults.inject(each) for each in held] if proxy is not None else []
    await asyncio.to_thread(_arm, failpoints, armed)
    act = {"spec": {"stamp": ACT}}
    await asyncio.gather(*(client.merge_patch(PARCELS, stage.namespace, name, act) for name in names))
    if "shard Lease" in armed:
        await _move_one(stage)
    hits = await asyncio.to_thread(_hits, failpoints, len(armed))
    await asyncio.sleep(STOPPED_SECONDS)
    woken_at = time.time()
    for hold in holds:
        hold.release()
    if holds:
        await asyncio.sleep(LAND_SECONDS)
    going_on = time.time()
    for hit in hits:
        with contextlib.suppress(ProcessLookupError):
            os.kill(hit.pid, signal.SIGCONT)
    await asyncio.sleep(LAND_SECONDS)
    pod.process.send_signal(signal.SIGCONT)
    await asyncio.sleep(0.5)
    entries = stage.writes()
    for hit in hits:
        judge_hit(tally, hit, entries, woken_at=woken_at, going_on=going_on)


async def _prepared(client: Client, namespace: str, name: str, kind: str) -> None:
    body = {
        "apiVersion": PARCELS.api_version,
        "kind": "Parcel",
        "metadata": {"name": name},
        "spec": {"stamp": READY, "address": kind},
    }
    await client.create(PARCELS, namespace, body)
    if kind not in NEEDS_CHILD:
        return
    for _ in range(300):
        found = await client.list(CONFIG_MAPS, namespace, query=[("fieldSelector", f"metadata.name={name}")])
        if found["items"]:
            return
        await asyncio.sleep(0.1)
    raise NotReached(f"{name} got no child")


async def _held(stage: Stage, armed: Iterable[str]) -> list[Partition]:
    """What the proxy holds. Writes only, since a deletion makes a read before it is sent; and renewals only where one
    of them is to stop a worker: without them none would have anything left to release."""
    stored = await stage.coordination.read_map()
    assert stored is not None, "a fleet whose ranges are open has a map"
    names = Names(FLEET_NAME, stage.namespace)
    leases = [names.shard(each) for each in stored.map.ranges]
    if "member Lease" in armed:
        leases += [names.member(f"{STOPPED}-{slot}") for slot in range(WORKERS)]
    objects = [Match(verbs=HELD, resource=str(each)) for each in (PARCELS, CONFIG_MAPS)]
    matches = [*objects, *(Match(verbs=HELD, resource=str(LEASES), name=name) for name in leases)]
    return [Partition(way="to_server", match=match) for match in matches]


async def _move_one(stage: Stage) -> None:
    """One range of the stopping pod gets a target in the other one: three writes of its Lease follow."""
    while True:
        stored = await stage.coordination.read_map()
        assert stored is not None, "a fleet whose ranges are open has a map"
        targets = list(stored.map.targets)
        mine = next((i for i, target in enumerate(targets) if target.startswith(STOPPED)), None)
        if mine is None:  # it has just been fenced, and is given something again in a moment
            await asyncio.sleep(0.2)
            continue
        targets[mine] = f"{LEFT}-0"
        new = replace(stored.map, version=stored.map.version + 1, targets=tuple(targets))
        try:
            await stage.coordination.write_map(new, stored.version)
        except CasConflict:
            continue
        return


def _arm(failpoints: Path, kinds: Iterable[str]) -> None:
    for old in failpoints.iterdir():
        old.unlink()
    for kind in kinds:
        (failpoints / f"{kind}.armed").touch()


def _hits(failpoints: Path, wanted: int) -> list[Hit]:
    """The workers that have stopped. What nobody took is taken back. Blocks."""
    until = time.monotonic() + HIT_SECONDS
    while time.monotonic() < until and len(list(failpoints.glob("*.json"))) < wanted:
        time.sleep(0.1)
    for armed in failpoints.glob("*.armed"):
        armed.unlink(missing_ok=True)
    time.sleep(0.2)
    return [msgspec.json.decode(file.read_bytes(), type=Hit) for file in failpoints.glob("*.json")]
