"""The controller that experiments are made with: a Site is made of pages, which are ConfigMaps.

    fleet dev chaos/operator/sites.py:sites

Beside that, a site can be trouble, as objects of real operators are: `spec.trouble` says which. See docs/chaos.md.
"""

import asyncio
import os
import time
from typing import Any

from shards import Context, Controller, Request

PAGES = "v1/configmaps"

sites = Controller("sites", primary="chaos.shardfleet.dev/v1/sites")
sites.owns(PAGES)


@sites.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None:
        return  # deleted: the API server removes its pages
    spec = site["spec"]
    await _trouble(spec)
    wanted = {f"{request.name}-{index}" for index in range(spec["pages"])}
    for name in sorted(wanted):
        await ctx.client.ensure(PAGES, {"metadata": {"name": name}, "data": {"text": spec["text"]}})
    for page in ctx.store.owned(PAGES):
        if page["metadata"]["name"] not in wanted:
            await ctx.client.delete(PAGES, page["metadata"]["name"])
    status = {"pages": spec["pages"], "text": spec["text"], "observedGeneration": site["metadata"]["generation"]}
    await ctx.client.patch_status(status)


async def _trouble(spec: dict[str, Any]) -> None:
    seconds = spec.get("seconds", 0)
    match spec.get("trouble"):
        case "slow":  # waits for somebody else, as an author's code should
            await asyncio.sleep(seconds)
        case "blocking":  # holds the event loop, as no author's code should
            time.sleep(seconds)  # noqa: ASYNC251 - it is what is tried
        case "poison":  # takes its process with it
            os._exit(1)
        case "failing":
            raise RuntimeError("this site cannot be made")
