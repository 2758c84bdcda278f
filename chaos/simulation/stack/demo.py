"""The operator that runs in the stack: sites with pages, in every way in which a reconcile can write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from chaos.simulation.stack.cloud import Cloud
from shards import Context, Controller, Request
from shards.objects import Object, Resource

SITES = Resource("demo.shardfleet.dev", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NAMESPACE = "default"
FINALIZER = "demo.shardfleet.dev/address"

MODES = ("create", "ensure", "generate", "rented")
"""How its pages are made; a rented site has an address outside the cluster besides, and a finalizer for it."""

_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: Object = {
    "metadata": {"name": "websites.demo.shardfleet.dev"},
    "spec": {
        "group": SITES.group,
        "scope": "Namespaced",
        "names": {"plural": SITES.plural, "kind": "Website"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, "subresources": {"status": {}}}
        ],
    },
}

Begins = Callable[[Context, Request], None]
"""Told of every reconcile as it begins."""
Decides = Callable[[Request, Object], None]
"""Told of every object that is to be deleted, as it was when that was decided."""


def site_controller(begins: Begins, decides: Decides, cloud: Cloud) -> Controller:
    """Pages as many as the spec says, with its text; the status says so. Never looks anywhere but into its view."""
    sites = Controller("websites", primary=str(SITES)).owns(str(PAGES))

    @sites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        begins(ctx, request)
        site = ctx.store.get()
        if site is None:
            return
        spec = site["spec"]
        if site["metadata"].get("deletionTimestamp"):
            await _give_back(ctx, request, site, cloud)
            return
        if spec.get("seconds"):
            await asyncio.sleep(spec["seconds"])
        if spec["mode"] == "rented":
            await _rent(ctx, request, site, cloud)
        if spec["mode"] == "generate":
            surplus = await _generated(ctx, spec)
        else:
            surplus = await _named(ctx, request, spec)
        for page in surplus:
            decides(request, page)
            await ctx.client.delete(PAGES, page["metadata"]["name"])
        await ctx.client.patch_status({"pages": spec["pages"], "text": spec["text"]})

    return sites


async def _rent(ctx: Context, request: Request, site: Object, cloud: Cloud) -> None:
    """The finalizer is there before anything is."""
    if FINALIZER not in site["metadata"].get("finalizers", ()):
        await _finalizers(ctx, request, site, [*site["metadata"].get("finalizers", ()), FINALIZER])
    await cloud.rent(request.uid)


async def _give_back(ctx: Context, request: Request, site: Object, cloud: Cloud) -> None:
    finalizers = site["metadata"].get("finalizers", [])
    if FINALIZER in finalizers:
        async with ctx.confirmed(site, reason="give-back"):
            await cloud.give_back(request.uid)
        await _finalizers(ctx, request, site, [each for each in finalizers if each != FINALIZER])


async def _finalizers(ctx: Context, request: Request, site: Object, wanted: list[str]) -> None:
    version = site["metadata"]["resourceVersion"]
    patch: dict[str, Any] = {"metadata": {"finalizers": wanted or None, "resourceVersion": version}}
    await ctx.client.patch(SITES, request.name, patch)


async def _named(ctx: Context, request: Request, spec: Object) -> list[Object]:
    """Returns those that are too many."""
    pages = {each["metadata"]["name"]: each for each in ctx.store.owned(PAGES)}
    wanted = [f"{request.name}-{index}" for index in range(spec["pages"])]
    for name in wanted:
        body: Object = {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": spec["text"]}}
        if spec["mode"] != "create":
            await ctx.client.ensure(PAGES, body)
        elif name not in pages:
            await ctx.client.create(PAGES, body)
        elif pages[name].get("data") != body["data"]:
            await ctx.client.patch(PAGES, name, {"data": body["data"]})
    return [pages[name] for name in sorted(pages.keys() - set(wanted))]


async def _generated(ctx: Context, spec: Object) -> list[Object]:
    """As ReplicaSets do it: only the number counts. Returns those that are too many."""
    pages = sorted(ctx.store.owned(PAGES), key=lambda page: str(page["metadata"]["name"]))
    for _ in range(len(pages), spec["pages"]):
        body = {"kind": "ConfigMap", "metadata": {"generateName": "page-"}, "data": {"text": spec["text"]}}
        await ctx.client.create(PAGES, body, allow_generate_name=True)
    return pages[spec["pages"] :]
