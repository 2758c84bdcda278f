"""What the fleets of these rows look after: parcels, whose status says which stamp of their spec was seen last.

One write for each change and none without, so that the server's own record tells when a change was reconciled.
"""

from __future__ import annotations

from shards import Context, Controller, Request

UNSTAMPED = 0
"""Stamp of a parcel that nobody has changed yet: its reconcile writes nothing."""

parcels = Controller("parcels", primary="bench.shardfleet.dev/v1/parcels")


@parcels.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    parcel = ctx.store.get()
    if parcel is None or parcel["spec"]["stamp"] == UNSTAMPED:
        return
    stamp = parcel["spec"]["stamp"]
    if parcel.get("status", {}).get("stamp") != stamp:
        await ctx.client.patch_status({"stamp": stamp})
