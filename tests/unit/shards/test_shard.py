"""One shard against an embedded API server: start, drain and stop in order, and what its views must have seen."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.api.client import PARTIAL, PARTIAL_LIST
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.authoring.plain_context import PlainContext
from shards.errors import ConfigError, NotOwner, Undrained
from shards.gates.handover_gate import MAX_UNSEEN
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.handover import SEEN_SECONDS
from shards.keyrange import WHOLE, KeyRange, fnv1a64, slot_of
from shards.objects import SLOT_LABEL, Meta, Object, ObjectName, Resource
from shards.ownership.tenure import Tenure
from shards.settings import GateSettings, ScopeSettings, ShardSettings
from shards.shard import Shard
from tests.unit.shards.world import CONFIGMAPS, SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime

NAMESPACES = Resource("", "v1", "namespaces")


def site_controller() -> Controller:
    """Writes a page for every website, and its size into the status."""
    websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        body = {"metadata": {"name": f"{request.name}-page"}, "data": {"html": site["spec"].get("text", "")}}
        await ctx.client.ensure(CONFIGMAPS, body)
        await ctx.client.patch_status({"size": len(site["spec"].get("text", ""))})

    return websites


async def settled(seconds: float = 3.0) -> None:
    """Lets everything happen that happens within that (virtual) time."""
    await asyncio.sleep(seconds)


class TestRunning:
    async def test_every_primary_is_reconciled_and_stays_quiet_afterwards(self, world: World) -> None:
        for name in ("a", "b", "c"):
            world.website(name, text=name * 3)
        shard = await world.running(site_controller())
        assert shard.open
        await settled()
        for name in ("a", "b", "c"):
            page = await world.kubectl.get(CONFIGMAPS, "default", f"{name}-page")
            assert page["data"] == {"html": name * 3}
            assert (await world.kubectl.get(WEBSITES, "default", name))["status"] == {"size": 3}
        writes = len(world.transport.writes())
        assert writes == 6
        await settled(600)
        assert len(world.transport.writes()) == writes

    async def test_children_carry_their_owner_and_the_slot_of_its_uid(self, world: World) -> None:
        site = world.website("a", text="x")
        await world.running(site_controller())
        await settled()
        metadata = (await world.kubectl.get(CONFIGMAPS, "default", "a-page"))["metadata"]
        owner = metadata["ownerReferences"][0]
        assert (owner["uid"], owner["kind"], owner["controller"]) == (site["metadata"]["uid"], "Website", True)
        assert metadata["labels"][SLOT_LABEL] == slot_of(site["metadata"]["uid"])

    async def test_a_change_of_a_child_wakes_its_primary(self, world: World) -> None:
        world.website("a", text="x")
        await world.running(site_controller())
        await settled()
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "a-page", {"data": {"html": "defaced"}})
        await settled()
        assert (await world.kubectl.get(CONFIGMAPS, "default", "a-page"))["data"] == {"html": "x"}

    async def test_a_deleted_child_is_made_again(self, world: World) -> None:
        world.website("a", text="x")
        await world.running(site_controller())
        await settled()
        await world.kubectl.delete(CONFIGMAPS, "default", "a-page")
        await settled()
        assert await world.exists(CONFIGMAPS, "a-page")

    async def test_a_watched_object_wakes_the_primaries_that_the_author_names(self, world: World) -> None:
        seen: list[str] = []
        websites = Controller("websites", primary=str(WEBSITES))
        websites.watches(str(SECRETS), map=lambda meta: [ObjectName("default", meta.name.removesuffix("-key"))])

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            key = ctx.store.get(SECRETS, f"{request.name}-key")
            seen.append(key["data"]["token"] if key else "none")

        world.website("a")
        await world.running(websites)
        await settled()
        world.server.seed(SECRETS, {"metadata": {"name": "a-key", "namespace": "default"}, "data": {"token": "MTIz"}})
        await settled()
        assert seen == ["none", "MTIz"]

    async def test_a_mapping_function_that_raises_costs_no_other_controller_its_keys(self, world: World) -> None:
        def broken_map(meta: Meta) -> list[ObjectName]:
            raise ZeroDivisionError

        woken: list[str] = []
        broken = Controller("broken", primary=str(WEBSITES)).watches(str(SECRETS), map=broken_map)
        sound = Controller("sound", primary=str(WEBSITES))
        sound.watches(str(SECRETS), map=lambda _: [ObjectName("default", "a")])

        @broken.reconcile
        async def nothing(ctx: Context) -> None: ...

        @sound.reconcile
        async def note(ctx: Context, request: Request) -> None:
            woken.append(request.name)

        world.website("a")
        await world.running([broken, sound])
        await settled()
        world.server.seed(SECRETS, {"metadata": {"name": "s", "namespace": "default"}})
        await settled()
        assert woken == ["a", "a"]

    async def test_controllers_share_the_informer_of_a_resource_and_role(self, world: World) -> None:
        shard = world.shard([site_controller(), replace_name(site_controller(), "other")])
        await shard.prewarm()
        lists = [each for each in world.transport.sent if each.method == "GET" and each.agent.reason == "informer"]
        assert sorted({each.path for each in lists}) == sorted([WEBSITES.path(), CONFIGMAPS.path()])
        assert len(lists) == 2

    async def test_controllers_with_their_own_selectors_have_their_own_views(self, world: World) -> None:
        seen: dict[str, set[str]] = {"red": set(), "blue": set(), "all": set()}

        def painter(name: str, selector: str) -> Controller:
            made = Controller(name, primary=str(WEBSITES), label_selector=selector)

            @made.reconcile
            async def reconcile(ctx: Context, request: Request) -> None:
                seen[name].add(request.name)

            return made

        for name in ("red", "blue"):
            world.server.seed(WEBSITES, {"metadata": {"name": name, "namespace": "default", "labels": {"c": name}}})
        shard = await world.running([painter("red", "c=red"), painter("blue", "c=blue"), painter("all", "")])
        await settled()
        assert seen == {"red": {"red"}, "blue": {"blue"}, "all": {"red", "blue"}}
        assert list(shard.views) == [str(WEBSITES), f"{WEBSITES}#2", f"{WEBSITES}#3"]

    async def test_a_watched_resource_is_held_as_its_declaration_selects(self, world: World) -> None:
        websites = Controller("websites", primary=str(WEBSITES))
        websites.watches(str(SECRETS), map=lambda _: [], label_selector="use=site", metadata_only=True)

        @websites.reconcile
        async def reconcile(ctx: Context) -> None: ...

        for name, labels in (("mine", {"use": "site"}), ("other", {})):
            world.server.seed(
                SECRETS, {"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {"k": "dg=="}}
            )
        shard = await world.running(websites)
        store = shard.views[str(SECRETS)].store
        assert [meta.name for meta in store.metas()] == ["mine"]
        assert "data" not in (store.get(ObjectName("default", "mine")) or {})

    @pytest.mark.parametrize("sharded", [False, True], ids=["shared", "of its own"])
    async def test_of_what_is_held_as_metadata_the_rest_is_not_even_sent(self, world: World, sharded: bool) -> None:
        world.runtime.server_side_sharding = sharded
        websites = Controller("websites", primary=str(WEBSITES), metadata_only=True).owns(str(CONFIGMAPS))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            await ctx.client.ensure(CONFIGMAPS, {"metadata": {"name": f"{request.name}-page"}})

        site = world.website("a", text="x" * 1000)
        shard = await world.running(websites)
        await settled()
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"metadata": {"labels": {"tier": "web"}}})
        await settled()
        store = shard.views[str(WEBSITES)].store
        found = store.get(ObjectName("default", "a"))
        assert found is not None
        assert (set(found), found["apiVersion"]) == ({"apiVersion", "metadata"}, WEBSITES.api_version)
        assert found["metadata"]["labels"] == {"tier": "web"}
        page = await world.kubectl.get(CONFIGMAPS, "default", "a-page")
        assert page["metadata"]["ownerReferences"][0]["kind"] == site["kind"]
        accepts = {(path, accept) for path, accept in world.transport.accepted if "website" in path}
        assert accepts == {(WEBSITES.path(), PARTIAL_LIST), (WEBSITES.path(), PARTIAL)}

    async def test_what_a_transform_drops_is_not_in_the_view_and_cannot_be_lost_by_an_update(
        self, world: World
    ) -> None:
        def without_notes(body: Object) -> Object:
            body["spec"].pop("notes", None)
            return body

        websites = Controller("websites", primary=str(WEBSITES), transform=without_notes)
        refused: list[str] = []

        @websites.reconcile
        async def reconcile(ctx: Context) -> None:
            site = ctx.store.get()
            assert site is not None
            assert site["spec"] == {"text": "x"}
            try:
                await ctx.client.update(WEBSITES, site)
            except ConfigError as error:
                refused.append(str(error))

        world.website("a", text="x", notes="long")
        await world.running(websites)
        await settled()
        assert "patch" in refused[0]
        assert (await world.kubectl.get(WEBSITES, "default", "a"))["spec"]["notes"] == "long"

    async def test_only_keys_of_the_range_are_reconciled(self, world: World) -> None:
        sites = [world.website(f"s{index}", text="x") for index in range(20)]
        half = KeyRange(0, (1 << 63) - 1)
        shard = world.shard(site_controller(), half)
        await shard.activate(world.tenure(of=half), None, previous_epoch=0)
        await settled()
        for site in sites:
            ours = fnv1a64(site["metadata"]["uid"]) in half
            assert await world.exists(CONFIGMAPS, f"{site['metadata']['name']}-page") == ours

    async def test_load_says_what_the_shard_holds_and_does(self, world: World) -> None:
        for name in ("a", "b"):
            world.website(name, text="x")
        shard = await world.running(site_controller())
        await settled(30)
        load = shard.load()
        assert load["objects"] == 2
        assert load["queue_depth"] == load["parked"] == 0
        assert load["reconciles_per_second"] > 0
        assert shard.first_reconcile_at is not None
        assert shard.current_keys() == []

    async def test_of_several_namespaces_all_are_reconciled_and_no_other(self, world: World) -> None:
        world.runtime.settings = ShardSettings(scope=ScopeSettings(namespaces=("blue", "default")))
        for namespace in ("blue", "default", "red"):
            if namespace != "default":
                world.server.seed(NAMESPACES, {"metadata": {"name": namespace}})
            world.server.seed(WEBSITES, {"metadata": {"name": "a", "namespace": namespace}, "spec": {"text": "x"}})
        await world.running(site_controller())
        await settled()
        pages = [each["metadata"]["namespace"] for each in (await world.kubectl.list(CONFIGMAPS))["items"]]
        assert sorted(each for each in pages if each != "kube-system") == ["blue", "default"]
        lists = [each.path for each in world.transport.reads("informer")]
        assert sorted(lists) == sorted([WEBSITES.path(), CONFIGMAPS.path()])

    async def test_one_namespace_of_the_scope_is_the_only_one_that_is_listed(self, world: World) -> None:
        world.runtime.settings = ShardSettings(scope=ScopeSettings(namespaces=("default",)))
        await world.shard(site_controller()).prewarm()
        assert {each.path for each in world.transport.sent} == {WEBSITES.path("default"), CONFIGMAPS.path("default")}


def replace_name(controller: Controller, name: str) -> Controller:
    controller.name = name
    return controller


class TestStandby:
    async def test_a_standby_holds_the_view_and_reconciles_nothing(self, world: World) -> None:
        world.website("a", text="x")
        shard = world.shard(site_controller())
        await shard.prewarm()
        await settled()
        assert shard.load()["objects"] == 1
        assert not shard.open
        assert world.transport.writes() == []
        assert shard.first_reconcile_at is None

    async def test_changes_during_the_standby_are_reconciled_after_it(self, world: World) -> None:
        shard = world.shard(site_controller())
        await shard.prewarm()
        world.website("late", text="x")
        await settled()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        await settled()
        assert await world.exists(CONFIGMAPS, "late-page")

    async def test_what_changed_during_the_standby_comes_before_all_that_the_last_owner_looked_after(
        self, world: World
    ) -> None:
        runs: list[str] = []

        async def body(ctx: Context, request: Request) -> None:
            runs.append(request.name)
            await asyncio.sleep(0.1)

        for index in range(500):
            world.website(f"s{index:03}", text="x")
        sites = Controller("sites", primary=str(WEBSITES))
        sites.reconcile(body)
        shard = world.shard(sites)
        await shard.prewarm()
        await world.kubectl.merge_patch(WEBSITES, "default", "s300", {"spec": {"text": "y"}})
        await settled()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        await asyncio.sleep(0.05)
        assert runs[0] == "s300"
        await asyncio.sleep(20.0)
        assert len(runs) == len(set(runs)) == 500

    async def test_a_standby_can_be_stopped_again_and_again(self, world: World) -> None:
        shard = world.shard(site_controller())
        await shard.prewarm()
        await shard.stop()
        await shard.stop()
        with pytest.raises(NotOwner):
            await shard.activate(world.tenure(), None, previous_epoch=0)

    async def test_a_shard_that_was_never_opened_drains_to_a_watermark_without_marks(self, world: World) -> None:
        shard = world.shard(site_controller())
        assert await shard.drain(1.0) == Watermark(0)
        await shard.stop()


class TestActivation:
    async def test_without_a_watermark_it_opens_by_a_list_that_began_after_the_claim(self, world: World) -> None:
        shard = world.shard(site_controller())
        await shard.prewarm()
        world.transport.sent.clear()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        assert sorted(each.path for each in world.transport.sent) == sorted([WEBSITES.path(), CONFIGMAPS.path()])
        assert world.metric("shardfleet_handover_gate_seconds_count", how="list") == 1

    async def test_a_watermark_that_the_view_has_reached_opens_it_at_once(self, world: World) -> None:
        old, new, tenure = await self.handover(world)
        mark = await old.drain(1.0)
        await old.stop()
        before = world.clock()
        world.transport.sent.clear()
        await new.activate(tenure, mark, previous_epoch=1)
        assert new.open
        assert world.clock() - before < 0.01
        assert [each for each in world.transport.sent if each.agent.reason == "informer"] == []
        assert world.metric("shardfleet_handover_gate_seconds_count", how="watermark") == 1

    async def test_a_watermark_of_another_epoch_is_not_believed(self, world: World) -> None:
        old, new, tenure = await self.handover(world)
        mark = await old.drain(1.0)
        await old.stop()
        await new.activate(tenure, replace(mark, epoch=7), previous_epoch=1)
        assert world.metric("shardfleet_handover_gate_seconds_count", how="list") == 2

    async def test_a_view_behind_the_watermark_waits_for_it(self, world: World) -> None:
        old, new, tenure = await self.handover(world)
        world.lag(CONFIGMAPS, 1.0)
        world.website("late", text="x")
        await asyncio.sleep(0.05)
        mark = await old.drain(1.0)
        await old.stop()
        assert mark.marks[str(CONFIGMAPS)].unseen
        before = world.clock()
        await new.activate(tenure, mark, previous_epoch=1)
        assert 0.3 < world.clock() - before < 1.1
        assert world.metric("shardfleet_handover_gate_seconds_count", how="watermark") == 1

    async def test_a_watermark_that_is_not_reached_in_time_is_replaced_by_a_list(self, world: World) -> None:
        old, new, tenure = await self.handover(world)
        world.lag(CONFIGMAPS)
        world.website("late", text="x")
        await asyncio.sleep(0.05)
        mark = await old.drain(1.0)
        await old.stop()
        before = world.clock()
        await new.activate(tenure, mark, previous_epoch=1)
        assert 2.0 <= world.clock() - before < 2.5
        assert world.metric("shardfleet_handover_gate_seconds_count", how="list") == 2
        await settled(10)
        creates = [each for each in world.transport.writes() if each.method == "POST"]
        assert len(creates) == len({each.body["metadata"]["name"] for each in creates})

    async def test_a_tenure_that_ends_while_the_gate_is_closed_never_opens_the_shard(self, world: World) -> None:
        shard = world.shard(site_controller())
        await shard.prewarm()
        world.lag(CONFIGMAPS)
        mark = Watermark(1, {str(WEBSITES): ResourceMark("other digest", "1")})
        tenure = world.tenure(seconds=0.0)
        with pytest.raises(NotOwner):
            await shard.activate(tenure, mark, previous_epoch=1)
        assert not shard.open

    async def test_with_the_gate_switched_off_nothing_is_held_back(self, world: World) -> None:
        world.runtime.change(ShardSettings(gate=GateSettings(enabled=False)))
        shard = world.shard(site_controller())
        await shard.prewarm()
        world.transport.sent.clear()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        assert world.transport.sent == []

    async def handover(self, world: World) -> tuple[Shard, Shard, Tenure]:
        """An owner that has settled, a synced standby, and the tenure that the standby will get."""
        world.website("a", text="x")
        old = await world.running(site_controller())
        new = world.shard(site_controller())
        await new.prewarm()
        await settled()
        return old, new, world.tenure(epoch=2)


class TestDrain:
    async def test_the_watermark_names_epoch_digest_and_the_highest_version_of_each_view(self, world: World) -> None:
        world.website("a", text="x")
        shard = await world.running(site_controller())
        await settled()
        mark = await shard.drain(1.0)
        site = await world.kubectl.get(WEBSITES, "default", "a")
        page = await world.kubectl.get(CONFIGMAPS, "default", "a-page")
        assert mark.epoch == 1
        assert mark.marks[str(WEBSITES)].resource_version == site["metadata"]["resourceVersion"]
        assert mark.marks[str(CONFIGMAPS)].resource_version == page["metadata"]["resourceVersion"]
        assert all(each.digest and not each.unseen for each in mark.marks.values())

    async def test_writes_that_the_view_never_showed_ride_in_the_watermark_one_by_one(self, world: World) -> None:
        world.website("a", text="x")
        shard = world.shard(site_controller())
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS)
        await asyncio.sleep(0.01)
        before = world.clock()
        mark = await shard.drain(1.0)
        assert world.clock() == before, "the next owner's view waits for them, while it claims"
        page = (await world.kubectl.get(CONFIGMAPS, "default", "a-page"))["metadata"]
        expected = Unseen(str(CONFIGMAPS), "default", "a-page", page["uid"], page["resourceVersion"])
        assert mark.marks[str(CONFIGMAPS)].unseen == (expected,)
        assert mark.marks[str(CONFIGMAPS)].resource_version == page["resourceVersion"]

    async def test_a_drain_waits_for_its_view_only_where_the_watermark_could_not_name_all_that_it_lacks(
        self, world: World
    ) -> None:
        for index in range(MAX_UNSEEN + 1):
            world.website(f"w{index}", text="x")
        shard = world.shard(site_controller())
        await shard.prewarm()
        await shard.activate(world.tenure(), None, previous_epoch=0)
        world.lag(CONFIGMAPS)
        await asyncio.sleep(0.2)
        before = world.clock()
        mark = await shard.drain(1.0)
        assert world.clock() - before == pytest.approx(SEEN_SECONDS, abs=0.05)
        assert str(CONFIGMAPS) not in mark.marks

    async def test_a_write_in_doubt_leaves_no_mark_for_its_resource(self, world: World) -> None:
        world.website("a", text="x")
        shard = world.shard(site_controller())
        await shard.prewarm()
        world.server.faults.inject(LostAck(match=Match(verbs=("create",))))
        await shard.activate(world.tenure(), None, previous_epoch=0)
        await asyncio.sleep(0.01)
        mark = await shard.drain(1.0)
        assert str(CONFIGMAPS) not in mark.marks
        assert str(WEBSITES) in mark.marks

    async def test_running_reconciles_end_within_the_grace_and_no_new_one_begins(self, world: World) -> None:
        ended: list[str] = []
        slow = slow_controller(ended, seconds=0.5)
        for index in range(20):
            world.website(f"s{index}")
        shard = await world.running(slow)
        await asyncio.sleep(0.1)
        running = len(shard.current_keys())
        assert running == world.settings.queue.max_concurrent_reconciles
        await shard.drain(1.0)
        assert len(ended) == running
        await settled(5)
        assert len(ended) == running

    async def test_what_does_not_end_within_the_grace_is_cancelled(self, world: World) -> None:
        ended: list[str] = []
        world.website("a")
        shard = await world.running(slow_controller(ended, seconds=50))
        await asyncio.sleep(0.1)
        before = world.clock()
        await shard.drain(1.0)
        assert 1.0 <= world.clock() - before < 1.2
        assert ended == []
        assert world.metric("controller_runtime_reconcile_total", controller="slow", result="cancelled") == 1

    async def test_the_grace_never_outlives_the_lease(self, world: World) -> None:
        world.website("a")
        shard = world.shard(slow_controller([], seconds=50))
        await shard.activate(world.tenure(seconds=2.0), None, previous_epoch=0)
        await asyncio.sleep(0.5)
        before = world.clock()
        await shard.drain(30.0)
        assert world.clock() - before < 2.0

    async def test_nothing_is_written_after_the_drain(self, world: World) -> None:
        world.website("a", text="x")
        shard = await world.running(site_controller())
        await settled()
        await shard.drain(1.0)
        writes = len(world.transport.writes())
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "a-page", {"data": {"html": "defaced"}})
        world.website("b", text="x")
        await settled(30)
        assert len(world.transport.writes()) == writes

    async def test_a_reconcile_that_refuses_to_be_cancelled_is_reported(self, world: World) -> None:
        release = asyncio.Event()
        stubborn = Controller("stubborn", primary=str(WEBSITES))

        @stubborn.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        world.website("a")
        shard = await world.running(stubborn)
        await asyncio.sleep(0.1)
        with pytest.raises(Undrained, match="stubborn cannot be cancelled: default/a"):
            await shard.drain(0.1)
        release.set()

    async def test_a_request_that_a_reconcile_left_behind_is_reset_before_the_drain_ends(self, world: World) -> None:
        """R4: what is on the wire when the shard is released could land in its next owner's time."""
        left: list[asyncio.Task[object]] = []
        careless = Controller("careless", primary=str(WEBSITES))

        @careless.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            left.append(asyncio.create_task(ctx.client.patch_status({"late": True})))
            await asyncio.sleep(0.1)

        world.website("a")
        world.transport.latency_seconds = 5.0
        shard = await world.running(careless)
        await asyncio.sleep(0.5)
        mark = await shard.drain(1.0)
        assert left[0].cancelled()
        assert str(WEBSITES) not in mark.marks

    async def test_a_plain_function_that_runs_past_the_grace_is_reported_and_loses_the_right_to_write(
        self, world: World
    ) -> None:
        release, began, refused = threading.Event(), asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        plain = Controller("plain", primary=str(WEBSITES))

        @plain.reconcile
        def reconcile(ctx: PlainContext, request: Request) -> None:
            loop.call_soon_threadsafe(began.set)
            release.wait(30)
            try:
                ctx.client.patch_status({"late": True})
            except NotOwner:
                loop.call_soon_threadsafe(refused.set)

        world.website("a")
        shard = await world.running(plain)
        await began.wait()
        with pytest.raises(Undrained):
            await shard.drain(0.1)
        release.set()
        await refused.wait()
        assert world.transport.writes() == []
        world.runtime.close()


