"""Feature gates are switched while a fleet runs: no gap, no double act, no key lost, no decision on a stale view."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.features import Canary, Feature
from shards.keyrange import KeyRange
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_stale_views import PAGES, Runs

pytestmark = pytest.mark.looptime

SHARDING = frozenset({Feature.SERVER_SIDE_SHARDING})


def switch(fleet: SmallFleet, **changes: Any) -> None:
    """On all members, as if each had read its config file."""
    for runtime in fleet.runtimes.values():
        runtime.change(replace(runtime.settings, **changes))


def watched(fleet: SmallFleet) -> dict[KeyRange, str]:
    """How each open shard's primaries are filtered."""
    return {
        each: str(runner.shard.views[str(WEBSITES)].source.mode)
        for worker in fleet.members.values()
        for each, runner in worker.runners.items()
        if isinstance(runner.shard, Shard) and runner.shard.open
    }


@dataclass
class Echo:
    """A controller that writes the generation into the status."""

    runs: list[tuple[str, str]] = field(default_factory=list)

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            self.runs.append((member, request.name))
            if site is not None:
                await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})

        return websites


async def all_observed(fleet: SmallFleet, count: int) -> bool:
    found = (await fleet.client.list(WEBSITES, "default"))["items"]
    done = [
        each for each in found if each.get("status", {}).get("observedGeneration") == each["metadata"]["generation"]
    ]
    return len(done) == count


@pytest.mark.parametrize("on_first", [True, False])
async def test_server_side_sharding_is_switched_shard_by_shard_while_objects_change(on_first: bool) -> None:
    echo = Echo()
    before, after = ("on", "off") if on_first else ("off", "on")
    settings = ShardSettings(server_side_sharding=before)
    async with running(SmallFleet(echo.controller, shards=8, settings=settings), "a", "b") as fleet:
        for number in range(40):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(1)
        modes = {"on": {"shard-selector"}, "off": {"local"}}
        assert set(watched(fleet).values()) == modes[before]
        switch(fleet, server_side_sharding=after)
        for number in range(40):
            await fleet.client.merge_patch(WEBSITES, "default", f"site-{number}", {"spec": {"replicas": 2 + number}})
            await asyncio.sleep(0.05)
        await eventually(
            lambda: len(fleet.open_ranges()) == 8 and set(watched(fleet).values()) == modes[after],
            within_seconds=30,
            what="every shard has its new views",
        )
        await asyncio.sleep(5)
        assert await all_observed(fleet, 40)
        assert fleet.verdict().duplicate_status_writes == 0


async def test_a_canary_of_shards_is_filtered_by_the_server_and_grows_and_shrinks() -> None:
    echo = Echo()
    settings = ShardSettings(canary=Canary(SHARDING, shard_fraction=0.25))
    async with running(SmallFleet(echo.controller, shards=8, settings=settings), "a", "b") as fleet:
        for number in range(20):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        for fraction, count in ((0.25, 2), (0.5, 4), (1.0, 8), (0.125, 1)):
            switch(fleet, canary=Canary(SHARDING, shard_fraction=fraction))
            await eventually(
                lambda count=count: (
                    list(watched(fleet).values()).count("shard-selector") == count  # type: ignore[misc]
                    and len(fleet.open_ranges()) == 8
                ),
                within_seconds=30,
                what=f"{count} shards are filtered by the server",
            )
        await fleet.client.merge_patch(WEBSITES, "default", "site-3", {"spec": {"replicas": 9}})
        await asyncio.sleep(5)
        assert await all_observed(fleet, 20)


async def test_a_member_that_fails_in_the_middle_of_it_loses_no_key() -> None:
    echo = Echo()
    async with running(SmallFleet(echo.controller, shards=8), "a", "b") as fleet:
        for number in range(20):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(1)
        switch(fleet, server_side_sharding="off")
        await asyncio.sleep(0.05)
        await fleet.crash("a")
        await fleet.all_open(within_seconds=30)
        for number in range(20):
            await fleet.client.merge_patch(WEBSITES, "default", f"site-{number}", {"spec": {"replicas": 3}})
        await asyncio.sleep(10)
        assert await all_observed(fleet, 20)


async def test_the_version_gate_off_posts_twice_and_on_again_never_more() -> None:
    """With one source and in one history: what was written while it was off holds the key back once it is on."""
    runs = Runs()
    breaks = frozenset({"I3", "I11"})
    async with running(SmallFleet(runs.controller, shards=1, breaks=breaks), "a") as fleet:
        switch(fleet, gate=GateSettings(enabled=False))
        hold = fleet.server.faults.inject(DelayEvents(match=PAGES))
        await fleet.client.create(WEBSITES, "default", website("shop"))
        await eventually(lambda: fleet.verdict().duplicate_child_posts > 0, within_seconds=5, what="it goes wrong")
        switch(fleet, gate=GateSettings(enabled=True, live_read_after_seconds=3600.0))
        await asyncio.sleep(0)
        seen, posts = len(runs.seen), fleet.verdict().child_posts
        await asyncio.sleep(30)
        hold.release()
        await eventually(lambda: len(runs.seen) > seen + 1, within_seconds=5, what="it goes on")
        assert fleet.verdict().child_posts == posts


async def test_the_version_gate_off_frees_every_parked_key_of_the_fleet_at_once() -> None:
    runs = Runs()
    breaks = frozenset({"I3", "I11"})
    async with running(SmallFleet(runs.controller, shards=4, breaks=breaks), "a", "b") as fleet:
        fleet.server.faults.inject(DelayEvents(match=Match(resource="v1/configmaps")))
        switch(fleet, gate=GateSettings(live_read_after_seconds=3600.0))
        for number in range(8):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(3)

        def parked() -> float:
            shards = [runner.shard for each in fleet.members.values() for runner in each.runners.values()]
            return sum(shard.load()["parked"] for shard in shards if shard is not None)

        assert parked() == 8
        switch(fleet, gate=GateSettings(enabled=False))
        assert parked() == 0
        seen = len(runs.seen)
        await asyncio.sleep(0.5)
        assert len(runs.seen) >= seen + 8
