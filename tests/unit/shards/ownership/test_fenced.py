"""The fenced client: what every request carries, and what the gate learns from every answer."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LostAck
from shards.authoring.context import Context
from shards.errors import (
    AlreadyExists,
    ApiError,
    ConfigError,
    Conflict,
    ConflictingOwner,
    NotFound,
    NotOwner,
    NotReadyYet,
    TerminalError,
    Unreachable,
)
from shards.keyrange import WHOLE, slot_of
from shards.objects import SLOT_LABEL, Object, ObjectName
from shards.ownership.fenced_requests import LEASE_PART
from shards.ownership.live import Guards
from shards.ownership.tenure import Tenure
from shards.settings import GateSettings
from shards.stores.store_reader import StoreReader
from tests.unit.shards.ownership.desk import Act, Desk, page
from tests.unit.shards.world import CONFIGMAPS, EVENTS, SECRETS, WEBSITES, World

pytestmark = pytest.mark.looptime


class TestWhatARequestCarries:
    async def test_the_deadline_and_a_timeout_below_the_remaining_lease(self, world: World, desk: Desk) -> None:
        desk.seconds = 11.0
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        (sent,) = world.transport.writes()
        assert sent.not_after is not None
        assert sent.not_after - sent.at == pytest.approx(10.0, abs=0.1)
        assert sent.timeout_seconds == pytest.approx((sent.not_after - sent.at) * LEASE_PART)

    async def test_who_asks_for_which_key_on_what_view(self, world: World, desk: Desk) -> None:
        await desk.do(lambda ctx: ctx.client.patch_status({"size": 1}))
        agent = world.transport.writes()[0].agent
        assert (agent.member, agent.epoch, agent.range) == ("worker-0", "3", str(WHOLE))
        assert (agent.key, agent.uid, agent.reason) == ("default/a", desk.site["metadata"]["uid"], "status")
        assert int(agent.cache) >= int(desk.site["metadata"]["resourceVersion"])

    async def test_the_view_named_is_never_older_than_the_writes_of_the_key_before(
        self, world: World, desk: Desk
    ) -> None:
        async def act(ctx: Context) -> None:
            await ctx.client.create(CONFIGMAPS, page("one"))
            await ctx.client.create(CONFIGMAPS, page("two"))

        await desk.do(act)
        first = (await world.kubectl.get(CONFIGMAPS, "default", "one"))["metadata"]["resourceVersion"]
        assert int(world.transport.writes()[1].agent.cache) >= int(first)

    async def test_uid_and_version_of_the_snapshot_that_was_read(self, world: World, desk: Desk) -> None:
        """The store moves on while the reconcile thinks; the write must still say what it was decided on."""
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page(html="one")))
        await asyncio.sleep(1)

        async def act(ctx: Context) -> None:
            read = ctx.store.get(CONFIGMAPS, "page")
            assert read is not None
            await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"html": "two"}})
            await asyncio.sleep(1)
            await ctx.client.patch(CONFIGMAPS, "page", {"data": {"html": "three"}})

        with pytest.raises(Conflict):
            await desk.do(act)
        assert (await world.kubectl.get(CONFIGMAPS, "default", "page"))["data"] == {"html": "two"}

    async def test_a_second_write_builds_on_the_answer_of_the_first(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> None:
            await ctx.client.create(CONFIGMAPS, page())
            await ctx.client.patch(CONFIGMAPS, "page", {"data": {"a": "1"}})
            await ctx.client.patch(CONFIGMAPS, "page", {"data": {"b": "2"}})
            read = ctx.store.get(CONFIGMAPS, "page")
            assert read is not None
            assert read["data"] == {"a": "1", "b": "2"}

        world.lag(CONFIGMAPS)
        await desk.do(act)

    async def test_after_the_deadline_nothing_is_sent(self, world: World, desk: Desk) -> None:
        await desk.open()
        assert desk.shard is not None
        fence = desk.shard._engines[0].fence
        assert fence is not None

        async def act(ctx: Context) -> None:
            fence.tenure = Tenure("m", 1, WHOLE, 1, until=lambda: world.clock() - 1)
            await ctx.client.create(CONFIGMAPS, page())

        with pytest.raises(NotOwner):
            await desk.do(act)
        assert world.transport.writes() == []
        assert desk.blocked == ""

    async def test_a_transport_that_finds_the_deadline_past_leaves_no_doubt(self, world: World, desk: Desk) -> None:
        world.transport.fail = lambda sent: NotOwner("too late") if sent.method == "POST" else None
        with pytest.raises(NotOwner):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        assert desk.blocked == ""


class TestCreate:
    async def test_a_generated_name_is_refused_unless_the_author_insists(self, world: World, desk: Desk) -> None:
        body = {"metadata": {"generateName": "page-"}}
        with pytest.raises(ConfigError, match="give a name that follows from the primary"):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        made = await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body, allow_generate_name=True))
        assert made["metadata"]["name"].startswith("page-")
        await asyncio.sleep(1)
        assert desk.blocked == ""

    async def test_the_callers_object_is_left_alone(self, desk: Desk) -> None:
        body = page()
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        assert body == page()

    async def test_another_controller_or_namespace_is_refused(self, desk: Desk) -> None:
        foreign = {"metadata": {"name": "p", "ownerReferences": [{"uid": "other", "controller": True}]}}
        with pytest.raises(ConfigError, match="ownerReferences"):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, foreign))
        with pytest.raises(ConfigError, match="must be default, where its owner is"):
            await desk.do(
                lambda ctx: ctx.client.create(CONFIGMAPS, {"metadata": {"name": "p", "namespace": "kube-system"}})
            )

    async def test_a_kind_that_the_author_left_out_is_discovered_once(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> list[Object]:
            return [await ctx.client.create(CONFIGMAPS, {"metadata": {"name": name}}) for name in ("one", "two")]

        assert [each["kind"] for each in await desk.do(act)] == ["ConfigMap", "ConfigMap"]
        assert [each.path for each in world.transport.sent].count("/api/v1") == 1

    async def test_other_resources_get_no_owner_and_no_gate(self, world: World, desk: Desk) -> None:
        body = {"metadata": {"name": "e", "namespace": "default"}, "reason": "Built", "involvedObject": {}}
        made = await desk.do(lambda ctx: ctx.client.create(EVENTS, body))
        assert "ownerReferences" not in made["metadata"]
        assert desk.blocked == ""

    async def test_the_key_waits_until_the_view_shows_what_it_created(self, world: World, desk: Desk) -> None:
        release = world.lag(CONFIGMAPS)
        made = await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        assert desk.blocked == f"v1/configmaps default/page landed {made['metadata']['resourceVersion']}"
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""

    async def test_nothing_is_created_for_a_primary_that_is_gone(self, world: World, desk: Desk) -> None:
        await desk.open()
        await world.kubectl.delete(WEBSITES, "default", "a")
        await asyncio.sleep(1)
        with pytest.raises(TerminalError):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        with pytest.raises(TerminalError):
            await desk.do(lambda ctx: ctx.client.patch_status({"size": 1}))
        assert world.transport.writes() == []

    async def test_a_primary_that_was_recreated_under_its_name_is_gone_for_the_old_key(
        self, world: World, desk: Desk
    ) -> None:
        """B05: the old key must neither read nor write the new object."""
        await desk.open()
        await world.kubectl.delete(WEBSITES, "default", "a")
        world.website("a", text="new")
        await asyncio.sleep(1)

        async def act(ctx: Context) -> Object | None:
            return ctx.store.get()

        assert await desk.do(act) is None
        with pytest.raises(TerminalError):
            await desk.do(lambda ctx: ctx.client.patch_status({"size": 1}))

    async def test_the_old_key_never_writes_to_the_successor_of_its_primary(self, world: World, desk: Desk) -> None:
        await desk.open()
        await world.kubectl.delete(WEBSITES, "default", "a")
        new = world.website("a", text="new")
        await asyncio.sleep(1)
        spec = {"spec": {"text": "old"}}
        body = {**new, "metadata": {"name": "a", "namespace": "default", "resourceVersion": "7"}}
        acts: list[Act] = [
            lambda ctx: ctx.client.patch(WEBSITES, "a", spec),
            lambda ctx: ctx.client.delete(WEBSITES, "a"),
        ]
        for act in acts:
            with pytest.raises(TerminalError, match="another one"):
                await desk.do(act)
        with pytest.raises(Conflict):
            await desk.do(lambda ctx: ctx.client.update(WEBSITES, body))
        assert (await world.kubectl.get(WEBSITES, "default", "a"))["spec"] == new["spec"]

    async def test_a_child_is_not_made_again_and_again_for_a_primary_that_is_gone(
        self, world: World, desk: Desk
    ) -> None:
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page()))
        world.lag(WEBSITES)
        await world.kubectl.delete(WEBSITES, "default", "a")
        await world.server.collect_garbage()
        await asyncio.sleep(1)
        with pytest.raises(TerminalError, match="is gone"):
            await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page()))
        assert desk.blocked.startswith(f"{WEBSITES} default/a deleted")
        assert len(world.transport.reads("owner")) == 1

    async def test_a_child_that_somebody_deletes_is_made_again_after_a_look_at_its_owner(
        self, world: World, desk: Desk
    ) -> None:
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page()))
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        await asyncio.sleep(1)
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page()))
        assert await world.exists(CONFIGMAPS, "page")
        assert len(world.transport.reads("owner")) == 1

    async def test_an_own_child_that_lost_its_label_gets_it_again_when_it_is_created(
        self, world: World, desk: Desk
    ) -> None:
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        await asyncio.sleep(61)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"metadata": {"labels": {SLOT_LABEL: None}}})
        await asyncio.sleep(1)
        with pytest.raises(AlreadyExists):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        found = await world.kubectl.get(CONFIGMAPS, "default", "page")
        assert found["metadata"]["labels"][SLOT_LABEL] == slot_of(desk.site["metadata"]["uid"])

    async def test_a_generated_name_whose_answer_was_lost_is_found_among_the_children(
        self, world: World, desk: Desk
    ) -> None:
        await desk.open()
        release = world.lag(CONFIGMAPS)
        world.server.faults.inject(LostAck(match=Match(verbs=("create",)), times=1))
        body = {"kind": "ConfigMap", "metadata": {"generateName": "page-"}}
        with pytest.raises(Unreachable):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body, allow_generate_name=True))

        async def look(ctx: Context) -> int:
            return len(ctx.store.owned(CONFIGMAPS))

        assert await desk.do(look) == 1
        assert desk.blocked.startswith("v1/configmaps default/page-")
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""


class TestAnswers:
    @pytest.mark.parametrize(
        ("error", "blocked"),
        [
            (Unreachable("cut"), "v1/configmaps default/page in doubt"),
            (Unreachable("refused", maybe_applied=False), ""),
            (ApiError(500, "InternalError", "?"), "v1/configmaps default/page in doubt"),
            (ApiError(429, "TooManyRequests", "?"), ""),
            (ApiError(403, "Forbidden", "?"), ""),
            (AlreadyExists(409, "AlreadyExists", "?"), "v1/configmaps default/page refused as stale"),
            (RuntimeError("a bug in the transport"), "v1/configmaps default/page in doubt"),
        ],
    )
    async def test_what_may_have_been_carried_out_is_in_doubt(
        self, world: World, desk: Desk, error: Exception, blocked: str
    ) -> None:
        world.transport.fail = lambda sent: error if sent.method == "POST" else None
        with pytest.raises(type(error)):
            await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        assert desk.blocked == blocked

    async def test_a_request_that_is_cancelled_on_the_wire_is_in_doubt(self, world: World, desk: Desk) -> None:
        await desk.open()
        world.transport.latency_seconds = 5.0

        async def act(ctx: Context) -> None:
            async with asyncio.timeout(1):
                await ctx.client.create(CONFIGMAPS, page())

        with pytest.raises(TimeoutError):
            await desk.do(act)
        assert desk.blocked == "v1/configmaps default/page in doubt"


class TestEnsure:
    async def test_it_creates_then_does_nothing_then_patches_what_differs(self, world: World, desk: Desk) -> None:
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1", b="2")))
        await asyncio.sleep(1)
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1", b="2")))
        await asyncio.sleep(1)
        changed = await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1", b="3")))
        assert changed["data"] == {"a": "1", "b": "3"}
        methods = [each.method for each in world.transport.writes()]
        assert methods == ["POST", "PATCH"]
        assert world.transport.writes()[1].body["data"] == {"b": "3"}

    async def test_fields_that_others_set_are_left_alone(self, world: World, desk: Desk) -> None:
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        await world.kubectl.merge_patch(
            CONFIGMAPS, "default", "page", {"data": {"z": "9"}, "metadata": {"labels": {"team": "web"}}}
        )
        await asyncio.sleep(1)
        kept = await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        assert kept["data"] == {"a": "1", "z": "9"}
        assert len(world.transport.writes()) == 1

    async def test_an_own_object_whose_label_was_removed_is_found_live_and_mended(
        self, world: World, desk: Desk
    ) -> None:
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"metadata": {"labels": {SLOT_LABEL: None}}})
        await asyncio.sleep(1)
        mended = await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        assert mended["metadata"]["labels"][SLOT_LABEL] == slot_of(desk.site["metadata"]["uid"])
        await asyncio.sleep(1)
        assert desk.blocked == ""
        assert [each.error for each in world.transport.writes() if each.method == "POST"] == ["", "AlreadyExists"]

    async def test_an_object_of_somebody_else_is_never_adopted(self, world: World, desk: Desk) -> None:
        world.server.seed(CONFIGMAPS, {"metadata": {"name": "page", "namespace": "default"}, "data": {"a": "theirs"}})
        with pytest.raises(ConflictingOwner, match="has no controller, not by default/a"):
            await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))
        assert (await world.kubectl.get(CONFIGMAPS, "default", "page"))["data"] == {"a": "theirs"}

    async def test_an_object_that_is_being_deleted_is_waited_for(self, world: World, desk: Desk) -> None:
        """B10: skipping it without a retry would leave it gone for ever."""
        body = page(a="1")
        body["metadata"]["finalizers"] = ["demo/held"]
        await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, body))
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        await asyncio.sleep(1)
        with pytest.raises(NotReadyYet, match="is being deleted"):
            await desk.do(lambda ctx: ctx.client.ensure(CONFIGMAPS, page(a="1")))

    async def test_only_owned_resources_are_ensured(self, desk: Desk) -> None:
        with pytest.raises(ConfigError, match="declare it with owns"):
            await desk.do(lambda ctx: ctx.client.ensure(SECRETS, page()))


class TestUpdateAndPatch:
    async def test_an_update_needs_the_version_that_was_read(self, world: World, desk: Desk) -> None:
        with pytest.raises(ValueError, match="resourceVersion"):
            await desk.do(
                lambda ctx: ctx.client.update(CONFIGMAPS, {"metadata": {"name": "p", "namespace": "default"}})
            )
        assert world.transport.writes() == []

    @pytest.mark.parametrize("metadata", [*({"resourceVersion": each} for each in (None, "0", "00", "")), {"uid": ""}])
    async def test_a_precondition_cannot_be_taken_away(
        self, world: World, desk: Desk, metadata: dict[str, str | None]
    ) -> None:
        """A merge patch with null, and an update with "0", would replace whatever is there."""
        with pytest.raises(ValueError):
            await desk.do(lambda ctx: ctx.client.patch(WEBSITES, "a", {"metadata": metadata, "spec": {}}))
        assert world.transport.writes() == []

    @pytest.mark.parametrize("version", ["v7", "07"])
    async def test_versions_of_other_forms_are_preconditions_too(self, world: World, desk: Desk, version: str) -> None:
        """Of aggregated APIs: the server that gave such a version out says whether it is still the same."""
        read = {"uid": "u", "resourceVersion": version}
        with pytest.raises(ApiError):
            await desk.do(lambda ctx: ctx.client.update(EVENTS, {"metadata": {**read, "name": "e"}}))
        (sent,) = world.transport.writes()
        assert sent.body["metadata"] == {**read, "name": "e"}

    async def test_an_update_replaces_what_was_read(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> Object:
            made = await ctx.client.create(CONFIGMAPS, page(a="1"))
            made["data"] = {"b": "2"}
            return await ctx.client.update(CONFIGMAPS, made)

        assert (await desk.do(act))["data"] == {"b": "2"}

    async def test_an_update_of_what_was_read_from_a_trimmed_view_is_refused(
        self, world: World, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would remove from the server what was only left out here."""
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page(a="1")))
        await asyncio.sleep(1)
        monkeypatch.setattr(StoreReader, "partial", True)
        sent = len(world.transport.writes())

        async def from_the_view(ctx: Context) -> Object:
            found = ctx.store.get(CONFIGMAPS, "page")
            assert found is not None
            return await ctx.client.update(CONFIGMAPS, found)

        async def from_the_server(ctx: Context) -> Object:
            found = await ctx.live.get(CONFIGMAPS, "page")
            assert found is not None
            return await ctx.client.update(CONFIGMAPS, {**found, "data": {"b": "2"}})

        with pytest.raises(ConfigError, match="trimmed"):
            await desk.do(from_the_view)
        assert len(world.transport.writes()) == sent
        assert (await desk.do(from_the_server))["data"] == {"b": "2"}

    async def test_lists_and_structs_are_read_from_the_view(self, world: World, desk: Desk) -> None:
        class Site(msgspec.Struct):
            spec: dict[str, Any]

        async def act(ctx: Context) -> tuple[list[str], Site | None, Site | None]:
            await ctx.client.create(CONFIGMAPS, {**page("q"), "metadata": {"name": "q", "labels": {"app": "x"}}})
            listed = [each["metadata"]["name"] for each in ctx.store.list(CONFIGMAPS, labels={"app": "x"})]
            return listed, ctx.store.get_as(Site), ctx.store.get_as(Site, WEBSITES, "a")

        listed, own, named = await desk.do(act)
        assert listed == ["q"]
        assert own == named
        assert own is not None
        assert own.spec["text"] == "x"

    async def test_what_was_never_read_is_read_live_before_it_is_patched(self, world: World, desk: Desk) -> None:
        event = {"metadata": {"name": "e", "namespace": "default"}, "reason": "Built", "involvedObject": {}}
        world.server.seed(EVENTS, event)
        await desk.do(lambda ctx: ctx.client.patch(EVENTS, "e", {"message": "done"}))
        sent = world.transport.writes()[0]
        assert sent.body["metadata"].keys() == {"uid", "resourceVersion"}
        with pytest.raises(NotFound):
            await desk.do(lambda ctx: ctx.client.patch(EVENTS, "nothing", {}))

    async def test_a_status_is_written_only_when_it_differs(self, world: World, desk: Desk) -> None:
        def write(size: int) -> Act:
            return lambda ctx: ctx.client.patch_status({"size": size, "parts": [size]})

        for size in (1, 1, 2):
            await desk.do(write(size))
            await asyncio.sleep(1)
        assert [each.body["status"] for each in world.transport.writes()] == [
            {"size": 1, "parts": [1]},
            {"size": 2, "parts": [2]},
        ]