def slow_controller(ended: list[str], seconds: float) -> Controller:
    slow = Controller("slow", primary=str(WEBSITES))

    @slow.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result | None:
        await asyncio.sleep(seconds)
        ended.append(request.name)
        return None

    return slow


class TestDeadline:
    async def test_a_reconcile_that_runs_past_the_deadline_is_cancelled(self, world: World) -> None:
        ended: list[str] = []
        world.website("a")
        shard = world.shard(slow_controller(ended, seconds=5.0))
        await shard.activate(world.tenure(seconds=1.0), None, previous_epoch=0)
        await settled(30)
        assert ended == []
        assert world.metric("controller_runtime_reconcile_total", controller="slow", result="cancelled") == 1
        assert shard.current_keys() == []

    async def test_keys_go_on_when_a_late_renewal_is_acknowledged_after_all(self, world: World) -> None:
        ended: list[str] = []
        until = [world.clock() + 1.0]
        world.website("a")
        shard = world.shard(slow_controller(ended, seconds=0.8))
        await shard.activate(Tenure("m", 1, WHOLE, 1, until=lambda: until[0]), None, previous_epoch=0)
        await asyncio.sleep(1.5)
        world.website("b")
        await settled(5)
        assert ended == ["a"]
        until[0] = world.clock() + 100.0
        await settled(5)
        assert ended == ["a", "b"]
