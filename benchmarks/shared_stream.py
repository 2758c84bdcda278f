"""What the shards of one worker cost where the server does not filter: with a stream of their own each, and shared.

    python -m benchmarks.shared_stream [objects] [shards] [events]

The server is a list of pages and a chunk of events in memory, so that only the client's CPU and memory are measured.
Each variant runs in a process of its own. Loop lag: how late a task that wants to run every 5 ms does while the
list comes in.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from prometheus_client import CollectorRegistry

from shards.authoring.context import Context
from shards.authoring.controller import Controller
from shards.keyrange import equal_boundaries, ranges_from
from shards.metrics import ShardMetrics
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard

PAGE = 500
TICK_SECONDS = 0.005


def thing(number: int, uid: str, version: int) -> str:
    metadata = {
        "name": f"thing-{number}",
        "namespace": f"ns-{number % 50}",
        "uid": uid,
        "resourceVersion": str(version),
    }
    body = {"metadata": metadata, "kind": "Thing", "apiVersion": "demo/v1", "spec": {"text": f"{number:08d}" * 90}}
    return json.dumps(body)


class Memory:
    """A transport without a network."""

    def __init__(self, count: int, events: int) -> None:
        rng = random.Random(1)
        uids = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(count)]
        self.pages = [
            [thing(number, uids[number], 100 + number) for number in range(first, min(first + PAGE, count))]
            for first in range(0, count, PAGE)
        ]
        self.version = 100 + count
        numbers = [rng.randrange(count) for _ in range(events)]
        lines = [
            f'{{"type":"MODIFIED","object":{thing(number, uids[number], self.version + index)}}}\n'
            for index, number in enumerate(numbers, start=1)
        ]
        self.chunks = ["".join(lines[at : at + 20]).encode() for at in range(0, len(lines), 20)]
        self.go = asyncio.Event()
        self.lists = self.watches = 0

    async def request(self, method: str, path: str, *, query: Any = (), **_: Any) -> bytes:
        at = int(dict(query).get("continue", "0"))
        self.lists += at == 0
        after = str(at + 1) if at + 1 < len(self.pages) else ""
        await asyncio.sleep(0)
        head = f'{{"kind":"ThingList","metadata":{{"resourceVersion":"{self.version}","continue":"{after}"}},"items":['
        return (head + ",".join(self.pages[at]) + "]}").encode()

    @asynccontextmanager
    async def stream(self, path: str, **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.watches += 1

        async def chunks() -> AsyncIterator[bytes]:
            await self.go.wait()
            for chunk in self.chunks:
                yield chunk
                await asyncio.sleep(0)
            await asyncio.get_running_loop().create_future()

        yield chunks()

    async def close(self) -> None: ...


def rss_mib() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


class Calls:
    """The longest call of the loop by its own CPU time: what the machine's other processes take does not count."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest_seconds = max(self.longest_seconds, time.thread_time() - began)

        setattr(asyncio.Handle, "_run", timed)  # noqa: B010 - every call of the loop passes here


async def ticking(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        late.append(max(0.0, time.perf_counter() - due))


async def measure(count: int, shards: int, events: int) -> dict[str, Any]:
    controller = Controller("things", primary="demo/v1/things")

    @controller.reconcile
    async def reconcile(ctx: Context) -> None: ...

    memory = Memory(count, events)
    runtime = WorkerRuntime(
        transport=memory,
        clock=time.monotonic,
        rng=random.Random(2),
        settings=ShardSettings(),
        metrics=ShardMetrics(CollectorRegistry()),
        slots=Slots(8),
    )
    made = [Shard(each, [controller], runtime, "w") for each in ranges_from(equal_boundaries(shards))]
    await asyncio.sleep(0)
    late: list[float] = []
    calls = Calls()
    before, cpu = rss_mib(), time.process_time()
    ticker = asyncio.create_task(ticking(late))
    await asyncio.gather(*(shard.prewarm() for shard in made))
    listed, after = time.process_time() - cpu, rss_mib()
    lags = sorted(late)
    cpu = time.process_time()
    memory.go.set()
    last = str(memory.version + events)
    stores = [view.store for shard in made for view in shard.views.values()]
    while not all(store.resource_version == last for store in stores):  # noqa: ASYNC110 - nothing tells when all are there
        await asyncio.sleep(0.02)
    followed = time.process_time() - cpu
    ticker.cancel()
    for shard in made:
        await shard.stop()
    return {
        "lists": memory.lists,
        "watches": memory.watches,
        "list CPU s": round(listed, 2),
        "CPU per event us": round(followed / events * 1e6, 1),
        "MiB": round(after - before, 1),
        "longest call ms": round(calls.longest_seconds * 1e3, 1),
        "lag p99 ms": round(lags[int(len(lags) * 0.99)] * 1e3, 1),
        "lag max ms": round(lags[-1] * 1e3, 1),
    }


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        with patch("shards.shard_views.can_share", lambda source: words[1] == "shared"):
            sys.stdout.write(json.dumps(asyncio.run(measure(*map(int, words[2:])))))
        return
    numbers = [*words, *("20000", "16", "20000")[len(words) :]]
    for variant in ("own", "shared"):
        made = subprocess.run(
            [sys.executable, "-m", "benchmarks.shared_stream", "--one", variant, *numbers],
            check=True,
            capture_output=True,
            text=True,
        )
        sys.stdout.write(f"{variant:7} {made.stdout}\n")


if __name__ == "__main__":
    main()
