"""Several namespaces that are watched one by one: one view, in which none of them depends on another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.informers.namespaced_informer import NamespacedInformer
from shards.informers.namespaced_store import NamespacedReader
from shards.objects import Key, Meta, ObjectName, Resource
from shards.settings import ScopeSettings, ShardSettings
from shards.shard import Shard
from shards.stores.store import Entry, StoreReader, StoreWriter
from shards.watching.source import FilterMode
from tests.unit.shards.world import WEBSITES, World

pytestmark = pytest.mark.looptime

NAMESPACES = Resource("", "v1", "namespaces")
EACH = ShardSettings(scope=ScopeSettings(namespaces=("blue", "green"), watch_each=True))


def meta(namespace: str, name: str, version: int) -> Meta:
    return Meta(name=name, namespace=namespace, uid=f"{namespace}-{name}", resource_version=str(version))


class TestStores:
    def stores(self, blind: tuple[str, ...] = ()) -> tuple[NamespacedReader, dict[str, StoreWriter]]:
        writers = {"blue": StoreWriter(), "green": StoreWriter()}
        writers["blue"].replace([Entry(meta("blue", "a", 5), b'{"n":1}')], "10")
        writers["green"].replace([Entry(meta("green", "b", 12), b'{"n":2}')], "20")
        readers = {name: writer.reader for name, writer in writers.items()}
        return NamespacedReader(readers, lambda name: name not in blind), writers

    def test_the_whole_is_as_far_as_its_last_namespace(self) -> None:
        both, writers = self.stores()
        assert (both.resource_version, both.highest_object_version, len(both)) == ("10", "12", 2)
        writers["blue"].bookmark("30")
        assert both.resource_version == "20"

    def test_an_event_in_one_namespace_proves_nothing_about_another(self) -> None:
        both, writers = self.stores()
        writers["green"].apply(meta("green", "c", 40), b"{}")
        assert (both.highest_object_version, both.reached("40")) == ("40", False)
        writers["blue"].bookmark("40")
        assert both.reached("40")

    def test_what_is_asked_of_an_object_is_answered_by_its_namespace(self) -> None:
        both, writers = self.stores()
        a, b = ObjectName("blue", "a"), ObjectName("green", "b")
        assert (both.get(a), both.get(b), both.get(ObjectName("red", "a"))) == ({"n": 1}, {"n": 2}, None)
        assert (both.version_of(a), both.name_of("green-b")) == (("blue-a", "5"), b)
        gone = ObjectName("green", "gone")
        assert both.shows(gone, "u", "15")
        assert not both.shows(gone, "u", "21")
        assert not both.shows(ObjectName("blue", "gone"), "u", "15")
        assert not both.shows(ObjectName("red", "gone"), "u", "15")
        writers["green"].delete(meta("green", "b", 22))
        assert (both.gone("green-b"), both.gone("blue-a"), both.version_of(b)) == (True, False, None)

    def test_it_is_searched_as_one(self) -> None:
        both, _ = self.stores()
        names = {ObjectName("blue", "a"), ObjectName("green", "b")}
        assert set(both.select()) == names
        assert both.select(namespace="blue") == [ObjectName("blue", "a")]
        assert both.select(namespace="red") == []
        assert set(both.each_key()) == {Key("blue", "a", "blue-a"), Key("green", "b", "green-b")}
        assert {each.name for each in both.metas()} == {"a", "b"}

    def test_its_namespaces_are_counted(self) -> None:
        both, writers = self.stores()
        writers["blue"].apply(meta("blue", "c", 13), b"{}")
        assert both.namespaces() == {"blue": 2, "green": 1}
        assert [key.name for key in both.newest_keys(2)] == ["c", "b"]

    def test_it_answers_for_itself_whatever_a_single_store_would_answer_from_its_entries(self) -> None:
        own = {"_entries", "_names", "_owned", "_tombstones", "_indexes", "_intake"}

        def reads(each: Any) -> set[str]:
            """What of a single store a method or property looks at, generators within it too."""
            code = getattr(getattr(each, "fget", None) or each, "__code__", None)
            inner = [const for const in code.co_consts if hasattr(const, "co_names")] if code is not None else []
            return own & {name for one in (code, *inner) if one is not None for name in one.co_names}

        outside = {name for name, each in vars(StoreReader).items() if reads(each)} - {"__init__", "_candidates"}
        assert {"get", "metas", "namespaces", "find", "__len__"} <= outside
        assert outside - vars(NamespacedReader).keys() == set()

    def test_a_namespace_that_is_not_seen_is_left_out_of_what_is_said_of_the_whole(self) -> None:
        both, _ = self.stores(blind=("blue",))
        assert (both.resource_version, both.reached("20"), len(both)) == ("20", True, 2)
        assert (both.blind("blue"), both.blind("green"), both.blind("red")) == (True, False, False)

    def test_seeing_nothing_proves_nothing(self) -> None:
        both, _ = self.stores(blind=("blue", "green"))
        assert (both.resource_version, both.reached("20")) == ("10", False)


class Sites:
    """Websites of two namespaces, a controller that notes which text of which it saw, and permissions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: list[tuple[str, str]] = []
        self.controller = Controller("sites", primary=str(WEBSITES))
        self.controller.reconcile(self.reconcile)
        for namespace in ("blue", "green", "red"):
            world.server.seed(NAMESPACES, {"metadata": {"name": namespace}})
            world.server.seed(WEBSITES, self.site(namespace, "old"))

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        self.seen.append((request.namespace, site["spec"]["text"] if site else ""))

    def site(self, namespace: str, text: str) -> dict[str, Any]:
        return {"metadata": {"name": "a", "namespace": namespace}, "spec": {"text": text}}

    async def change(self, namespace: str, text: str) -> None:
        await self.world.kubectl.merge_patch(WEBSITES, namespace, "a", {"spec": {"text": text}})
        await asyncio.sleep(5)

    async def revoke(self, *namespaces: str) -> Callable[[], None]:
        """Reads are refused from now on, and open watches are cut. Returns what grants them again."""
        matches = [Match(resource=str(WEBSITES), namespace=each, verbs=("list", "watch")) for each in namespaces]
        handles = [self.world.server.faults.inject(Refuse(match=match, status=403)) for match in matches]
        self.world.server.close()
        await asyncio.sleep(5)

        def grant() -> None:
            for handle in handles:
                handle.release()

        return grant


