"""How much memory a list of many objects takes, in a process of its own. Writes two numbers of MiB to standard output.

`python -m tests.integration.cases.relist_memory OBJECTS EVERY` lists them, then lists them again after a 410, when each
EVERY-th has changed: what the process holds steadily, and the most that it held meanwhile. The objects are made as they
are asked for, so that nothing but the informer's own is in the process.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shards.api.client import Query, Transport
from shards.errors import Expired
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.process_memory import collect_rarely
from shards.settings import ScopeSettings
from shards.watching.source import FilterMode, Source
from tests.integration.widgets import WIDGETS, page, widget


class Changing(Transport):
    """Every list finds each `every`-th object changed. expire: what the open watch waits for."""

    def __init__(self, objects: int, every: int) -> None:
        self.version = 1
        self._every = every
        self.expire = asyncio.Event()
        self._objects = objects

    async def request(self, method: str, path: str, *, query: Query = (), **options: Any) -> bytes:
        asked = dict(query)
        start, limit = int(asked.get("continue", "0")), int(asked["limit"])
        self.version += not start
        end = min(start + limit, self._objects)
        items = (widget(number, self._version_of(number)) for number in range(start, end))
        return page(items, self.version, str(end) if end < self._objects else "")

    def _version_of(self, number: int) -> int:
        return 1 if number % self._every else self.version

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._until_expired()

    async def _until_expired(self) -> AsyncIterator[bytes]:
        await self.expire.wait()
        self.expire.clear()
        raise Expired(410, "Expired", "too old resource version")
        yield b""

    async def close(self) -> None: ...


def resident_mib(field: str) -> float:
    """VmRSS: now. VmHWM: the most since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(field)]
    return int(line.split()[1]) / 1024.0


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def measured(objects: int, every: int) -> tuple[float, float]:
    collect_rarely()
    server = Changing(objects, every)
    moved = asyncio.Event()
    informer = Informer(
        server,
        Source(WIDGETS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary"),
        handler=lambda _: None,
        on_progress=moved.set,
        clock=time.monotonic,
        rng=random.Random(1),
        streams=False,
    )
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the first list left behind is nobody's
    steady = resident_mib("VmRSS")
    forget_peak()
    version = server.version
    server.expire.set()
    while informer.store.resource_version == str(version):
        moved.clear()
        await moved.wait()
    peak = resident_mib("VmHWM")
    assert len(informer.store) == objects
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return steady, peak


if __name__ == "__main__":
    steady, peak = asyncio.run(measured(int(sys.argv[1]), int(sys.argv[2])))
    sys.stdout.write(f"{steady} {peak}\n")