class TestReads:
    async def test_a_resource_that_was_not_declared_must_be_read_live(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> Object | None:
            return ctx.store.get(EVENTS, "e")

        with pytest.raises(ConfigError, match=r"neither owns nor watches it; declare it, or use ctx\.live"):
            await desk.do(act)

    async def test_a_live_read_goes_above_the_view_and_the_next_reconcile_sees_no_less(
        self, world: World, desk: Desk
    ) -> None:
        await desk.open()
        world.lag(SECRETS)
        world.server.seed(SECRETS, {"metadata": {"name": "s", "namespace": "default"}})

        async def live(ctx: Context) -> tuple[bool, bool]:
            before = ctx.store.get(SECRETS, "s") is not None
            await ctx.live.get(SECRETS, "s")
            return before, ctx.store.get(SECRETS, ObjectName("default", "s")) is not None

        assert await desk.do(live) == (False, True)
        assert await desk.do(live) == (True, True)
        assert len(world.transport.reads("gate")) == 1

    async def test_absence_is_confirmed_by_the_server_only(self, world: World, desk: Desk) -> None:
        world.lag(SECRETS)
        assert await desk.do(lambda ctx: ctx.confirm_absent(SECRETS, "s"))
        world.server.seed(SECRETS, {"metadata": {"name": "s", "namespace": "default"}})
        assert not await desk.do(lambda ctx: ctx.confirm_absent(SECRETS, "s"))

    async def test_live_reads_beyond_the_budget_make_the_key_wait(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> None:
            for _ in range(100):
                await ctx.live.get(SECRETS, "s")

        world.runtime.guards["sites"] = Guards.of(GateSettings(live_reads_per_second=0.1), world.clock())
        with pytest.raises(NotReadyYet, match="over their budget"):
            await desk.do(act)
