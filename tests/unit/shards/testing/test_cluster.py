"""What an author's own tests look like, and that they can fail."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import DelayEvents
from shards import Context, Controller, Request, Result
from shards.errors import ConfigError, Conflict
from shards.objects import Object
from shards.testing.cluster import EmbeddedCluster
from shards.testing.virtual_time import loop_seconds, run_virtually

pytestmark = pytest.mark.looptime
CRD_FILE = Path(__file__).parents[4] / "docs" / "examples" / "websites-crd.yaml"
CONFIG_MAPS = "v1/configmaps"


def website(name: str) -> Object:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "html": f"<h1>{name}</h1>"},
    }


def pages() -> Controller:
    websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")
    websites.owns(CONFIG_MAPS)

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result | None:
        site = ctx.store.get()
        if site is None:
            return None
        page = {"metadata": {"name": request.name}, "data": {"index.html": site["spec"]["html"]}}
        await ctx.client.ensure(CONFIG_MAPS, page)
        return Result(requeue_after_seconds=300)

    return websites


def failing(until: int) -> Controller:
    """Fails so many times before it succeeds."""
    websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")
    runs = []

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(request)
        if len(runs) <= until:
            raise ValueError("not yet")
        await ctx.client.patch_status({"observedGeneration": 1})

    return websites


@pytest.fixture
async def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    await embedded_cluster.install(CRD_FILE)
    return embedded_cluster


async def test_a_controller_works_on_what_is_there_and_on_what_comes(cluster: EmbeddedCluster) -> None:
    await cluster.create(website("early"))
    async with cluster.running(pages()) as controllers:
        await controllers.settled()
        assert [page["metadata"]["name"] for page in await cluster.list(CONFIG_MAPS)] == ["early"]

        await cluster.create(website("late"))
        await controllers.settled()
        page = await cluster.get(CONFIG_MAPS, "late")
        assert page is not None
        assert page["data"] == {"index.html": "<h1>late</h1>"}


async def test_what_an_object_owned_goes_with_it(cluster: EmbeddedCluster) -> None:
    await cluster.create(website("a"))
    async with cluster.running(pages()) as controllers:
        await controllers.settled()
        await cluster.delete("demo.shardfleet.dev/v1/websites", "a")
        await controllers.settled()
    assert await cluster.get(CONFIG_MAPS, "a") is None


async def test_settled_waits_for_keys_that_fail(cluster: EmbeddedCluster) -> None:
    await cluster.create(website("a"))
    async with cluster.running(failing(until=12)) as controllers:
        await controllers.settled()
        found = await cluster.get("demo.shardfleet.dev/v1/websites", "a")
    assert found is not None
    assert found["status"] == {"observedGeneration": 1}


async def test_settled_names_the_keys_that_never_do(cluster: EmbeddedCluster) -> None:
    await cluster.create(website("a"))
    async with cluster.running(failing(until=10**9)) as controllers:
        with pytest.raises(TimeoutError, match=r"not settled within 30 s: websites default/a \(failing\)"):
            await controllers.settled(within_seconds=30)


async def test_settled_waits_for_keys_that_are_parked_on_a_late_watch(cluster: EmbeddedCluster) -> None:
    websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")
    websites.owns(CONFIG_MAPS)
    runs: list[Request] = []

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(request)
        await ctx.client.ensure(CONFIG_MAPS, {"metadata": {"name": request.name}, "data": {"a": "b"}})
        await ctx.client.patch_status(
            {"observedGeneration": 1}
        )  # its event wakes the key, which must wait for the page

    cluster.server.faults.inject(DelayEvents(match=Match(resource=CONFIG_MAPS), seconds=30.0))
    async with cluster.running(websites) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
    assert len(runs) == 3  # the last on the page's own event


async def test_apply_merges_into_what_is_there(cluster: EmbeddedCluster) -> None:
    await cluster.apply(website("a"))
    changed = await cluster.apply({**website("a"), "spec": {"replicas": 3}})
    assert changed["spec"] == {"replicas": 3, "html": "<h1>a</h1>"}
    with pytest.raises(Conflict):
        await cluster.create(website("a"))


async def test_a_kind_that_nothing_serves_is_named(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ConfigError, match="nothing serves 'Webseite'"):
        await cluster.create({**website("a"), "kind": "Webseite"})


def history(seed: int) -> bytes:
    async def run() -> bytes:
        cluster = EmbeddedCluster(seed=seed)
        await cluster.install(CRD_FILE)
        for number in range(5):
            await cluster.create(website(f"site-{number}"))
        async with cluster.running(pages()) as controllers:
            await controllers.settled()
        cluster.close()
        return "\n".join(
            f"{each.time} {each.verb} {each.name} {each.uid}" for each in cluster.recorder.entries
        ).encode()

    return run_virtually(run())


def test_the_same_seed_gives_the_same_history() -> None:
    assert history(1) == history(1)
    assert history(1) != history(2)


def test_an_hour_passes_at_once() -> None:
    async def hour() -> float:
        await asyncio.sleep(3600)
        return loop_seconds()

    assert run_virtually(hour()) == 3600.0
