"""This project as a peer: one shard with the whole key space in one process, as a worker of a fleet sets it up.

With PROFILE=<file> in the environment a sampled profile of it is written there: see sampler.py.
"""

import asyncio
import gc
import os
import random
import signal
import threading
import time

import protocol as p
import uvloop

from shards import Context, Controller, Request, Result
from shards.clock import boot_seconds
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Key
from shards.ownership.tenure import unfenced
from shards.process_memory import look_after_memory
from shards.queue.slots import Slots
from shards.queue.workqueue import WorkQueue
from shards.runtime import WorkerRuntime
from shards.settings import QueueSettings, ShardSettings
from shards.shard import Shard
from shards.transport.kube import connect

CHILDREN = "v1/configmaps"
book = p.Book(p.N)
widgets = Controller("widgets", primary=f"{p.GROUP}/{p.VERSION}/{p.PLURAL}")
if p.WORKLOAD == "work":
    widgets.owns(CHILDREN)


@widgets.reconcile
async def reconcile(ctx: Context, request: Request) -> Result | None:
    widget = ctx.store.get()
    if widget is None:
        return
    metadata = widget["metadata"]
    book.see(f"{request.namespace}/{request.name}", (metadata.get("annotations") or {}).get(p.STAMP))
    book.hit()
    if p.WORKLOAD == "work":
        await ctx.client.ensure(CHILDREN, {"metadata": {"name": request.name}, "data": {"name": request.name}})
        await ctx.client.patch_status({"phase": "Ready"})


def settings():
    return ShardSettings(queue=QueueSettings(max_concurrent_reconciles=p.CONCURRENCY))


async def tell_synced(shard):
    for view in shard.views.values():
        await view.informer.synced.wait()
    p.mark("synced", count=sum(len(view.store) for view in shard.views.values()))


async def run():
    look_after_memory()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: threading.Thread(target=p.collect).start())
    loop.add_signal_handler(signal.SIGUSR2, lambda: threading.Thread(target=book.flush).start())
    transport = await connect()
    chosen = settings()
    runtime = WorkerRuntime(
        transport=transport,
        clock=boot_seconds,
        rng=random.Random(),
        settings=chosen,
        metrics=ShardMetrics(),
        slots=Slots(chosen.queue.max_concurrent_reconciles),
        server_side_sharding=False,
    )
    shard = Shard(WHOLE, [widgets], runtime, "bench")
    told = asyncio.create_task(tell_synced(shard))
    # Without a standby's view from before: the first list serves the gate as well.
    opening = asyncio.create_task(shard.activate(unfenced("bench"), None, previous_epoch=0))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            await opening
            await stopping
    finally:
        opening.cancel()
        told.cancel()
        await shard.stop()
        await transport.close()


def ceiling():
    """The queue alone: all keys put in, then taken, forgotten and done, on the one thread that a loop has."""
    count = int(os.environ.get("KEYS") or 200_000)
    keys = [Key("bench-00", f"w-{i:07d}", f"uid-{i:07d}") for i in range(count)]
    queue = WorkQueue(settings().queue, random.Random())
    gc.collect()
    clock = boot_seconds
    began, cpu_began = time.perf_counter(), time.process_time()
    for key in keys:
        queue.add(key, clock())
    filled, cpu_filled = time.perf_counter(), time.process_time()
    while (key := queue.get(clock())) is not None:
        queue.forget(key)
        queue.done(key, clock())
    drained, cpu_drained = time.perf_counter(), time.process_time()
    p.mark(
        "queue",
        what="workqueue",
        keys=count,
        enqueue_s=filled - began,
        drain_s=drained - filled,
        enqueue_cpu_s=cpu_filled - cpu_began,
        drain_cpu_s=cpu_drained - cpu_filled,
    )


def main():
    p.mark("start")
    if p.WORKLOAD == "queue":
        ceiling()
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    p.mark("stopped")


if os.environ.get("PROFILE"):
    from sampler import sampled

    main = sampled(main, os.environ["PROFILE"])

main()
