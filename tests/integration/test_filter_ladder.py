"""The filters of views change under a running fleet: no key lost, none acted on twice, and nothing sees too little."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Cut
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.filtering.adoption import Adoption
from shards.filtering.ladder import Rung
from shards.keyrange import PartitionKey, slot_of
from shards.objects import SLOT_LABEL, Object, Resource
from shards.settings import ShardSettings
from shards.shard import Shard
from shards.testing.virtual_time import loop_seconds
from shards.view_filters import best_sources
from shards.watching.source import FilterMode
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

CONFIGMAPS = Resource.parse("v1/configmaps")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits and pauses of minutes instead of hours: a fleet in virtual time costs by the second."""
    monkeypatch.setattr("shards.filtering.ladder.AUDIT_SECONDS", 30.0)
    monkeypatch.setattr("shards.filtering.ladder.PAUSE_SECONDS", (10.0, 300.0))
    monkeypatch.setattr("shards.filtering.ladder.RECONNECT_SECONDS", 5.0)


AUTO = ShardSettings(slot_labels="auto")


@dataclass
class Pages:
    """One page for each website, with the website's generation in it."""

    runs: Counter[str] = field(default_factory=Counter)

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            self.runs[request.name] += 1
            if site is None:
                return
            generation = site["metadata"]["generation"]
            await ctx.client.ensure(CONFIGMAPS, {"metadata": {"name": request.name}, "data": {"made": "by fleet"}})
            await ctx.client.patch_status({"observedGeneration": generation})

        return websites


def modes(fleet: SmallFleet, resource: Resource) -> list[str]:
    """What the open shards' views of the resource stand on."""
    return [
        str(runner.shard.views[str(resource)].source.mode)
        for worker in fleet.members.values()
        for runner in worker.runners.values()
        if isinstance(runner.shard, Shard) and runner.shard.open
    ]


async def all_are(fleet: SmallFleet, resource: Resource, mode: str, *, within_seconds: float) -> None:
    await eventually(
        lambda: modes(fleet, resource) == [mode] * fleet.shards,
        within_seconds=within_seconds,
        what=f"all views of {resource} stand on {mode}",
    )


async def touch(fleet: SmallFleet, count: int, replicas: int, *, pause: float = 0.05) -> None:
    for number in range(count):
        await fleet.client.merge_patch(WEBSITES, "default", f"site-{number}", {"spec": {"replicas": replicas}})
        await asyncio.sleep(pause)


async def unobserved(fleet: SmallFleet) -> list[str]:
    found = (await fleet.client.list(WEBSITES, "default"))["items"]
    return [
        each["metadata"]["name"]
        for each in found
        if each.get("status", {}).get("observedGeneration") != each["metadata"]["generation"]
    ]


def cut_watches(fleet: SmallFleet, resource: Resource) -> None:
    """All that are open now: their clients come back, to whatever server there is by then."""
    handle = fleet.server.faults.inject(Cut(match=Match(verbs=("watch",), resource=str(resource)), after_bytes=0))
    asyncio.get_running_loop().call_later(0.5, handle.release)


def selectors(fleet: SmallFleet) -> list[Rung]:
    """What each member knows of shardSelector."""
    return [each.filters.rung(WEBSITES, FilterMode.SHARD_SELECTOR) for each in fleet.runtimes.values()]


def filters(fleet: SmallFleet, does: bool) -> None:
    fleet.server.settings.sharded_list_and_watch = does


async def test_a_server_stops_filtering_in_the_middle_of_a_watch_and_starts_again() -> None:
    pages = Pages()
    async with running(SmallFleet(pages.controller, shards=8, settings=AUTO, probes=True), "a", "b") as fleet:
        for number in range(40):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await all_are(fleet, WEBSITES, "shard-selector", within_seconds=200)
        filters(fleet, False)
        cut_watches(fleet, WEBSITES)
        await touch(fleet, 40, 2)
        await all_are(fleet, WEBSITES, "local", within_seconds=30)
        await asyncio.sleep(5)
        assert await unobserved(fleet) == []
        assert sum(rung.foreign for rung in selectors(fleet)) > 0
        filters(fleet, True)
        cut_watches(fleet, WEBSITES)
        await all_are(fleet, WEBSITES, "shard-selector", within_seconds=300)
        await touch(fleet, 40, 3)
        await asyncio.sleep(5)
        assert await unobserved(fleet) == []
        assert fleet.verdict().duplicate_status_writes == 0


