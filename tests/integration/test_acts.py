"""Acts that cannot be taken back, in a fleet: across handovers and crashes, with lost answers and late watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.match import Verb
from fleet.devcluster.faults.words import DelayEvents, LostAck, Refuse
from shards import Context, Controller, Request, Result
from shards.errors import Conflict
from shards.objects import Object, Resource
from shards.ownership.acts import Acts
from shards.ownership.degraded import marked
from shards.settings import BreakerSettings, GateSettings, ShardSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

DEPLOYMENTS = Resource.parse("apps/v1/deployments")
CONFIG_MAPS = Resource.parse("v1/configmaps")
LEASES = Resource.parse("coordination.k8s.io/v1/leases")
SETTINGS = ShardSettings(gate=GateSettings(breaker=BreakerSettings(failures_to_open=2)))


def deployment(name: str, replicas: int) -> Object:
    labels = {"site": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@dataclass
class Scalers:
    """Controllers that keep a deployment at the number of replicas that its website asks for; 0: deleted."""

    conflicts: int = 0

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES)).owns(str(DEPLOYMENTS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            if site is None:
                return
            wanted = site["spec"]["replicas"]
            held = ctx.store.get(DEPLOYMENTS, request.name)
            try:
                if held is None and wanted:
                    await ctx.client.create(DEPLOYMENTS, deployment(request.name, wanted))
                elif held is not None and not wanted:
                    await ctx.client.delete(DEPLOYMENTS, held, reads=[site])
                elif held is not None:
                    await ctx.client.scale(DEPLOYMENTS, held, wanted, reads=[site])
            except Conflict:
                self.conflicts += 1
                raise

        return websites


def scales(fleet: SmallFleet) -> list[Any]:
    return fleet.writes(DEPLOYMENTS, "scale")


def deletions(fleet: SmallFleet) -> list[Any]:
    return [entry for entry in fleet.writes(DEPLOYMENTS) if entry.verb == "delete"]


async def asks(fleet: SmallFleet, name: str, replicas: int) -> None:
    await fleet.client.merge_patch(WEBSITES, "default", name, {"spec": {"replicas": replicas}})


async def has(fleet: SmallFleet, name: str) -> int:
    found = await fleet.client.list(DEPLOYMENTS, "default")
    return sum(each["spec"]["replicas"] for each in found["items"] if each["metadata"]["name"] == name)


async def test_each_change_is_one_scale_though_every_watch_is_late() -> None:
    scalers = Scalers()
    async with running(SmallFleet(scalers.controller, settings=SETTINGS), "worker-a", "worker-b") as fleet:
        fleet.server.faults.inject(DelayEvents(seconds=1.0, match=Match(resource=str(DEPLOYMENTS))))
        for number in range(6):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}", replicas=3))
        await asyncio.sleep(10)
        for replicas in (5, 2, 4, 1):
            for number in range(6):
                await asks(fleet, f"site-{number}", replicas)
            await asyncio.sleep(20)
            assert [await has(fleet, f"site-{number}") for number in range(6)] == [replicas] * 6
        assert len(scales(fleet)) == 4 * 6


async def after_a_late_decision() -> tuple[list[int], int]:
    """On the late view it was 3, and 2 was one fewer; it is 9 by now, which the author would leave alone.

    Returns what the author saw, and how many there are in the end.
    """
    seen: list[int] = []

    def controller(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES)).owns(str(DEPLOYMENTS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            held = ctx.store.get(DEPLOYMENTS, request.name)
            if site is None:
                return
            if held is None:
                await ctx.client.create(DEPLOYMENTS, deployment(request.name, 3))
                return
            seen.append(held["spec"]["replicas"])
            if site["spec"]["replicas"] == 2 and held["spec"]["replicas"] == 3:
                await ctx.client.scale(DEPLOYMENTS, held, 2)

        return websites

    async with running(SmallFleet(controller, settings=SETTINGS), "worker-a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("shop", replicas=3))
        await asyncio.sleep(5)
        late = fleet.server.faults.inject(DelayEvents(match=Match(resource=str(DEPLOYMENTS))))
        await fleet.client.merge_patch(DEPLOYMENTS, "default", "shop", {"spec": {"replicas": 9}}, "scale")
        await asks(fleet, "shop", 2)
        await asyncio.sleep(10)
        replicas = await has(fleet, "shop")
        late.release()
        return seen, replicas


async def test_a_scale_down_is_not_done_to_what_somebody_else_has_scaled_up() -> None:
    seen, replicas = await after_a_late_decision()
    assert (seen[-1], replicas) == (9, 9)


async def test_without_the_comparison_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live read alone helps nobody: its version would carry the old decision through (Patroni 3718)."""
    monkeypatch.setattr(Acts, "compare", lambda self, basis, found: None)
    _, replicas = await after_a_late_decision()
    assert replicas == 2


