"""What the fleet of the stopped workers does: each parcel says in its address which kind of write its reconcile makes.

A parcel is got ready at the first stamp, and acted upon at the second.
"""

from __future__ import annotations

from shards import Context, Controller, Request

READY, ACT = 1, 2
NEEDS_CHILD = ("update", "delete", "apply")

parcels = Controller("parcels", primary="bench.shardfleet.dev/v1/parcels")
parcels.owns("v1/configmaps")


@parcels.reconcile
async def reconcile(ctx: Context, request: Request) -> None:
    parcel = ctx.store.get()
    if parcel is None or parcel["spec"]["stamp"] < READY:
        return
    kind, stamp = parcel["spec"]["address"], parcel["spec"]["stamp"]
    child = ctx.store.get("v1/configmaps", request.name)
    desired = {"metadata": {"name": request.name}, "data": {"stamp": str(stamp)}}
    if stamp == READY:
        if kind in NEEDS_CHILD and child is None:
            await ctx.client.create("v1/configmaps", desired)
    elif kind == "status":
        await ctx.client.patch_status({"stamp": stamp})
    elif kind == "create" and child is None:
        await ctx.client.create("v1/configmaps", desired)
    elif kind == "update" and child is not None and child["data"] != desired["data"]:
        await ctx.client.update("v1/configmaps", child | {"data": desired["data"]})
    elif kind == "delete" and child is not None:
        await ctx.client.delete("v1/configmaps", request.name)
    elif kind == "apply" and child is not None:
        await ctx.client.ensure("v1/configmaps", desired)
