"""A controller to whose Websites every death happens that a reconcile can cause, by the name of the object.

`segv`, `hog`, `block` and `exit` end their worker, until there is a file of that name in $MENDED. The others are
innocent: `slow-*` takes its time, so that it is in flight when somebody else's worker dies.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from shards import Context, Controller, Request

websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")

MIB = 2**20


def fill_memory() -> None:
    """Until the kernel ends the process; where it has no limit, as it would."""
    filled = []
    for _ in range(int(os.environ.get("HOG_MIB", "0")) // 64):
        filled.append(b"x" * (64 * MIB))
    os.kill(os.getpid(), signal.SIGKILL)


def block() -> None:
    time.sleep(600)


def crash() -> None:
    ctypes.string_at(0)


def end() -> None:
    os._exit(0)


KILLERS: dict[str, Callable[[], None]] = {"segv": crash, "hog": fill_memory, "block": block, "exit": end}


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None:
        return
    kind = request.name.partition("-")[0]
    if kind in KILLERS and not (Path(os.environ["MENDED"]) / request.name).exists():
        await asyncio.sleep(0.05)  # others begin meanwhile, and are in flight when it happens
        KILLERS[kind]()
    if kind == "slow":
        await asyncio.sleep(0.5)
    await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})