@pytest.fixture(params=[False, True], ids=["shared", "of its own"])
async def sites(world: World, request: pytest.FixtureRequest) -> Sites:
    world.runtime.settings = EACH
    world.runtime.filters.assume(FilterMode.SHARD_SELECTOR, request.param)
    return Sites(world)


def feed(shard: Shard) -> NamespacedInformer:
    informer = shard.views[str(WEBSITES)].informer
    assert isinstance(informer, NamespacedInformer)
    return informer


def held(shard: Shard) -> dict[str, str]:
    store = feed(shard).store
    found = {meta.namespace: store.get(ObjectName(meta.namespace, meta.name)) for meta in store.metas()}
    return {namespace: body["spec"]["text"] for namespace, body in found.items() if body is not None}


class TestShards:
    async def test_only_those_namespaces_are_asked_for_and_all_are_reconciled(self, sites: Sites, world: World) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        assert sorted(sites.seen) == [("blue", "old"), ("green", "old")]
        reads = {each.path for each in world.transport.reads("informer")}
        assert reads == {WEBSITES.path("blue"), WEBSITES.path("green")}
        await sites.change("blue", "new")
        assert sites.seen[2:] == [("blue", "new")]
        assert (shard.trouble, feed(shard).blind) == ("", False)

    async def test_a_permission_that_is_lost_in_one_stops_no_other_and_deletes_nothing(
        self, sites: Sites, world: World
    ) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        grant = await sites.revoke("blue")
        await sites.change("green", "new")
        await sites.change("blue", "unseen")
        assert sites.seen[2:] == [("green", "new")]
        assert held(shard) == {"blue": "old", "green": "new"}
        assert "namespace blue: 403" in shard.trouble
        assert feed(shard).synced.is_set()
        assert shard.view_age < 90
        grant()
        await asyncio.sleep(60)
        assert sites.seen[-1] == ("blue", "unseen")
        assert shard.trouble == ""

    async def test_nothing_acts_where_nothing_is_seen(self, sites: Sites, world: World) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        grant = await sites.revoke("blue")
        sites.seen.clear()
        [engine] = [engine for view in shard.views.values() for engine in view.engines]
        await engine.add_all()
        await asyncio.sleep(60)
        assert sites.seen == [("green", "old")]
        grant()
        await asyncio.sleep(60)
        assert sites.seen == [("green", "old"), ("blue", "old")]

    async def test_a_shard_begins_without_a_namespace_that_it_may_not_see(self, sites: Sites, world: World) -> None:
        grant = await sites.revoke("blue")
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        assert shard.open
        assert sites.seen == [("green", "old")]
        grant()
        await asyncio.sleep(60)
        assert sites.seen == [("green", "old"), ("blue", "old")]

    async def test_one_that_may_see_nothing_does_not_begin(self, sites: Sites, world: World) -> None:
        grant = await sites.revoke("blue", "green")
        opening = asyncio.create_task(world.running(sites.controller))
        await asyncio.sleep(60)
        assert not opening.done()
        grant()
        await opening
        await asyncio.sleep(60)
        assert sorted(sites.seen) == [("blue", "old"), ("green", "old")]

    @pytest.mark.parametrize("marked", [False, True], ids=["list", "watermark"])
    async def test_what_was_not_seen_at_a_claim_is_listed_after_it_before_anything_acts(
        self, sites: Sites, world: World, marked: bool
    ) -> None:
        """The former owner wrote in a namespace that the standby cannot see."""
        former = await world.running(sites.controller)
        standby = world.shard(sites.controller)
        await standby.prewarm()
        await asyncio.sleep(5)
        watermark = await former.drain(1.0)
        grant = await sites.revoke("blue")
        await sites.change("blue", "by the former owner")
        sites.seen.clear()
        await standby.activate(world.tenure(epoch=2), watermark if marked else None, previous_epoch=1)
        await asyncio.sleep(30)
        assert sites.seen == [("green", "old")]
        assert held(standby) == {"blue": "old", "green": "old"}
        grant()
        await asyncio.sleep(60)
        assert sites.seen == [("green", "old"), ("blue", "by the former owner")]

    async def test_who_did_not_see_a_namespace_leaves_no_mark(self, sites: Sites, world: World) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        await sites.revoke("blue")
        assert (await shard.drain(1.0)).marks == {}

    async def test_who_waits_for_a_list_waits_for_no_namespace_that_is_not_seen(
        self, sites: Sites, world: World
    ) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        asked = feed(shard).relist()
        assert int(await asked) >= int(feed(shard).store.resource_version)
        grant = await sites.revoke("blue")
        async with asyncio.timeout(60):
            await feed(shard).relist()
        both = await sites.revoke("green")
        none = feed(shard).relist()
        await asyncio.sleep(60)
        assert not none.done()
        assert not feed(shard).synced.is_set()
        grant()
        both()
        async with asyncio.timeout(60):
            await none

    async def test_the_last_one_ends_all_watches(self, sites: Sites, world: World) -> None:
        shard = await world.running(sites.controller)
        await asyncio.sleep(5)
        await shard.stop()
        asked = feed(shard).relist()
        assert asked.cancelled()
        await asyncio.sleep(1)
        assert not [task for task in asyncio.all_tasks() if "namespace" in task.get_name()]
