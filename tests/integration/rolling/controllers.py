"""Controllers for fleets whose pods come and go: one that is quick, with slow objects, and one in threads.

Environment: PATIENCE, seconds that a reconcile of an object called `slow-...` takes.
"""

from __future__ import annotations

import asyncio
import os
import time

from shards import Context, Controller, Request
from shards.authoring.plain_context import PlainContext
from shards.objects import Object

PATIENCE_SECONDS = float(os.environ.get("PATIENCE", "1.0"))

websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None or not _is_due(site):
        return
    if request.name.startswith("slow-"):
        await asyncio.sleep(PATIENCE_SECONDS)
    await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


in_threads = Controller("websites", primary="demo.shardfleet.dev/v1/websites")


@in_threads.reconcile
def reconcile_in_thread(ctx: PlainContext, request: Request) -> None:
    site = ctx.store.get()
    if site is None or not _is_due(site):
        return
    if request.name.startswith("slow-"):
        time.sleep(PATIENCE_SECONDS)  # cannot be cancelled
    ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


def _is_due(site: Object) -> bool:
    status, metadata = site.get("status") or {}, site["metadata"]
    return bool(status.get("observedGeneration") != metadata["generation"])
