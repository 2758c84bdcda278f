"""A worker that is killed and started again trusts nothing but what it lists after its claim, and decides destructive
acts on live reads; each shard is protected by itself until its own views are there (design 4.5)."""

from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse, StaleReplica
from fleet.devcluster.server import ApiServer
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.keyrange import fnv1a64
from shards.objects import Object
from shards.watching.listing import Listing
from shards.watching.watch_requests import ListPage
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website
from tests.integration.test_stale_views import CONFIG_MAPS, Runs, page_of, pages

pytestmark = pytest.mark.looptime

INFORMERS = Match(member="a", verbs=("list", "watch"))


def trust_any_cache(patch: pytest.MonkeyPatch) -> None:
    """Lists are taken from whatever a front end has in its cache, as an ordinary informer's first list is."""
    asked = Listing.next_page

    def from_any_cache(self: Listing) -> ListPage:
        self.floor = ""
        return ListPage((*asked(self).query, ("resourceVersion", "0")), first=True)

    patch.setattr(Listing, "next_page", from_any_cache)


async def restarted_on(fleet: SmallFleet, stale: ApiServer) -> None:
    """a is killed, and started again by its supervisor; its lists and watches are answered by that front end."""
    await fleet.crash("a")
    fleet.server.faults.inject(StaleReplica(match=INFORMERS, replica="stale"))
    fleet.join("a", reaped=True)


@pytest.mark.parametrize("protected", [True, False])
async def test_after_a_crash_nothing_is_decided_on_what_a_front_end_that_stands_still_shows(
    protected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    breaks = frozenset[str]() if protected else frozenset({"I3", "I11"})
    async with running(SmallFleet(runs.controller, shards=1, breaks=breaks), "a") as fleet:
        stale = fleet.server.another("stale")
        await fleet.client.create(WEBSITES, "default", website("shop"))
        stale.cache.freeze()  # it shows the site, and will never show the page
        await eventually(lambda: len(pages(fleet)) == 1, within_seconds=5, what="its page is made")
        await asyncio.sleep(2)
        if not protected:
            trust_any_cache(monkeypatch)
        runs.seen.clear()
        await restarted_on(fleet, stale)
        await eventually(lambda: bool(runs.seen), within_seconds=30, what="it goes on")
        await asyncio.sleep(20)
        assert (fleet.verdict().duplicate_child_posts > 0) is not protected
        if protected:
            assert all((site or {}).get("status") for _, site in runs.seen), "what it decided on shows its own writes"
        stale.close()


async def test_even_on_a_stale_view_a_restarted_worker_deletes_nothing_but_what_it_decided_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page that it would delete is another one by now: only the live read and its preconditions know."""
    decided: list[str] = []

    def make(member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIG_MAPS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            site = ctx.store.get()
            if site is None:
                return
            owned: list[Object] = list(ctx.store.owned(CONFIG_MAPS))
            if site["spec"]["replicas"] == 0 and owned and not decided:  # once: what counts is this decision
                decided.append(owned[0]["metadata"]["uid"])
                await ctx.client.delete(CONFIG_MAPS, owned[0]["metadata"]["name"])
            elif site["spec"]["replicas"] and not owned:
                await ctx.client.ensure(CONFIG_MAPS, page_of(site))

        return websites

    fleet = SmallFleet(make, shards=1)
    await fleet.start("a")
    try:
        await fleet.all_open()
        await fleet.client.create(WEBSITES, "default", website("shop", replicas=1))
        await eventually(lambda: len(pages(fleet)) == 1, within_seconds=5, what="its page is made")
        await asyncio.sleep(1)
        old = await fleet.client.get(CONFIG_MAPS, "default", "shop")
        await fleet.crash("a")
        # What the front end shows for ever: no replicas, and the old page.
        await fleet.client.merge_patch(WEBSITES, "default", "shop", {"spec": {"replicas": 0}})
        await asyncio.sleep(1)
        stale = fleet.server.another("stale")
        stale.cache.freeze()
        await fleet.client.merge_patch(WEBSITES, "default", "shop", {"spec": {"replicas": 1}})
        await fleet.client.delete(CONFIG_MAPS, "default", "shop")
        site = await fleet.client.get(WEBSITES, "default", "shop")
        owners = old["metadata"]["ownerReferences"]
        new = page_of(site)
        new["metadata"] |= {"ownerReferences": owners, "labels": old["metadata"]["labels"]}
        new = await fleet.client.create(CONFIG_MAPS, "default", new)
        trust_any_cache(monkeypatch)
        fleet.server.faults.inject(StaleReplica(match=INFORMERS, replica="stale"))
        fleet.join("a", reaped=True)
        await eventually(lambda: bool(decided), within_seconds=30, what="it decides on the old page")
        await asyncio.sleep(10)
        assert decided == [old["metadata"]["uid"]]
        found = await fleet.client.get(CONFIG_MAPS, "default", "shop")
        assert found["metadata"]["uid"] == new["metadata"]["uid"]
        stale.close()
    finally:
        await fleet.stop()


async def test_a_shard_that_cannot_list_after_a_restart_holds_up_no_other_one() -> None:
    runs = Runs()
    async with running(SmallFleet(runs.controller, shards=4), "a") as fleet:
        made = [await fleet.client.create(WEBSITES, "default", website(f"site-{number}")) for number in range(12)]
        await asyncio.sleep(5)
        [blind, *others] = sorted(fleet.open_ranges())
        expected = {each["metadata"]["name"] for each in made if fnv1a64(each["metadata"]["uid"]) not in blind}
        assert len(others) == 3
        assert 0 < len(expected) < 12
        await fleet.crash("a")
        runs.seen.clear()
        refused = fleet.server.faults.inject(
            Refuse(match=Match(resource=str(WEBSITES), verbs=("list", "watch"), user_agent=str(blind)), status=503)
        )
        fleet.join("a", reaped=True)
        await eventually(
            lambda: len(fleet.open_ranges()) == 3, within_seconds=30, what="all shards but one are open again"
        )
        await asyncio.sleep(10)
        seen = {site["metadata"]["name"] for _, site in runs.seen if site is not None}
        assert seen == expected
        refused.release()
        await fleet.all_open(within_seconds=60)
        await asyncio.sleep(5)
        assert len({site["metadata"]["name"] for _, site in runs.seen if site is not None}) == 12
