"""10,000 keys, one of which its own write never comes back to: what the others notice of it.

Ten minutes of virtual time with 50 changes a second at random; a reconcile takes about an eighth of a second, so that
three quarters of the worker's slots are taken and keys queue for them. The same seed gives both runs the same changes
and the same durations; the only difference is a fault of the server that hides one object's events.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

import msgspec

from benchmarks.staleness.evidence import live_reads, most_within, p99
from benchmarks.staleness.virtual_worker import ORDERS, VirtualWorker, moments, working
from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.words import HideEvents
from shards.authoring.controller import Context, Controller, Request, Result
from shards.journal import Note
from shards.testing.virtual_time import loop_seconds, run_virtually

KEYS = 10_000
SECONDS = 600.0
CHANGES_PER_SECOND = 50.0
WORK_SECONDS = 0.12
"""Mean of a reconcile that has something to do; exponential."""

POLL_SECONDS = 1.0
"""How often the key that becomes stale wants to be reconciled. A key that nobody asks for would cost nothing."""

TAIL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. stale: whether the write of the last key stays hidden."""

    stale: bool
    gate: bool = True
    keys: int = KEYS
    seconds: float = SECONDS
    seed: int = 1


class Watched(msgspec.Struct, frozen=True):
    """What one run showed.

    wait_p99_ms: of the other keys, from being ready to their start. waits: how many. stale_runs: reconciles of the
    key that polls; on_old_view: those of them that did not see its last write. stale_reads, other_reads: live reads.
    most_reads_an_interval: the most of that key's within any one probe interval.
    """

    wait_p99_ms: float
    waits: int
    stale_runs: int
    on_old_view: int
    stale_reads: int
    most_reads_an_interval: int
    other_reads: int


class _Waits:
    """A journal that keeps how long keys waited, and nothing else."""

    on = True

    def __init__(self) -> None:
        self.found: list[tuple[str, float]] = []

    def write(self, note: Note) -> None:
        if note.what == "started":
            self.found.append((note.uid, note.seconds))


class _Author:
    """Carries out one revision after the other: works for a while, then writes down which it was.

    polled: the name of the key that asks to be run again. runs, old: its reconciles; those on an old view.
    """

    def __init__(self, seed: int, polled: str) -> None:
        self.polled = polled
        self.runs = self.old = 0
        self._seed = seed
        self._wrote = 0

    def controller(self) -> Controller:
        orders = Controller("orders", primary=str(ORDERS))
        orders.reconcile(self._reconcile)
        return orders

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        seen = ctx.store.get()
        if seen is None:
            return None
        polled = request.name == self.polled
        if polled:
            self.runs += 1
            self.old += int(seen["metadata"]["resourceVersion"]) < self._wrote
        revision = seen["spec"]["revision"]
        if seen.get("status", {}).get("revision", 0) != revision:
            # By what is done and not by when, so that every run takes as long for it.
            drawn = random.Random(f"{self._seed} {request.name} {revision}")
            await asyncio.sleep(drawn.expovariate(1 / WORK_SECONDS))
            written = await ctx.client.patch_status({"revision": revision})
            if polled:
                self._wrote = int(written["metadata"]["resourceVersion"])
        return Result(requeue_after_seconds=POLL_SECONDS) if polled else None


def watched(plan: Plan, interval_seconds: float) -> Watched:
    """interval_seconds: between two probes of a key that the gate holds back."""
    return run_virtually(_watched(plan, interval_seconds))


async def _watched(plan: Plan, interval_seconds: float) -> Watched:
    waits, author = _Waits(), _Author(plan.seed, f"order-{plan.keys - 1:05d}")
    async with working(author.controller(), plan.keys, gate=plan.gate, journal=waits) as worker:
        uid = worker.uid_of(author.polled)
        await _begin(plan, worker, author.polled)
        waits.found.clear()
        began = loop_seconds()
        rng = random.Random(plan.seed)
        for pause in moments(rng, CHANGES_PER_SECOND, plan.seconds):
            await asyncio.sleep(pause)
            name = worker.names[rng.randrange(plan.keys - 1)]
            await _change(worker, name, rng.randrange(1, 1 << 30))
        await asyncio.sleep(plan.seconds + TAIL_SECONDS - (loop_seconds() - began))
        reads = live_reads(worker.recorder.entries)
    others = [seconds for each, seconds in waits.found if each != uid]
    own = reads.pop(uid, [])
    return Watched(
        p99(others) * 1e3,
        len(others),
        author.runs,
        author.old,
        len(own),
        most_within(own, interval_seconds),
        sum(map(len, reads.values())),
    )


async def _begin(plan: Plan, worker: VirtualWorker, name: str) -> None:
    """The key has something to do; in a stale run, nothing that it writes about it comes back."""
    changed = await _change(worker, name, 1)
    if plan.stale:
        after = int(changed) + 1
        match = Match(verbs=("watch",), resource=str(ORDERS))
        worker.server.faults.inject(HideEvents(match=match, events=Events(name=name, first_version=after)))


async def _change(worker: VirtualWorker, name: str, revision: int) -> str:
    """Returns the version that the order has then."""
    changed = await worker.user.merge_patch(ORDERS, "default", name, {"spec": {"revision": revision}})
    version: str = changed["metadata"]["resourceVersion"]
    return version
