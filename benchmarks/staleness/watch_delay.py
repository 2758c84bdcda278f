"""Watches that are late: how often something is done twice, with the gate and without, and what is read live for it.

The reconcile is of the kind that trusts its view: it creates what the view does not show, under a generated name that
protects from nothing, and then calls something outside, which cannot be undone. Each revision of an order is one
intent: one object and one call. Users change orders again and again right after a revision, so that keys run while
their own creates are on the way.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from benchmarks.staleness.evidence import beyond_once, creates, live_reads
from benchmarks.staleness.virtual_worker import CONFIG_MAPS, ORDERS, VirtualWorker, working
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from shards.authoring.controller import Context, Controller, Request
from shards.testing.virtual_time import run_virtually

KEYS = 12
REVISIONS = 8
REVISION_SECONDS = 12.0
"""From one revision of an order to the next."""

TOUCHES = (0.02, 0.04, 0.3, 0.9, 2.5, 6.0)
"""When an order is changed again after each of its revisions, in seconds."""

SETTLE_SECONDS = 60.0
"""After the last change, and what is delayed has arrived: nothing may be left to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. delay_seconds: of every event of every watch; 0 for none."""

    delay_seconds: float
    gate: bool
    keys: int = KEYS
    revisions: int = REVISIONS
    seed: int = 1


class Effects(msgspec.Struct, frozen=True):
    """What one run did.

    intents: revisions that were carried out; one that was replaced before anybody saw it is none. unfinished: orders
    whose last revision was not. duplicate_creates, duplicate_calls: objects and calls beyond one for each intent.
    """

    intents: int
    unfinished: int
    duplicate_creates: int
    duplicate_calls: int
    reconciles: int
    live_reads: int

    @property
    def duplicates(self) -> int:
        return self.duplicate_creates + self.duplicate_calls

    @property
    def reads_a_reconcile(self) -> float:
        return self.live_reads / self.reconciles


@dataclass(slots=True)
class _Author:
    """calls: of what is outside the API, by intent."""

    calls: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def controller(self) -> Controller:
        orders = Controller("orders", primary=str(ORDERS)).owns(str(CONFIG_MAPS))
        orders.reconcile(self._reconcile)
        return orders

    async def _reconcile(self, ctx: Context, request: Request) -> None:
        seen = ctx.store.get()
        self.runs += 1
        if seen is None or not seen["spec"]["revision"]:
            return
        intent = intent_of(request.name, seen["spec"]["revision"])
        if any(each["metadata"]["name"].startswith(f"{intent}-") for each in ctx.store.owned(CONFIG_MAPS)):
            return
        made = {"kind": "ConfigMap", "metadata": {"generateName": f"{intent}-"}, "data": {"intent": intent}}
        await ctx.client.create(CONFIG_MAPS, made, allow_generate_name=True)
        self.calls[intent] += 1


def intent_of(name: str, revision: int) -> str:
    return f"{name}-r{revision}"


def effects(plan: Plan) -> Effects:
    return run_virtually(_effects(plan))


async def _effects(plan: Plan) -> Effects:
    author = _Author()
    async with working(author.controller(), plan.keys, gate=plan.gate) as worker:
        author.runs = 0
        if plan.delay_seconds:
            worker.server.faults.inject(DelayEvents(match=Match(verbs=("watch",)), seconds=plan.delay_seconds))
        rng = random.Random(plan.seed)
        await asyncio.gather(*(_user(worker, name, plan, rng.uniform(0.0, REVISION_SECONDS)) for name in worker.names))
        await asyncio.sleep(plan.delay_seconds + SETTLE_SECONDS)
        entries = list(worker.recorder.entries)
    made = creates(entries, str(CONFIG_MAPS))
    last = {intent_of(name, plan.revisions) for name in worker.names}
    return Effects(
        len(made.keys() | author.calls.keys()),
        len(last - (made.keys() & author.calls.keys())),
        beyond_once(made),
        beyond_once(author.calls),
        author.runs,
        sum(map(len, live_reads(entries).values())),
    )


async def _user(worker: VirtualWorker, name: str, plan: Plan, begin_seconds: float) -> None:
    """Asks for one revision after the other, and meddles with the order after each."""
    await asyncio.sleep(begin_seconds)
    for revision in range(1, plan.revisions + 1):
        await worker.user.merge_patch(ORDERS, "default", name, {"spec": {"revision": revision}})
        before = 0.0
        for at in TOUCHES:
            await asyncio.sleep(at - before)
            before = at
            note = {"metadata": {"annotations": {"note": f"{revision} {at}"}}}
            await worker.user.merge_patch(ORDERS, "default", name, note)
        await asyncio.sleep(REVISION_SECONDS - before)