@pytest.mark.parametrize(
    ("verb", "sent", "before", "after"), [("delete", deletions, 1, 0), ("patch", scales, 4, 1)], ids=["delete", "scale"]
)
async def test_an_act_whose_answer_was_lost_is_sent_once(
    verb: Verb, sent: Callable[[SmallFleet], list[Any]], before: int, after: int
) -> None:
    scalers = Scalers()
    async with running(SmallFleet(scalers.controller, settings=SETTINGS), "worker-a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("shop", replicas=before))
        await asyncio.sleep(5)
        fleet.server.faults.inject(LostAck(match=Match(verbs=(verb,), resource=str(DEPLOYMENTS)), times=1))
        fleet.server.faults.inject(DelayEvents(seconds=5.0, match=Match(resource=str(DEPLOYMENTS))))
        await asks(fleet, "shop", after)
        await asyncio.sleep(20)
        assert await has(fleet, "shop") == after
        assert len(sent(fleet)) == 1


async def test_what_one_member_had_to_pause_the_next_owner_does_and_clears() -> None:
    """A breaker is of one worker: who can ask the server acts."""
    scalers = Scalers()

    async def mark(fleet: SmallFleet) -> bool:
        found = await fleet.client.get(WEBSITES, "default", "shop")
        return marked(found.get("status", {}).get("conditions"))

    async with running(SmallFleet(scalers.controller, settings=SETTINGS), "worker-a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("shop", replicas=2))
        await asyncio.sleep(5)
        blind = Match(verbs=("get",), resource=str(DEPLOYMENTS), member="worker-a")
        also = Match(verbs=("get",), resource=str(WEBSITES), member="worker-a")
        for match in (blind, also):
            fleet.server.faults.inject(Refuse(status=503, match=match))
        await asks(fleet, "shop", 0)
        await asyncio.sleep(30)
        assert await mark(fleet)
        assert await has(fleet, "shop") == 2
        fleet.join("worker-b")
        await fleet.leave("worker-a")
        await eventually(lambda: len(deletions(fleet)) == 1, within_seconds=30, what="the new owner deletes")
        await asyncio.sleep(5)
        assert not await mark(fleet)
        assert await has(fleet, "shop") == 0


@dataclass
class Cloud:
    """What lives outside the API: who acts on it, from when to when."""

    seconds: float
    visits: list[tuple[str, float, float, str]] = field(default_factory=list)

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES), degraded_condition=False)

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> Result | None:
            site = ctx.store.get()
            if site is None or "ok" in [how for *_, how in self.visits]:
                return None
            async with ctx.confirmed(site, reason="failover"):
                began, how = loop_seconds(), "cancelled"
                try:
                    await asyncio.sleep(self.seconds)
                    how = "ok"
                finally:
                    self.visits.append((member, began, loop_seconds(), how))
            return None

        return websites


async def test_two_owners_are_never_in_the_block_at_once_when_the_shard_moves() -> None:
    cloud = Cloud(seconds=8.0)
    async with running(SmallFleet(cloud.controller, settings=SETTINGS), "worker-a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await asyncio.sleep(2)
        fleet.join("worker-b")
        await fleet.leave("worker-a")
        await asyncio.sleep(30)
        (first, _, ended, how), *others = cloud.visits
        assert (first, how) == ("worker-a", "cancelled")
        assert [(member, how) for member, _, _, how in others] == [("worker-b", "ok")]
        assert all(began >= ended for _, began, _, _ in others)


async def test_a_lease_is_watched_from_the_beginning_by_whoever_takes_over() -> None:
    taken: list[tuple[str, float]] = []

    def controller(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            if not taken and await ctx.confirm_lease_expired("default", "database"):
                taken.append((member, loop_seconds()))

        return websites

    async with running(SmallFleet(controller, settings=SETTINGS), "worker-a") as fleet:
        spec = {"holderIdentity": "old", "leaseDurationSeconds": 20}
        await fleet.client.create(LEASES, "default", {"metadata": {"name": "database"}, "spec": spec})
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await asyncio.sleep(15)
        fleet.join("worker-b")
        await fleet.leave("worker-a")
        await fleet.all_open()
        moved = loop_seconds()
        await asyncio.sleep(15)
        assert taken == []
        await asyncio.sleep(15)
        [(member, at)] = taken
        assert member == "worker-b"
        assert moved + 19 < at < moved + 22
