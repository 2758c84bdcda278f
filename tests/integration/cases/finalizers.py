"""How authors hold an object until they have cleaned up, with what `ctx.client` offers."""

from __future__ import annotations

from shards import Context
from shards.objects import Object, Resource

MINE = "websites.example.com/cleanup"


def finalizers_of(body: Object) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())


async def hold(ctx: Context, primary: Resource, body: Object, finalizer: str) -> None:
    """The primary stays until the finalizer leaves. body: as this run has read or written it."""
    await _patch(ctx, primary, body, [*finalizers_of(body), finalizer])


async def leave(ctx: Context, primary: Resource, body: Object, finalizer: str) -> None:
    """The primary may go as far as this finalizer is concerned. body: as this run has read or written it."""
    await _patch(ctx, primary, body, [each for each in finalizers_of(body) if each != finalizer])


async def _patch(ctx: Context, primary: Resource, body: Object, finalizers: list[str]) -> None:
    # The version says of which body this is the list; else it would be taken for one of what was read last.
    metadata = {"finalizers": finalizers, "resourceVersion": body["metadata"]["resourceVersion"]}
    await ctx.client.patch(primary, body["metadata"]["name"], {"metadata": metadata})