async def test_a_quiet_server_that_stopped_filtering_is_found_out_by_the_probe_after_the_reconnect() -> None:
    async with running(SmallFleet(Pages().controller, shards=4, settings=AUTO, probes=True), "a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("site-0"))
        await all_are(fleet, WEBSITES, "shard-selector", within_seconds=200)
        await asyncio.sleep(30)
        filters(fleet, False)
        cut_watches(fleet, WEBSITES)
        await all_are(fleet, WEBSITES, "local", within_seconds=60)


@pytest.mark.usefixtures("soon")
async def test_between_servers_of_both_kinds_the_fleet_settles_on_what_always_holds() -> None:
    """A load balancer with one server that filters and one that does not: watches and probes come to either."""
    pages = Pages()
    async with running(SmallFleet(pages.controller, shards=4, settings=AUTO, probes=True), "a", "b") as fleet:
        for number in range(8):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await all_are(fleet, WEBSITES, "shard-selector", within_seconds=200)
        rng = random.Random(4)

        async def balance() -> None:
            while True:
                filters(fleet, rng.random() < 0.5)
                await asyncio.sleep(rng.uniform(0.5, 3.0))

        balancing = asyncio.create_task(balance())
        for round in range(12):
            cut_watches(fleet, WEBSITES)
            await touch(fleet, 8, 2 + round, pause=0.2)
            await asyncio.sleep(20)
        balancing.cancel()
        await asyncio.gather(balancing, return_exceptions=True)
        assert await unobserved(fleet) == []
        assert fleet.verdict().duplicate_status_writes == 0
        assert 1 <= max(rung.falls for rung in selectors(fleet)) <= 5, (
            "in four minutes, with pauses that begin at ten seconds"
        )


def old_page(fleet: SmallFleet, name: str, site: Object) -> None:
    """A child that was made before children carried slot labels."""
    owner = {"apiVersion": WEBSITES.api_version, "kind": "Website", "controller": True, "name": name}
    metadata = {
        "name": name,
        "namespace": "default",
        "ownerReferences": [owner | {"uid": site["metadata"]["uid"]}],
    }
    fleet.server.seed(CONFIGMAPS, {"metadata": metadata, "data": {"made": "by fleet"}})


@pytest.mark.usefixtures("soon")
async def test_children_from_before_are_seen_and_once_adopted_the_server_filters_them() -> None:
    pages = Pages()
    fleet = SmallFleet(pages.controller, shards=4, settings=AUTO, probes=True)
    await fleet.start()
    sites = [await fleet.client.create(WEBSITES, "default", website(f"site-{number}")) for number in range(60)]
    for number, site in enumerate(sites):
        old_page(fleet, f"site-{number}", site)
    for name in ("a", "b"):
        fleet.join(name)
    try:
        await fleet.all_open()
        assert modes(fleet, CONFIGMAPS) == ["local"] * 4
        sources = best_sources([pages.controller("adopt")], AUTO, PartitionKey.UID)
        adoption = Adoption(fleet.client.transport, sources, loop_seconds, rate=20.0)
        [count] = await adoption.adopt()
        assert (count.children, count.left) == (60, 0)
        await all_are(fleet, CONFIGMAPS, "slot-labels", within_seconds=100)
        await touch(fleet, 60, 2)
        await asyncio.sleep(5)
        assert await unobserved(fleet) == []
        found = (await fleet.client.list(CONFIGMAPS, "default"))["items"]
        assert sum(each.get("data") == {"made": "by fleet"} for each in found) == 60
        assert fleet.verdict().duplicate_child_posts == 0
    finally:
        await fleet.stop()


async def test_a_label_that_a_user_took_away_comes_back() -> None:
    """The child is invisible: it is made again, found by its name, and mended. I11 counts the second POST, which the
    server refuses."""
    pages = Pages()
    fleet = SmallFleet(pages.controller, shards=4, settings=AUTO, probes=True, breaks=frozenset({"I11"}))
    async with running(fleet, "a") as fleet:
        for number in range(5):
            await fleet.client.create(WEBSITES, "default", website(f"site-{number}"))
        await all_are(fleet, CONFIGMAPS, "slot-labels", within_seconds=200)
        await asyncio.sleep(5)
        hide: dict[str, Any] = {"metadata": {"labels": {SLOT_LABEL: None}}}
        await fleet.client.merge_patch(CONFIGMAPS, "default", "site-0", hide)
        await asyncio.sleep(5)
        site = await fleet.client.get(WEBSITES, "default", "site-0")
        found = await fleet.client.get(CONFIGMAPS, "default", "site-0")
        assert found["metadata"]["labels"] == {SLOT_LABEL: slot_of(site["metadata"]["uid"])}
        assert modes(fleet, CONFIGMAPS) == ["slot-labels"] * 4


@pytest.mark.usefixtures("soon")
async def test_a_child_that_somebody_else_made_is_seen_after_the_next_audit_and_labelled_by_an_adoption() -> None:
    pages = Pages()
    async with running(SmallFleet(pages.controller, shards=4, settings=AUTO, probes=True), "a") as fleet:
        site = await fleet.client.create(WEBSITES, "default", website("site-0"))
        await all_are(fleet, CONFIGMAPS, "slot-labels", within_seconds=200)
        await asyncio.sleep(5)
        old_page(fleet, "made-elsewhere", site)
        await all_are(fleet, CONFIGMAPS, "local", within_seconds=100)
        sources = best_sources([pages.controller("adopt")], AUTO, PartitionKey.UID)
        await Adoption(fleet.client.transport, sources, loop_seconds).adopt()
        await all_are(fleet, CONFIGMAPS, "slot-labels", within_seconds=100)


async def test_switched_on_it_is_not_proven_and_switched_off_nothing_is_filtered_by_labels() -> None:
    pages = Pages()
    on = ShardSettings(slot_labels="on")
    async with running(SmallFleet(pages.controller, shards=4, settings=on, probes=True), "a") as fleet:
        assert modes(fleet, CONFIGMAPS) == ["slot-labels"] * 4
        for runtime in fleet.runtimes.values():
            runtime.change(replace(runtime.settings, slot_labels="off"))
        await all_are(fleet, CONFIGMAPS, "local", within_seconds=30)
