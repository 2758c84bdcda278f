"""The queue's ceiling: keys a second and core from put to done, alone and through a whole engine.

As the peers were measured: all keys are put in first, then drained without any work. The engine's row adds what a
reconcile costs before the author's function does anything: slot, gate, task, context, metrics.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import cast

import uvloop

from benchmarks.table import Row, conclude
from shards.api.client import Transport
from shards.authoring.controller import Context, Controller, Result
from shards.clock import boot_seconds
from shards.keyrange import WHOLE, PartitionKey
from shards.limits.breaker import TokenBucket
from shards.metrics import ShardMetrics
from shards.objects import Key, Resource
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.queue.workqueue import WorkQueue
from shards.reconciling.engine import Engine
from shards.runtime import WorkerRuntime
from shards.settings import QueueSettings, ScopeSettings, ShardSettings
from shards.stores.store import StoreWriter
from shards.watching.source import FilterMode, Source

ROUNDS = 5
KEYS = 200_000
ENGINE_KEYS = 20_000
TARGET = 85_000.0
"""Of controller-runtime's priority queue, put and drained, on the machine on which the peers were measured."""

WIDGETS = Resource("bench.shardfleet.dev", "v1", "widgets")


def keys(count: int) -> list[Key]:
    return [Key("default", f"widget-{number}", f"00000000-0000-0000-0000-{number:012d}") for number in range(count)]


def per_second(work: Callable[[], object], count: int) -> float:
    """Keys per second of CPU."""
    gc.collect()
    before = time.process_time()
    work()
    return count / (time.process_time() - before)


def put_to_done(each: Sequence[Key], *, low_priority: bool) -> None:
    queue = WorkQueue[Key](QueueSettings(), random.Random(1))
    for key in each:
        queue.add(key, 1.0, low_priority=low_priority)
    while (taken := queue.get(1.0)) is not None:
        queue.forget(taken)
        queue.done(taken, 1.0)


def failed_and_tried_again(each: Sequence[Key]) -> None:
    """Every key fails once: its delay, and the way back from it."""
    retries = TokenBucket(1e6, 1e6, 1.0)
    queue = WorkQueue[Key](QueueSettings(), random.Random(1), retries)
    for key in each:
        queue.add(key, 1.0)
    for now in (1.0, 3.0):
        while (taken := queue.get(now)) is not None:
            if now == 1.0:
                queue.add_rate_limited(taken, now)
            else:
                queue.forget(taken)
            queue.done(taken, now)


def engine_of(controller: Controller) -> Engine:
    """The controller's engine over a view of nothing, which asks no server for anything."""
    settings = ShardSettings()
    runtime = WorkerRuntime(
        transport=cast(Transport, None),
        clock=boot_seconds,
        rng=random.Random(1),
        settings=settings,
        metrics=ShardMetrics(),
        slots=Slots(settings.queue.max_concurrent_reconciles),
    )
    source = Source(
        resource=WIDGETS,
        range=WHOLE,
        partition_key=PartitionKey.UID,
        scope=ScopeSettings(),
        mode=FilterMode.LOCAL,
        role="primary",
        primary=None,
    )
    stores = {WIDGETS: StoreWriter(resource=WIDGETS).reader}
    return Engine(
        controller, WHOLE, runtime, stores, {WIDGETS: source}, lambda _: asyncio.Future(), current_at=runtime.clock
    )


async def through_an_engine(each: Sequence[Key]) -> None:
    controller = Controller("widgets", primary=str(WIDGETS))
    left, finished = len(each), asyncio.Event()

    @controller.reconcile
    async def nothing(ctx: Context) -> Result | None:
        nonlocal left
        left -= 1
        if not left:
            finished.set()
        return None

    engine = engine_of(controller)
    until = boot_seconds() + 3600.0
    engine.start(Tenure("bench", 1, WHOLE, 1, until=lambda: until))
    for key in each:
        engine.add(key, low_priority=True)
    await finished.wait()
    await engine.drain(1.0)


def measure() -> list[Row]:
    many, some = keys(KEYS), keys(ENGINE_KEYS)
    works: list[tuple[str, Callable[[], object], int, float | None]] = [
        ("queue, put to done", lambda: put_to_done(many, low_priority=False), KEYS, TARGET),
        ("queue, put to done, low priority", lambda: put_to_done(many, low_priority=True), KEYS, TARGET),
        ("queue, failed and tried again", lambda: failed_and_tried_again(many), KEYS, None),
        ("engine, put to done", lambda: uvloop.run(through_an_engine(some)), ENGINE_KEYS, None),
    ]
    found: dict[str, list[float]] = {name: [] for name, *_ in works}
    for _ in range(ROUNDS):
        for name, work, count, _target in works:
            found[name].append(per_second(work, count))
    return [
        Row(name, round(median(found[name])), "keys/s a core", target, at_least=True)
        for name, _work, _count, target in works
    ]


if __name__ == "__main__":
    sys.exit(conclude(measure()))
