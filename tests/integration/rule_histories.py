"""Histories that show whether a rule of the product is kept: what reconciles do, and what happens to the fleet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents, ExpireWatch, Refuse, StaleReplica
from fleet.devcluster.recording.journal import Level
from shards import Context, Controller, Request
from shards.objects import Resource
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, website

CONFIG_MAPS = Resource.parse("v1/configmaps")
LEASES = "coordination.k8s.io/v1/leases"

Does = Callable[[Context, Request, "Author"], Awaitable[None]]
History = Callable[[SmallFleet, "Author"], Awaitable[None]]


@dataclass
class Author:
    """What the reconciles do. going_on: they wait for it."""

    does: Does
    going_on: asyncio.Event = field(default_factory=asyncio.Event)
    runs: int = 0

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))
        websites.owns(str(CONFIG_MAPS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            self.runs += 1
            await self.does(ctx, request, self)

        return websites


# -- what reconciles do ------------------------------------------------------------------------------------------------


async def note_generation(ctx: Context, request: Request, author: Author) -> None:
    site = ctx.store.get()
    if site is not None:
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


async def note_it_later(ctx: Context, request: Request, author: Author) -> None:
    site = ctx.store.get()
    if site is not None:
        await author.going_on.wait()
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


async def fail_at_first(ctx: Context, request: Request, author: Author) -> None:
    await asyncio.sleep(0.05)
    if author.runs < 7:
        raise ValueError("a bug")


async def pages(ctx: Context, request: Request, author: Author) -> None:
    site = ctx.store.get()
    if site is None:
        return
    wanted = {f"{request.name}-{index}" for index in range(site["spec"]["replicas"])}
    for name in sorted(wanted):
        await ctx.client.ensure(CONFIG_MAPS, {"metadata": {"name": name}})
    for page in ctx.store.owned(CONFIG_MAPS):
        if page["metadata"]["name"] not in wanted:
            await ctx.client.delete(CONFIG_MAPS, page["metadata"]["name"])


async def post_a_page(ctx: Context, request: Request, author: Author) -> None:
    """On purpose without a look at what is there: only the view says whether to create."""
    site = ctx.store.get()
    if site is not None and not ctx.store.owned(CONFIG_MAPS):
        await ctx.client.create(CONFIG_MAPS, {"metadata": {"name": request.name}})
    if site is not None:
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


# -- what happens ------------------------------------------------------------------------------------------------------


async def add(fleet: SmallFleet, name: str = "shop", **spec: Any) -> None:
    await fleet.client.create(WEBSITES, "default", website(name, **spec))


async def touch(fleet: SmallFleet, **spec: Any) -> None:
    await fleet.client.merge_patch(WEBSITES, "default", "shop", {"spec": spec})


async def cut_off_from_its_lease(fleet: SmallFleet, author: Author) -> None:
    """a is in the middle of a reconcile when it cannot renew any more; b takes over; a goes on."""
    await add(fleet)
    await eventually(lambda: author.runs == 1, within_seconds=5, what="a reconcile")
    fleet.join("b")
    await asyncio.sleep(1.0)
    cut = fleet.server.faults.inject(Refuse(match=Match(member="a", resource=LEASES), status=503))
    await eventually(lambda: "b" in fleet.open_ranges().values(), within_seconds=60, what="b takes over")
    author.going_on.set()
    await asyncio.sleep(1.0)
    cut.release()
    await asyncio.sleep(10.0)


async def told_to_wait(fleet: SmallFleet, author: Author) -> None:
    """The server asks for a pause, and the object changes before it is over."""
    refuses = Refuse(match=Match(member="a", verbs=("patch",)), times=1, status=503, retry_after_seconds=8)
    fleet.server.faults.inject(refuses)
    await add(fleet)
    for replicas in range(2, 6):
        await asyncio.sleep(1.0)
        await touch(fleet, replicas=replicas)
    await asyncio.sleep(10.0)


async def crash(fleet: SmallFleet, author: Author) -> None:
    fleet.join("b")
    fleet.join("c")
    await asyncio.sleep(5.0)
    await fleet.crash("a")
    await asyncio.sleep(40.0)


async def one_site(fleet: SmallFleet, author: Author) -> None:
    await add(fleet)
    await asyncio.sleep(10.0)


async def a_slow_watch(fleet: SmallFleet, author: Author) -> None:
    fleet.server.faults.inject(DelayEvents(match=Match(resource=str(CONFIG_MAPS)), seconds=1.0))
    await add(fleet)
    await asyncio.sleep(0.2)
    await touch(fleet, html="new")
    await asyncio.sleep(10.0)


async def a_replica_that_lags(fleet: SmallFleet, author: Author) -> None:
    """Its watches end, and their resume version is gone, when another front end, which stands still, answers."""
    stale = fleet.server.another("stale")
    await add(fleet)
    await asyncio.sleep(5.0)
    stale.cache.freeze()
    await touch(fleet, html="new")
    await asyncio.sleep(5.0)
    fleet.server.faults.inject(ExpireWatch(match=Match(member="a", resource=str(WEBSITES)), times=1))
    moved = fleet.server.faults.inject(StaleReplica(match=Match(member="a", verbs=("list",)), replica="stale"))
    await asyncio.sleep(2.0)
    stale.cache.thaw()
    moved.release()
    await asyncio.sleep(20.0)
    stale.close()


async def lists_in_pages(fleet: SmallFleet, author: Author) -> None:
    assert fleet.server.recorder is not None
    fleet.server.recorder.level = Level.DELIVERIES
    for number in range(6):
        await add(fleet, f"site-{number}")
    await asyncio.sleep(5.0)
    fleet.server.faults.inject(ExpireWatch(match=Match(member="a", resource=str(WEBSITES)), times=1))
    await asyncio.sleep(5.0)


async def a_leave(fleet: SmallFleet, author: Author) -> None:
    """a is told to leave while a reconcile of it runs."""
    await add(fleet)
    await eventually(lambda: author.runs == 1, within_seconds=5, what="a reconcile")
    fleet.join("b")
    await asyncio.sleep(5.0)
    leaving = asyncio.create_task(fleet.leave("a"))
    await asyncio.sleep(0.5)
    author.going_on.set()
    await leaving
    await asyncio.sleep(5.0)


async def many_deletions(fleet: SmallFleet, author: Author) -> None:
    await add(fleet, replicas=130)
    await asyncio.sleep(20.0)
    await touch(fleet, replicas=0)
    await asyncio.sleep(20.0)


async def a_change(fleet: SmallFleet, author: Author) -> None:
    await add(fleet)
    await asyncio.sleep(5.0)
    await touch(fleet, html="new")
    await asyncio.sleep(90.0)
