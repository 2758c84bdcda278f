"""A controller with the worst manners: the Website named `blocker` stops the event loop for a minute, once."""

from __future__ import annotations

import os
import time
from pathlib import Path

from shards import Context, Controller, Request

websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")


def block_once() -> None:
    marker = Path(os.environ["BLOCKED_ONCE"])
    if not marker.exists():
        marker.touch()
        time.sleep(60)


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None:
        return
    if request.name == "blocker":
        block_once()
    await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})
