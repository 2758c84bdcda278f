"""A controller with one page for each site, for tests of what is done to pages on an old view."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from shards import Context, Controller, Request
from shards.objects import Object
from tests.integration.real_stage import PAGES, SITES, Stage, seen

KEPT, EXPIRED = "kept", "expired"


@dataclass
class Author:
    """One page for each site. A site whose order is `clean` loses its page once that has expired; one whose order is
    `mark` has it marked then. Decides by its view alone.

    decided: what the page said at each decision, by site. hasty: deletes without the fleet's client, as a script would.
    going_on: what each reconcile waits for in its middle. begun: how many there were.
    """

    decided: dict[str, list[str]] = field(default_factory=dict)
    generated: bool = False
    hasty: Stage | None = None
    going_on: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0

    def __post_init__(self) -> None:
        self.going_on.set()

    def controller(self) -> Controller:
        sites = Controller("sites", primary=str(SITES)).owns(str(PAGES))
        sites.reconcile(self._reconcile)
        return sites

    async def _reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        order = site["spec"]["act"]
        self.begun += 1
        await self.going_on.wait()
        # Before what it may not be allowed to do: status goes on while destructive acts are paused.
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})
        owned = ctx.store.owned(PAGES)
        if not owned:
            if order != "clean":
                await self._create(ctx, request)
            return
        [page] = owned
        text = page["data"]["text"]
        self.decided.setdefault(request.name, []).append(text)
        if text == EXPIRED and order == "mark":
            await ctx.client.patch(PAGES, page["metadata"]["name"], {"data": {"mark": "seen"}})
        elif text == EXPIRED and order == "clean":
            await self._clean(ctx, page)

    async def _create(self, ctx: Context, request: Request) -> None:
        metadata = {"generateName": f"{request.name}-"} if self.generated else {"name": request.name}
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": KEPT}}
        await ctx.client.create(PAGES, body, allow_generate_name=self.generated)

    async def _clean(self, ctx: Context, page: Object) -> None:
        name = page["metadata"]["name"]
        if self.hasty is None:
            await ctx.client.delete(PAGES, name)
        else:
            await self.hasty.hand.delete(PAGES, self.hasty.namespace, name)


async def put_up(stage: Stage, author: Author, *names: str, text: str) -> None:
    """Sites with their pages, which say that, as the view has it."""
    for name in names:
        await stage.put_up(name)
    for name in names:
        await seen(lambda name=name: author.decided.get(name), f"{name} has a page")  # type: ignore[misc]
        if text != KEPT:
            await stage.write_page(name, text)
            await seen(lambda name=name: author.decided[name][-1] == text, f"the page of {name} says {text}")  # type: ignore[misc]
