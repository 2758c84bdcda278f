"""A controller to which everything happens that a metric counts, each to the Website of that name."""

from __future__ import annotations

import asyncio
import time

from shards import Context, Controller, Request, Result, TerminalError
from shards.objects import Meta
from shards.stores.indexes import Index


def nobody(meta: Meta) -> tuple[str, ...]:
    raise ValueError("this index is broken")


websites = Controller(
    "websites",
    primary="demo.shardfleet.dev/v1/websites",
    transform=lambda _: time.sleep(0.006),
    indexes=[Index("broken", nobody)],
    reconcile_timeout_seconds=0.5,
)


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> Result | None:
    site = ctx.store.get()
    if site is None:
        return None
    if request.name == "fails":
        raise ValueError
    if request.name == "terminal":
        raise TerminalError("spec.html is wrong")
    if request.name == "hangs":
        await asyncio.sleep(60)
    if request.name == "looks":
        await ctx.live.get("demo.shardfleet.dev/v1/websites", request.name)
    if request.name == "deletes":
        await ctx.client.delete("v1/secrets", "nothing")
    if request.name == "writes":
        looks = (site.get("status") or {}).get("observedGeneration", 0)
        await ctx.client.patch_status({"observedGeneration": looks + 1})
    return Result(requeue_after_seconds=0.001)
