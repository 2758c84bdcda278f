"""Objects that are paused, and keys that are quarantined, in a fleet: on every member, and through every move."""

from __future__ import annotations

import asyncio

import pytest

from shards import Context, Controller, Request
from shards.objects import PAUSED_ANNOTATION, Key
from shards.queue.suspects import DEATHS
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime


def noted(runs: list[tuple[str, str]], *, fails: str = "") -> SmallFleet:
    def make(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            if ctx.store.get() is not None:
                runs.append((member, request.name))
            if request.name == fails:
                raise ValueError("no")

        return websites

    return SmallFleet(make, shards=4)


async def pause(fleet: SmallFleet, name: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
    await fleet.client.merge_patch(WEBSITES, "default", name, patch)


async def test_a_paused_object_stays_paused_on_whoever_owns_it_next() -> None:
    runs: list[tuple[str, str]] = []
    async with running(noted(runs), "a") as fleet:
        for name in ("calm", "busy"):
            await fleet.client.create(WEBSITES, "default", website(name))
        await asyncio.sleep(2)
        await pause(fleet, "calm", "true")
        await asyncio.sleep(1)
        runs.clear()
        fleet.join("b")
        await eventually(lambda: "b" in fleet.open_ranges().values(), within_seconds=20, what="b owns something")
        await fleet.leave("a")
        await fleet.all_open()
        for step in range(2, 5):
            await fleet.client.merge_patch(WEBSITES, "default", "calm", {"spec": {"replicas": step}})
            await asyncio.sleep(1)
        assert {name for _, name in runs} == {"busy"}
        await pause(fleet, "calm", None)
        await asyncio.sleep(0.2)
        assert ("b", "calm") in runs


async def test_a_key_that_fails_and_is_paused_is_not_waited_for_by_anybody() -> None:
    """The judge of `running` waits for retries that are due, and counts failures."""
    runs: list[tuple[str, str]] = []
    async with running(noted(runs, fails="bad"), "a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("bad"))
        await asyncio.sleep(10)
        await pause(fleet, "bad", "true")
        await asyncio.sleep(120)
        before = len(runs)
        await asyncio.sleep(120)
        assert len(runs) == before
        await pause(fleet, "bad", None)
        await asyncio.sleep(10)
        assert len(runs) > before


async def test_a_quarantined_key_costs_its_shard_nothing() -> None:
    runs: list[tuple[str, str]] = []
    async with running(noted(runs, fails="bad"), "a") as fleet:
        made = await fleet.client.create(WEBSITES, "default", website("bad"))
        await asyncio.sleep(5)
        suspect = ("websites", Key("default", "bad", made["metadata"]["uid"]))
        fleet.runtimes["a"].suspects.follow({suspect: DEATHS})
        await asyncio.sleep(60)
        before = len(runs)
        await fleet.client.create(WEBSITES, "default", website("good"))
        await fleet.client.merge_patch(WEBSITES, "default", "bad", {"spec": {"replicas": 3}})
        await asyncio.sleep(120)
        assert runs[before:] == [("a", "good")]
        fleet.runtimes["a"].suspects.follow({})
        await asyncio.sleep(1)
        assert ("a", "bad") in runs[before + 1 :]
