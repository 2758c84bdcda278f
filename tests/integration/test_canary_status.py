"""What `fleet canary status` says of a fleet in which a feature is tried, read as the command reads it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from fleet.records.object_names import Names
from fleet.rules.canary_verdict import Enough
from fleet.status.canary_view import CanaryStatus, canary_status
from fleet.status.status_reader import StatusReader
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.features import Canary, Feature
from shards.settings import GateSettings, ShardSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import WEBSITES, SmallFleet, running, website

pytestmark = pytest.mark.looptime

QUARTER = Canary(frozenset({Feature.VERSION_GATE}), shard_fraction=0.25)


def busy_controller(member: str) -> Controller:
    """Writes every status every five seconds, for ever, which invariant I10 is not made for."""
    websites = Controller("websites", primary=str(WEBSITES))
    wrote: dict[str, float] = {}

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result:
        site = ctx.store.get()
        if site is not None and loop_seconds() - wrote.get(request.name, -5.0) >= 5.0:
            wrote[request.name] = loop_seconds()
            await ctx.client.patch_status({"ready": site.get("status", {}).get("ready", 0) + 1})
        return Result(requeue_after_seconds=5)

    return websites


async def status_of(fleet: SmallFleet, enough: Enough | None = None) -> CanaryStatus:
    wall = 1.0e9  # the fleet's clock of the day stands still
    reader = StatusReader(fleet.client, Names("web", "default"), today=lambda: wall)
    return canary_status(await reader.sight(), enough)


def reasons(status: CanaryStatus) -> dict[str, str]:
    return {row.name: row.verdict for row in status.criteria if row.verdict != "go on"}


def small_fleet(canary: Canary = QUARTER, *, breaks: frozenset[str] = frozenset()) -> SmallFleet:
    settings = ShardSettings(gate=GateSettings(live_read_after_seconds=3600.0), canary=canary)
    return SmallFleet(busy_controller, shards=8, settings=settings, breaks=breaks)


async def test_a_canary_is_told_to_wait_and_then_to_go_on() -> None:
    async with running(small_fleet(breaks=frozenset({"I10"})), "a", "b") as fleet:
        for number in range(16):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(60)
        status = await status_of(fleet)
        assert (status.verdict, reasons(status)) == ("wait", {"measured long enough": "wait"})
        await asyncio.sleep(300)
        status = await status_of(fleet)
        assert (status.verdict, reasons(status)) == ("go on", {})
        assert (status.features, status.part) == (("VersionGate",), "0.25 of the shards")
        assert status.canary is not None
        assert status.rest is not None
        assert (status.canary.shards, status.rest.shards) == (2, 6)
        assert status.canary.keys + status.rest.keys == 16


async def test_a_view_that_stays_behind_asks_for_a_step_back_and_after_it_the_fleet_is_well() -> None:
    """With the gate on, keys of the canary wait for their view; the rest goes on as if nothing were wrong (and is)."""
    async with running(small_fleet(breaks=frozenset({"I3"})), "a", "b") as fleet:
        for number in range(16):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await asyncio.sleep(30)
        hold = fleet.server.faults.inject(DelayEvents(match=Match(resource=str(WEBSITES))))
        await asyncio.sleep(45)
        status = await status_of(fleet)
        assert status.verdict == "step back"
        assert {name for name, verdict in reasons(status).items() if verdict == "step back"} >= {
            "keys waiting for their view",
            "longest wait for a view",
        }
        hold.release()
        for runtime in fleet.runtimes.values():
            runtime.change(replace(runtime.settings, canary=replace(QUARTER, shard_fraction=0.125)))
        await asyncio.sleep(3)
        status = await status_of(fleet)
        assert "step back" not in reasons(status).values(), "what was before the step does not count"
        assert status.verdict == "wait"


async def test_workers_that_have_not_read_the_new_config_are_waited_for() -> None:
    async with running(small_fleet(), "a", "b") as fleet:
        runtime = fleet.runtimes["a"]
        runtime.change(replace(runtime.settings, canary=replace(QUARTER, shard_fraction=0.5)))
        await asyncio.sleep(3)
        status = await status_of(fleet, Enough(0, 0))
        assert reasons(status)["one config"] == "wait"


async def test_a_feature_that_the_server_cannot_do_is_said_to_be_on_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallFleet, "server_side_sharding", False)
    canary = replace(QUARTER, features=frozenset({Feature.SERVER_SIDE_SHARDING}))
    async with running(small_fleet(canary), "a", "b") as fleet:
        await asyncio.sleep(3)
        status = await status_of(fleet, Enough(0, 0))
        assert reasons(status) == {"somebody has it": "wait"}
