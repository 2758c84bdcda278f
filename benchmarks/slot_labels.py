"""What slot labels save one worker of four: children that it receives and holds, bytes, CPU and memory.

    python -m benchmarks.slot_labels [children] [shards] [events]

local: one watch for all shards of the worker, out of which it takes its own. slot-labels: a watch for each shard, which
the server filters. The server is a list and a row of events in memory, filtered by label as a real one does, so that
only the client's cost is measured. Each variant runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from benchmarks.shared_stream import PAGE, rss_mib
from shards.authoring.context import Context
from shards.authoring.controller import Controller
from shards.keyrange import equal_boundaries, ranges_from, slot_of
from shards.metrics import ShardMetrics
from shards.objects import SLOT_LABEL
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard

WORKERS = 4


def child(number: int, uid: str, owner: str, version: int) -> str:
    metadata = {
        "name": f"child-{number}",
        "namespace": f"ns-{number % 50}",
        "uid": uid,
        "resourceVersion": str(version),
        "labels": {SLOT_LABEL: slot_of(owner)},
        "ownerReferences": [
            {"apiVersion": "demo/v1", "kind": "Thing", "name": f"thing-{number}", "uid": owner, "controller": True}
        ],
    }
    return json.dumps({"metadata": metadata, "kind": "ConfigMap", "data": {"text": f"{number:08d}" * 90}})


class Memory:
    """A transport without a network. received: children that were sent, and their bytes."""

    def __init__(self, count: int, events: int) -> None:
        rng = random.Random(1)

        def uid() -> str:
            return str(uuid.UUID(int=rng.getrandbits(128)))

        self.children = [(uid(), uid()) for _ in range(count)]
        self.texts = [child(number, own, owner, 100 + number) for number, (own, owner) in enumerate(self.children)]
        self.slots = [slot_of(owner) for _, owner in self.children]
        self.version = 100 + count
        self.events = []
        for index in range(events):
            number = rng.randrange(count)
            text = child(number, *self.children[number], self.version + 1 + index)
            self.events.append((self.slots[number], f'{{"type":"MODIFIED","object":{text}}}\n'))
        bookmark = {"metadata": {"resourceVersion": str(self.version + events + 1)}}
        self.last = f'{{"type":"BOOKMARK","object":{json.dumps(bookmark)}}}\n'
        self.go = asyncio.Event()
        self.received = self.bytes = self.watches = 0

    async def request(self, method: str, path: str, *, query: Any = (), **_: Any) -> bytes:
        await asyncio.sleep(0)
        asked = dict(query)
        texts: list[str] = []
        if "configmaps" in path:
            wanted = _slots(asked)
            labelled = zip(self.texts, self.slots, strict=True)
            texts = [text for text, slot in labelled if wanted is None or slot in wanted]
        at = int(asked.get("continue", "0"))
        page, more = texts[at : at + PAGE], at + PAGE < len(texts)
        body = (
            f'{{"kind":"List","metadata":{{"resourceVersion":"{self.version}",'
            f'"continue":"{at + PAGE if more else ""}"}},"items":[{",".join(page)}]}}'
        ).encode()
        self.received += len(page)
        self.bytes += len(body)
        return body

    @asynccontextmanager
    async def stream(self, path: str, *, query: Any = (), **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        wanted = _slots(dict(query))
        children = "configmaps" in path
        self.watches += children

        async def chunks() -> AsyncIterator[bytes]:
            await self.go.wait()
            lines = [line for slot, line in self.events if children and (wanted is None or slot in wanted)]
            for at in range(0, len(lines), 20):
                chunk = "".join(lines[at : at + 20]).encode()
                self.received += len(lines[at : at + 20])
                self.bytes += len(chunk)
                yield chunk
                await asyncio.sleep(0)
            yield self.last.encode()
            await asyncio.get_running_loop().create_future()

        yield chunks()

    async def close(self) -> None: ...


def _slots(query: dict[str, str]) -> set[str] | None:
    """Those of the label selector; None: it has none."""
    selector = query.get("labelSelector", "")
    return set(selector[selector.index("(") + 1 : -1].split(",")) if "(" in selector else None


async def measure(word: str, count: int, shards: int, events: int) -> dict[str, Any]:
    controller = Controller("things", primary="demo/v1/things").owns("v1/configmaps")

    @controller.reconcile
    async def reconcile(ctx: Context) -> None: ...

    memory = Memory(count, events)
    runtime = WorkerRuntime(
        transport=memory,
        clock=time.monotonic,
        rng=random.Random(2),
        settings=ShardSettings(slot_labels=word),
        metrics=ShardMetrics(CollectorRegistry()),
        slots=Slots(8),
    )
    own = ranges_from(equal_boundaries(shards))[: max(1, shards // WORKERS)]
    made = [Shard(each, [controller], runtime, "w") for each in own]
    before, cpu = rss_mib(), time.process_time()
    await asyncio.gather(*(shard.prewarm() for shard in made))
    listed, after = time.process_time() - cpu, rss_mib()
    received_in_lists = memory.received
    cpu = time.process_time()
    memory.go.set()
    last = str(memory.version + events + 1)
    stores = [shard.views["v1/configmaps"].store for shard in made]
    while not all(store.resource_version == last for store in stores):  # noqa: ASYNC110 - nothing tells when all are there
        await asyncio.sleep(0.02)
    followed = time.process_time() - cpu
    held = sum(map(len, stores))
    for shard in made:
        await shard.stop()
    return {
        "children": count,
        "shards": len(own),
        "watches": memory.watches,
        "received by lists": received_in_lists,
        "received by watches": memory.received - received_in_lists,
        "MB received": round(memory.bytes / 1e6, 1),
        "held": held,
        "list CPU s": round(listed, 2),
        "event CPU s": round(followed, 2),
        "MiB": round(after - before, 1),
    }


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        sys.stdout.write(json.dumps(asyncio.run(measure(words[1], *map(int, words[2:])))))
        return
    numbers = [*words, *("20000", "16", "20000")[len(words) :]]
    for name, word in (("local", "off"), ("slot-labels", "on")):
        made = subprocess.run(
            [sys.executable, "-m", "benchmarks.slot_labels", "--one", word, *numbers],
            check=True,
            capture_output=True,
            text=True,
        )
        sys.stdout.write(f"{name:12} {made.stdout}\n")


if __name__ == "__main__":
    main()
