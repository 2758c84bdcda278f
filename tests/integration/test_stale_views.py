"""Never act on a stale view: what a held-back watch must not cause, shown on the embedded server in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from fleet.devcluster.recording.journal import Entry
from shards import Context, Controller, Request, Result
from shards.objects import Object, Resource
from shards.settings import GateSettings, ShardSettings
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

CONFIG_MAPS = Resource.parse("v1/configmaps")
PAGES = Match(resource="v1/configmaps")


def page_of(site: Object) -> Object:
    return {"metadata": {"name": site["metadata"]["name"]}, "data": {"index.html": site["spec"]["html"]}}


def pages(fleet: SmallFleet) -> list[Entry]:
    """Writes of pages; the map is a ConfigMap too."""
    return [entry for entry in fleet.writes(CONFIG_MAPS) if entry.name != "web-map"]


class Runs:
    """Controllers that note every reconcile: (member, what the view showed)."""

    def __init__(self, *, again_seconds: float = 0.2) -> None:
        self.again_seconds = again_seconds
        self.seen: list[tuple[str, Object | None]] = []

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))
        websites.owns(str(CONFIG_MAPS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> Result | None:
            site = ctx.store.get()
            self.seen.append((member, site))
            if site is None:
                return None
            if not ctx.store.owned("v1/configmaps"):
                # On purpose without a look at what is there already: only the view says whether to create.
                await ctx.client.create("v1/configmaps", page_of(site))
            if not site.get("status"):
                await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})
            return Result(requeue_after_seconds=self.again_seconds)

        return websites


async def test_a_key_waits_while_its_own_write_has_not_come_back() -> None:
    runs = Runs()
    async with running(SmallFleet(runs.controller, shards=1), "a") as fleet:
        hold = fleet.server.faults.inject(DelayEvents(match=PAGES))
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await eventually(lambda: len(runs.seen) == 1, within_seconds=1, what="the first reconcile")
        await asyncio.sleep(1.5)
        assert len(runs.seen) == 1
        [shard] = [runner.shard for runner in fleet.members["a"].runners.values() if runner.shard is not None]
        assert shard.load()["parked"] == 1
        hold.release()
        await eventually(lambda: len(runs.seen) > 1, within_seconds=1, what="the next reconcile")
        assert len(pages(fleet)) == 1
        assert len(fleet.writes(WEBSITES, "status")) == 1


async def test_a_view_that_never_catches_up_is_settled_by_a_live_read() -> None:
    runs = Runs()
    async with running(SmallFleet(runs.controller, shards=1), "a") as fleet:
        # Events that would wake the key come a minute late, the Website's own first one aside.
        fleet.server.faults.inject(DelayEvents(match=PAGES, seconds=60.0))
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await asyncio.sleep(20)
        verdict = fleet.verdict()
        assert len(runs.seen) > 1
        assert verdict.duplicate_child_posts == 0
        assert verdict.duplicate_status_writes == 0
        assert len(pages(fleet)) == 1


async def test_without_the_gate_the_same_history_posts_a_child_twice() -> None:
    runs = Runs()
    settings = ShardSettings(gate=GateSettings(enabled=False))
    fleet = SmallFleet(runs.controller, shards=1, settings=settings, breaks=frozenset({"I3", "I11"}))
    async with running(fleet, "a"):
        fleet.server.faults.inject(DelayEvents(match=PAGES))
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await eventually(lambda: len(runs.seen) > 1, within_seconds=5, what="a second reconcile")
        assert fleet.verdict().duplicate_child_posts > 0


async def _handed_over(enabled: bool) -> tuple[list[Object], str]:
    """One key goes from a to b while b's watches stand still. What b saw first, and the version that a wrote last."""
    seen_by_b: list[Object] = []
    going_on = asyncio.Event()
    busy = asyncio.Event()

    def make(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            if site is None or (site.get("status", {}).get("phase") == "done" and member == "a"):
                return
            if member == "b":
                seen_by_b.append(site)
                return
            busy.set()
            await going_on.wait()
            await ctx.client.patch_status({"ready": 7})

        return websites

    settings = ShardSettings(gate=GateSettings(enabled=enabled, live_read_after_seconds=3600.0))
    async with running(SmallFleet(make, shards=1, settings=settings), "a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await eventually(busy.is_set, within_seconds=2, what="a is in the middle of its reconcile")
        hold = fleet.server.faults.inject(DelayEvents(match=Match(member="b", resource=str(WEBSITES))))
        fleet.join("b")
        b = fleet.members["b"]
        await eventually(lambda: b.member.holder is not None, within_seconds=5, what="b joins")
        # a leaves as soon as b stands by; its reconcile is still under way then, and writes while it drains.
        leaving = asyncio.create_task(fleet.leave("a"))
        await eventually(
            lambda: any(record.standby is not None for record in b.view.shards.values()),
            within_seconds=10,
            what="b stands by",
        )
        going_on.set()
        await leaving
        [wrote] = fleet.writes(WEBSITES, "status", member="a")
        if enabled:
            await asyncio.sleep(30)
            assert not seen_by_b
            hold.release()
        await eventually(lambda: bool(seen_by_b), within_seconds=5, what="b reconciles")
    return seen_by_b, wrote.resource_version


async def test_a_new_owner_waits_until_its_view_has_reached_the_old_owners_watermark() -> None:
    seen, wrote = await _handed_over(enabled=True)
    assert seen[0]["status"]["ready"] == 7
    assert int(seen[0]["metadata"]["resourceVersion"]) >= int(wrote)


async def test_without_the_gate_a_new_owner_decides_on_an_older_view() -> None:
    seen, wrote = await _handed_over(enabled=False)
    assert int(seen[0]["metadata"]["resourceVersion"]) < int(wrote)
