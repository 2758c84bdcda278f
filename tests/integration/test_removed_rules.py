"""Fleets with one rule removed: the judge finds the break in what they do, not only in stories. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from shards import Context, Controller, Request
from shards.objects import Meta, Object, ObjectName, Resource
from shards.ownership.fenced_requests import FencedRequests
from shards.queue.workqueue import WorkQueue
from shards.stores.store import Change, StoreWriter
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

CONFIG_MAPS = Resource.parse("v1/configmaps")
Reconcile = Callable[[Context, Request], Any]


def fleet_of(reconcile: Reconcile, *breaks: str) -> SmallFleet:
    def make(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))
        websites.owns(str(CONFIG_MAPS))
        websites.reconcile(reconcile)
        return websites

    return SmallFleet(make, shards=1, breaks=frozenset(breaks))


async def note_generation(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is not None:
        await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})


async def make_page_and_remove_it(ctx: Context, request: Request) -> None:
    site = ctx.store.get()
    if site is None:
        return
    if site["spec"]["replicas"]:
        await ctx.client.ensure("v1/configmaps", {"metadata": {"name": request.name}, "data": {"a": "b"}})
    elif ctx.store.owned("v1/configmaps"):
        await ctx.client.delete("v1/configmaps", request.name)


async def add(fleet: SmallFleet, name: str = "shop") -> None:
    await fleet.client.create(WEBSITES, "default", website(name))


async def test_writes_without_preconditions_break_i4(monkeypatch: pytest.MonkeyPatch) -> None:
    send = FencedRequests.write

    async def unconditional(self: FencedRequests, reason: str, *args: Any, **kwargs: Any) -> Object:
        resource, name, body = args
        return await send(self, reason, resource, name, {**body, "metadata": {}}, **kwargs)

    monkeypatch.setattr(FencedRequests, "write", unconditional)
    async with running(fleet_of(note_generation, "I4"), "a") as fleet:
        await add(fleet)
        await eventually(lambda: bool(fleet.writes(WEBSITES, "status")), within_seconds=5, what="a status")


async def removed_page(fleet: SmallFleet) -> None:
    await add(fleet)
    await eventually(
        lambda: any(each.name == "shop" for each in fleet.writes(CONFIG_MAPS)), within_seconds=5, what="a page"
    )
    await asyncio.sleep(1.0)
    await fleet.client.merge_patch(WEBSITES, "default", "shop", {"spec": {"replicas": 0}})
    await eventually(
        lambda: any(each.verb == "delete" for each in fleet.writes(CONFIG_MAPS)), within_seconds=5, what="its removal"
    )
    await asyncio.sleep(1.0)


async def test_deletes_without_a_live_read_break_i5(monkeypatch: pytest.MonkeyPatch) -> None:
    async def from_cache(
        self: FencedRequests, resource: Resource, name: ObjectName, purpose: str, **kwargs: Any
    ) -> Object | None:
        return self.view.get(resource, name)

    monkeypatch.setattr(FencedRequests, "read", from_cache)
    async with running(fleet_of(make_page_and_remove_it, "I5"), "a") as fleet:
        await removed_page(fleet)


async def test_the_same_with_the_rule_holds() -> None:
    async with running(fleet_of(make_page_and_remove_it), "a") as fleet:
        await removed_page(fleet)
        held = {each.id for each in fleet.verdict().invariants if each.outcome == "held"}
        assert {"I4", "I5", "I6", "I14", "I16"} <= held


async def test_a_view_that_misses_deletions_breaks_i14(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(self: StoreWriter, meta: Meta) -> Change | None:
        self.bookmark(meta.resource_version)
        return None

    monkeypatch.setattr(StoreWriter, "delete", deaf)
    async with running(fleet_of(note_generation, "I14"), "a") as fleet:
        await add(fleet)
        await asyncio.sleep(1.0)
        await fleet.client.delete(WEBSITES, "default", "shop")
        await add(fleet, "other")
        await asyncio.sleep(5.0)


async def test_retries_without_a_delay_break_i20(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def at_once(self: WorkQueue[Any], key: Any, now: float, *, at_least_seconds: float = 0.0) -> float:
        self.add_after(key, 0.0, now)
        return 0.0

    async def fails_thrice(ctx: Context, request: Request) -> None:
        tries.append(request.name)
        if len(tries) < 4:
            raise ValueError("a bug")

    monkeypatch.setattr(WorkQueue, "add_rate_limited", at_once)
    async with running(fleet_of(fails_thrice, "I20"), "a") as fleet:
        await add(fleet)
        await eventually(lambda: len(tries) >= 4, within_seconds=5, what="four tries")
        await asyncio.sleep(0.1)
