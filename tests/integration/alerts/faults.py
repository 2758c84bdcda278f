"""What may be wrong with a fleet, each with the alert that is to tell it.

A fault is put in force on a fleet that is well, and stays. Everything in it is a word of docs/faults.md, or what an
author's code, a machine or an administrator does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayAnswers, DelayEvents, ExpireWatch, LostAck, Refuse, Silence
from shards import Context, Controller, NotReadyYet, Request, Result
from shards.objects import Key, Object, Resource
from shards.queue.suspects import DEATHS
from shards.settings import ClientSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.alerts.scraped_fleet import AGENT, ScrapedFleet
from tests.integration.small_fleet import WEBSITES, website

CONFIGMAPS = Resource.parse("v1/configmaps")
LEASES = Resource.parse("coordination.k8s.io/v1/leases")
MEMBERS = ("web-0", "web-1")
Injection = Callable[["Scene"], Awaitable[None]]


@dataclass
class Scene:
    """A fleet with sites, and what is told to the authors' code. happens: by the site's name, what its reconcile does
    before anything else."""

    fleet: ScrapedFleet
    happens: dict[str, Callable[[Context], Awaitable[Result | None]]] = field(default_factory=dict)
    broken_transform: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def sites(self) -> Controller:
        made = Controller("websites", primary=str(WEBSITES), transform=self._transform).owns(str(CONFIGMAPS))
        made.reconcile(self._reconcile)
        return made

    async def change(self, name: str, count: int) -> None:
        await self.fleet.client.merge_patch(WEBSITES, "default", name, {"spec": {"html": f"<p>{count}</p>"}})

    def meanwhile(self, again: Callable[[int], Awaitable[None]], every_seconds: float) -> None:
        """Does that again and again."""

        async def loop() -> None:
            count = 0
            while True:
                await again(count)
                count += 1
                await asyncio.sleep(every_seconds)

        self.tasks.append(asyncio.create_task(loop()))

    def _transform(self, body: Object) -> None:
        if self.broken_transform:
            raise KeyError("no such field")

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        site = ctx.store.get()
        if site is None:
            return None
        happens = self.happens.get(request.name) or self.happens.get("*")
        if happens is not None and (result := await happens(ctx)) is not None:
            return result
        await ctx.client.ensure(CONFIGMAPS, page(request.name, site["spec"]["html"]))
        generation = site["metadata"]["generation"]
        if (site.get("status") or {}).get("observedGeneration") != generation:
            await ctx.client.patch_status({"observedGeneration": generation})
        return None


def page(name: str, html: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"index.html": html}}


async def slow_server(scene: Scene) -> None:
    requests = Match(verbs=("get", "list", "create", "update", "patch", "delete"))
    scene.fleet.server.faults.inject(DelayAnswers(match=requests, seconds=2.0))


async def broken_watch(scene: Scene) -> None:
    scene.fleet.server.faults.inject(Silence(match=Match(verbs=("watch",), resource=str(WEBSITES))))


async def blind_view(scene: Scene) -> None:
    scene.fleet.server.faults.inject(Silence(match=Match(verbs=("watch", "list"), resource=str(WEBSITES))))


async def late_events(scene: Scene) -> None:
    scene.fleet.server.faults.inject(DelayEvents(match=Match(resource=str(WEBSITES)), seconds=30.0))


async def unsettled_write(scene: Scene) -> None:
    """The answer to one write is lost, and nobody may read what became of it."""
    faults, site = scene.fleet.server.faults, Match(verbs=("get",), resource=str(WEBSITES), name="site-3")
    faults.inject(Refuse(match=site, status=403))
    faults.inject(
        LostAck(match=Match(verbs=("patch",), resource=str(WEBSITES), name="site-3", subresource="status"), times=1)
    )
    await scene.change("site-3", 1)


async def hot_key(scene: Scene) -> None:
    scene.meanwhile(lambda count: scene.change("site-3", count), 0.4)


async def slow_reconciles(scene: Scene) -> None:
    async def works(ctx: Context) -> None:
        await asyncio.sleep(8.0)

    scene.happens["*"] = works


async def failing_key(scene: Scene) -> None:
    async def fails(ctx: Context) -> None:
        raise ValueError("wrong")

    scene.happens["site-3"] = fails
    await scene.change("site-3", 1)


async def quarantined_key(scene: Scene) -> None:
    site = await scene.fleet.client.get(WEBSITES, "default", "site-3")
    key = Key("default", "site-3", site["metadata"]["uid"])
    for runtime in scene.fleet.runtimes.values():
        runtime.suspects.follow({("websites", key): DEATHS})
    await scene.change("site-3", 1)


async def waiting_key(scene: Scene) -> None:
    async def waits(ctx: Context) -> None:
        raise NotReadyYet("waits for a certificate")

    scene.happens["site-3"] = waits
    await scene.change("site-3", 1)


async def broken_hook(scene: Scene) -> None:
    scene.broken_transform = True


async def growing_queue(scene: Scene) -> None:
    """More is to be done than one slot can do, of what takes four seconds each."""

    async def works(ctx: Context) -> None:
        await asyncio.sleep(4.0)

    async def creates(count: int) -> None:
        await scene.fleet.client.create(WEBSITES, "default", website(f"more-{count}"))

    scene.happens["*"] = works
    scene.meanwhile(creates, 0.55)


async def many_deletions(scene: Scene) -> None:
    """A reconcile that deletes what it has just created, of every site, every second."""

    async def undecided(ctx: Context) -> Result:
        name = ctx.request.name
        if ctx.store.get(CONFIGMAPS, name) is not None:
            await ctx.client.delete(CONFIGMAPS, name)
        else:
            await ctx.client.ensure(CONFIGMAPS, page(name, ""))
        return Result(requeue_after_seconds=1.0)

    scene.happens["*"] = undecided
    for index in range(20):
        await scene.change(f"site-{index}", 1)


async def deletions_that_were_too_many(scene: Scene) -> None:
    """For a minute, and nobody wants any more of them."""
    await many_deletions(scene)
    await scene.fleet.scrape_for(60)
    scene.happens.clear()


async def bursts_of_deletions(scene: Scene) -> None:
    """A page is deleted and made anew some three times a second, for three quarters of a minute in every four."""

    async def recreates(ctx: Context) -> Result:
        name = ctx.request.name
        if loop_seconds() % 240.0 < 45.0:
            if ctx.store.get(CONFIGMAPS, name) is not None:
                await ctx.client.delete(CONFIGMAPS, name)
            else:
                await ctx.client.ensure(CONFIGMAPS, page(name, ""))
        return Result(requeue_after_seconds=0.5)

    scene.happens["*"] = recreates
    for index in range(20):
        await scene.change(f"site-{index}", 1)


async def restored_server(scene: Scene) -> None:
    """From a backup that was made five minutes ago."""
    backup = scene.fleet.server.storage.snapshot()

    async def restores() -> None:
        await asyncio.sleep(300)
        scene.fleet.server.storage.restore(backup)

    scene.tasks.append(asyncio.create_task(restores()))


async def low_limit(scene: Scene) -> None:
    for runtime in scene.fleet.runtimes.values():
        runtime.limiter.change(ClientSettings(requests_per_second=0.4))
    scene.meanwhile(lambda count: scene.change(f"site-{count % 20}", count), 1.5)


async def no_members(scene: Scene) -> None:
    for member in MEMBERS:
        await scene.fleet.crash(member)


async def no_coordinator(scene: Scene) -> None:
    await scene.fleet.crash(AGENT)
    scene.fleet.coordinator = None


async def hidden_leases(scene: Scene) -> None:
    """The permission to see Leases is taken from the agents; the workers keep theirs."""
    leases = Match(member=AGENT, verbs=("get", "list", "watch"), resource=str(LEASES))
    scene.fleet.server.faults.inject(Refuse(match=leases, status=403))
    scene.fleet.server.faults.inject(ExpireWatch(match=leases))


async def stubborn_worker(scene: Scene) -> None:
    """A worker goes on under an epoch that is over: what it says itself gives it away."""
    worker = scene.fleet.members["web-1"]
    told = worker.status

    def stubborn() -> dict[str, Any]:
        said = told()
        return {**said, "shards": {name: {**each, "epoch": 0} for name, each in said["shards"].items()}}

    worker.status = stubborn  # type: ignore[method-assign]


async def dying_worker(scene: Scene) -> None:
    async def dies(count: int) -> None:
        await scene.fleet.crash("web-1")
        scene.fleet.join("web-1", reaped=True)

    scene.meanwhile(dies, 60.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """inject: how it comes about. alert: that is to tell it. minutes: for which it is looked at. slots: of a member.

    also: alerts that fire for a while besides, and rightly.
    """

    inject: Injection
    alert: str
    minutes: int
    slots: int = 8
    also: frozenset[str] = frozenset()


FAULTS = {
    "a slow API server": Fault(slow_server, "ShardfleetApiServerSlow", 11),
    "a watch that brings nothing": Fault(broken_watch, "ShardfleetWatchBroken", 12),
    "a view that nothing brings up to date": Fault(blind_view, "ShardfleetViewStale", 11),
    "a watch that is late": Fault(late_events, "ShardfleetViewLags", 11),
    "a write that nobody can settle": Fault(unsettled_write, "ShardfleetGateHoldsKeys", 11),
    "an object that changes all the time": Fault(hot_key, "ShardfleetHotKey", 14),
    "a reconcile that takes its time": Fault(slow_reconciles, "ShardfleetReconcilesSlow", 18),
    "a reconcile that fails": Fault(failing_key, "ShardfleetKeysKeepFailing", 13),
    "a reconcile that ended three workers": Fault(quarantined_key, "ShardfleetKeysQuarantined", 10),
    "a reconcile that is never ready": Fault(waiting_key, "ShardfleetKeysWait", 18),
    "a transform that raises": Fault(broken_hook, "ShardfleetHooksFail", 10),
    "more work than can be done": Fault(growing_queue, "ShardfleetQueueGrows", 17, slots=1),
    "a controller that deletes without end": Fault(many_deletions, "ShardfleetDeletionsPaused", 11),
    "a controller that deletes too much every few minutes": Fault(
        bursts_of_deletions, "ShardfleetDeletionsInterrupted", 26
    ),
    "a server that was restored from a backup": Fault(
        # Everybody waits a lease before joining again (decision 23), after a silent watch was noticed.
        restored_server,
        "ShardfleetHistoryLost",
        14,
        also=frozenset({"ShardfleetRangesUnowned"}),
    ),
    "a limit of requests that is too low": Fault(low_limit, "ShardfleetRequestsHeldBack", 15),
    "pods that are gone": Fault(no_members, "ShardfleetRangesUnowned", 10),
    "an agent that is gone": Fault(no_coordinator, "ShardfleetNoCoordinator", 10),
    "Leases that no agent may see": Fault(hidden_leases, "ShardfleetOwnersUnseen", 10),
    "a worker that does not let go": Fault(stubborn_worker, "ShardfleetTwoOwners", 10),
    "a worker that dies again and again": Fault(dying_worker, "ShardfleetWorkerRestarts", 10),
}
