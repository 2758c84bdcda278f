"""Deletions: on a live read that equals what was decided on, within the breaker; decided again where it does not."""

from __future__ import annotations

import asyncio

import pytest

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.errors import BreakerOpen, Conflict, ConflictingOwner, NotFound, Unreachable
from shards.objects import Object
from shards.ownership.acts import REDECISIONS
from shards.settings import BreakerSettings
from tests.unit.shards.ownership.desk import Desk, page
from tests.unit.shards.world import CONFIGMAPS, EVENTS, SECRETS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime


class TestDelete:
    async def make(self, desk: Desk) -> Object:
        made: Object = await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        await asyncio.sleep(1)
        return made

    async def delete(self, ctx: Context) -> None:
        await ctx.client.delete(CONFIGMAPS, "page")

    async def test_a_live_read_comes_first_and_both_preconditions_go_along(self, world: World, desk: Desk) -> None:
        made = await self.make(desk)
        await desk.do(self.delete)
        sent = [each for each in world.transport.sent if each.path.endswith("/page")]
        assert [each.method for each in sent] == ["GET", "DELETE"]
        metadata = made["metadata"]
        assert sent[1].body["preconditions"] == {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}

    async def test_the_key_waits_until_the_view_shows_the_object_gone(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        release = world.lag(CONFIGMAPS)
        await desk.do(self.delete)
        assert desk.blocked.startswith("v1/configmaps default/page deleted")
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""

    async def test_an_object_that_finalizers_hold_is_waited_for_as_it_is(self, world: World, desk: Desk) -> None:
        body = page()
        body["metadata"]["finalizers"] = ["demo/held"]
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        await asyncio.sleep(1)
        await desk.do(self.delete)
        await asyncio.sleep(1)
        assert desk.blocked == ""
        assert await world.exists(CONFIGMAPS, "page")

    async def test_a_write_that_leaves_another_finalizer_does_not(self, world: World, desk: Desk) -> None:
        body = page()
        body["metadata"]["finalizers"] = ["demo/held", "demo/other"]
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        await asyncio.sleep(1)
        await desk.do(lambda ctx: ctx.client.patch(CONFIGMAPS, "page", {"metadata": {"finalizers": ["demo/other"]}}))
        await asyncio.sleep(1)
        assert desk.blocked == ""
        assert await world.exists(CONFIGMAPS, "page")

    async def test_a_write_that_takes_the_last_finalizer_away_deletes_and_is_waited_for_like_it(
        self, world: World, desk: Desk
    ) -> None:
        """The answer has the version before: a view that still shows the object would pass for one that shows this."""
        body = page()
        body["metadata"]["finalizers"] = ["demo/held"]
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        await asyncio.sleep(1)
        release = world.lag(CONFIGMAPS)

        async def let_go(ctx: Context) -> Object | None:
            await ctx.client.patch(CONFIGMAPS, "page", {"metadata": {"finalizers": []}})
            return ctx.store.get(CONFIGMAPS, "page")

        assert await desk.do(let_go) is None
        assert not await world.exists(CONFIGMAPS, "page")
        assert desk.blocked.startswith("v1/configmaps default/page deleted")
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""

    async def test_an_object_that_is_gone_already_is_a_success_and_must_leave_the_view(
        self, world: World, desk: Desk
    ) -> None:
        """B11: a phantom in the cache must not make every deletion fail."""
        await self.make(desk)
        release = world.lag(CONFIGMAPS)
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        await desk.do(self.delete)
        assert world.transport.writes()[-1].method == "POST"
        assert desk.blocked.startswith("v1/configmaps default/page deleted")
        release()
        await asyncio.sleep(0.01)
        assert desk.blocked == ""

    async def test_a_deletion_that_loses_the_race_to_another_is_a_success(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.transport.fail = lambda sent: NotFound(404, "NotFound", "?") if sent.method == "DELETE" else None
        await desk.do(self.delete)
        assert desk.blocked.startswith("v1/configmaps default/page deleted")

    async def test_an_object_that_changed_since_the_decision_is_decided_again(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.lag(CONFIGMAPS)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"keep": "me"}})
        with pytest.raises(Conflict, match="has changed since the act was decided"):
            await desk.do(self.delete)
        assert await world.exists(CONFIGMAPS, "page")

        async def look(ctx: Context) -> Object | None:
            return ctx.store.get(CONFIGMAPS, "page")

        assert (await desk.do(look))["data"] == {"keep": "me"}

    async def test_an_object_that_never_stops_changing_is_deleted_in_the_end(self, world: World) -> None:
        world.website("a")
        tries = 0
        sites = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

        @sites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            nonlocal tries
            if not tries:
                await ctx.client.create(CONFIGMAPS, page())
            elif ctx.store.get(CONFIGMAPS, "page") is not None:
                await ctx.client.delete(CONFIGMAPS, "page")
            tries += 1

        await world.running(sites)
        beat = asyncio.create_task(self.beat(world))
        await asyncio.sleep(20)
        beat.cancel()
        assert not await world.exists(CONFIGMAPS, "page")
        deletions = [each for each in world.transport.writes() if each.method == "DELETE"]
        reads = world.transport.reads("delete")
        assert len(deletions) <= 2
        assert REDECISIONS < len(reads) <= REDECISIONS + 2

    async def beat(self, world: World) -> None:
        """The page changes right before every live read of it."""
        changing: list[asyncio.Task[Object]] = []

        def change(sent: Sent) -> None:
            if sent.method == "GET" and sent.agent.reason == "delete":
                patch = {"data": {"beat": str(world.clock())}}
                changing.append(asyncio.create_task(world.kubectl.merge_patch(CONFIGMAPS, "default", "page", patch)))

        world.transport.before = change
        world.transport.latency_seconds = 0.05
        await asyncio.sleep(3600)

    async def test_decisions_that_were_given_up_do_not_shorten_later_ones(self, world: World, desk: Desk) -> None:
        """Else, one old redecision after the other, a deletion would pass on a view that is not the live state."""
        await self.make(desk)
        release = world.lag(CONFIGMAPS)
        for count in range(REDECISIONS + 2):
            await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"keep": str(count)}})
            with pytest.raises(Conflict):
                await desk.do(self.delete)
            release()
            await asyncio.sleep(5)
            release = world.lag(CONFIGMAPS)
        assert await world.exists(CONFIGMAPS, "page")

    async def test_only_deletions_that_are_sent_count_for_the_breaker(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.transport.fail = lambda sent: Unreachable("down") if sent.agent.reason == "delete" else None
        breaker = world.runtime.guards_of("sites").breaker
        with pytest.raises(Unreachable):
            await desk.do(self.delete)
        world.transport.fail = lambda _: None
        await desk.do(self.delete)
        assert len(breaker._acts) == 1

    async def test_a_successor_under_the_same_name_is_never_deleted(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.lag(CONFIGMAPS)
        await world.kubectl.delete(CONFIGMAPS, "default", "page")
        world.server.seed(CONFIGMAPS, {"metadata": {"name": "page", "namespace": "default"}})
        with pytest.raises(ConflictingOwner):
            await desk.do(self.delete)
        assert await world.exists(CONFIGMAPS, "page")

    async def test_the_breaker_pauses_deletions_and_leaves_other_writes_alone(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        breaker = world.runtime.guards_of("sites").breaker
        for _ in range(BreakerSettings().failures_to_open):
            breaker.read_failed(world.clock())
        with pytest.raises(BreakerOpen, match="live reads failed in a row"):
            await desk.do(self.delete)
        assert world.metric("shardfleet_breaker_open", controller="sites") == 1
        await desk.do(lambda ctx: ctx.client.patch_status({"degraded": True}))
        await asyncio.sleep(BreakerSettings().open_seconds)
        await desk.do(self.delete)
        assert not await world.exists(CONFIGMAPS, "page")

    async def test_a_live_read_that_fails_deletes_nothing(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.transport.fail = lambda sent: Unreachable("down") if sent.agent.reason == "delete" else None
        with pytest.raises(Unreachable):
            await desk.do(self.delete)
        assert [each.method for each in world.transport.writes()] == ["POST"]


class TestTheDecisionAndItsSnapshot:
    """Patroni 3718: decided on A, sent with the version of B."""

    async def make(self, desk: Desk, name: str = "page", **data: str) -> None:
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page(name, **data)))
        await asyncio.sleep(1)

    async def test_what_the_view_showed_in_two_states_was_decided_on_the_first(self, world: World, desk: Desk) -> None:
        await self.make(desk, unused="yes")

        async def act(ctx: Context) -> None:
            read = ctx.store.get(CONFIGMAPS, "page")
            assert read is not None
            await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"unused": None, "used": "yes"}})
            await asyncio.sleep(1)
            assert [each["data"] for each in ctx.store.owned(CONFIGMAPS)] == [{"used": "yes"}]
            if read["data"].get("unused"):
                await ctx.client.delete(CONFIGMAPS, "page")

        with pytest.raises(Conflict):
            await desk.do(act)
        assert await world.exists(CONFIGMAPS, "page")

    async def test_the_object_itself_says_which_state_was_decided_on(self, world: World, desk: Desk) -> None:
        await self.make(desk)

        async def act(ctx: Context, *, second: bool) -> None:
            reads = [ctx.store.get(CONFIGMAPS, "page")]
            await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"at": str(world.clock())}})
            await asyncio.sleep(1)
            reads.append(ctx.store.get(CONFIGMAPS, "page"))
            given = reads[second]
            assert given is not None
            await ctx.client.delete(CONFIGMAPS, given)

        with pytest.raises(Conflict):
            await desk.do(lambda ctx: act(ctx, second=False))
        await desk.do(lambda ctx: act(ctx, second=True))
        assert not await world.exists(CONFIGMAPS, "page")

    async def test_who_catches_the_conflict_and_tries_again_has_not_decided_again(
        self, world: World, desk: Desk
    ) -> None:
        await self.make(desk)
        world.lag(CONFIGMAPS)
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "page", {"data": {"keep": "me"}})

        async def act(ctx: Context) -> list[str]:
            caught = []
            for _ in range(REDECISIONS + 3):
                try:
                    await ctx.client.delete(CONFIGMAPS, "page")
                except Conflict as error:
                    caught.append(str(error))
            try:
                await ctx.client.patch(CONFIGMAPS, "page", {"data": {"keep": None}})
            except Conflict as error:
                caught.append(str(error))
            return caught

        assert len(await desk.do(act)) == REDECISIONS + 4
        assert (await world.kubectl.get(CONFIGMAPS, "default", "page"))["data"] == {"keep": "me"}
        assert len(world.transport.reads("delete")) == 1

    async def test_a_swallowed_conflict_does_not_end_the_matter(self, world: World) -> None:
        """The key runs again though its function said that all is well, and though nothing else wakes it."""
        world.website("a")
        world.server.seed(EVENTS, {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": {}})
        runs = 0
        sites = Controller("sites", primary=str(WEBSITES))

        @sites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            nonlocal runs
            runs += 1
            found = await ctx.live.get(EVENTS, "e")
            if found is None:
                return
            if runs == 1:
                await world.kubectl.merge_patch(EVENTS, "default", "e", {"message": "changed"})
            try:
                await ctx.client.delete(EVENTS, found)
            except Conflict:
                ctx.log.info("never mind")

        await world.running(sites)
        await asyncio.sleep(5)
        assert (runs, await world.exists(EVENTS, "e")) == (2, False)

    async def test_an_object_that_the_view_does_not_show_yet_was_not_decided_on(self, world: World, desk: Desk) -> None:
        await desk.open()
        world.lag(SECRETS)
        world.server.seed(SECRETS, {"metadata": {"name": "s", "namespace": "default"}})

        async def act(ctx: Context) -> bool:
            seen = ctx.store.get(SECRETS, "s") is not None
            await ctx.client.delete(SECRETS, "s")
            return seen

        with pytest.raises(Conflict):
            await desk.do(act)
        assert await world.exists(SECRETS, "s")
        assert await desk.do(act)
        assert not await world.exists(SECRETS, "s")

    async def test_an_object_without_a_view_is_deleted_as_it_was_read(self, world: World, desk: Desk) -> None:
        event = {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": {}}
        world.server.seed(EVENTS, event)

        async def late(ctx: Context) -> None:
            await ctx.live.get(EVENTS, "e")
            await world.kubectl.merge_patch(EVENTS, "default", "e", {"message": "changed"})
            await ctx.client.delete(EVENTS, "e")

        with pytest.raises(Conflict):
            await desk.do(late)
        await desk.do(lambda ctx: ctx.client.delete(EVENTS, "e"))
        assert not await world.exists(EVENTS, "e")


class TestWhatADecisionRestsOn:
    """B07: the guard of a quorum lets a second member go before the first one has left its view."""

    async def members(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> None:
            for name in ("one", "two", "three"):
                await ctx.client.create(CONFIGMAPS, page(name))

        await desk.do(act)
        await asyncio.sleep(1)

    async def test_the_second_deletion_comes_only_after_the_first_was_seen(self, world: World, desk: Desk) -> None:
        await self.members(world, desk)
        world.lag(CONFIGMAPS, 2.0)

        async def act(ctx: Context) -> int:
            members = ctx.store.owned(CONFIGMAPS)
            await ctx.client.delete(CONFIGMAPS, members[0], reads=members)
            await ctx.client.delete(CONFIGMAPS, members[1], reads=members)
            return len(members)

        with pytest.raises(Conflict):
            await desk.do(act)
        assert [each.path[-3:] for each in world.transport.writes() if each.method == "DELETE"] == ["one"]

        async def count(ctx: Context) -> int:
            return len(ctx.store.owned(CONFIGMAPS))

        assert await desk.do(count) == 2

    async def test_somebody_elses_change_of_one_of_them_sends_the_decision_back(self, world: World, desk: Desk) -> None:
        await self.members(world, desk)
        world.lag(CONFIGMAPS)
        await world.kubectl.delete(CONFIGMAPS, "default", "three")

        async def act(ctx: Context) -> None:
            members = ctx.store.owned(CONFIGMAPS)
            if len(members) == 3:
                await ctx.client.delete(CONFIGMAPS, members[0], reads=members)

        with pytest.raises(Conflict, match="three"):
            await desk.do(act)
        await desk.do(act)
        assert await world.exists(CONFIGMAPS, "one")


class TestAnswersToDeletions:
    async def make(self, desk: Desk) -> None:
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page()))
        await asyncio.sleep(1)

    async def delete(self, ctx: Context) -> None:
        await ctx.client.delete(CONFIGMAPS, "page")

    async def test_a_404_of_something_else_is_no_success(self, world: World, desk: Desk) -> None:
        await self.make(desk)
        world.transport.fail = lambda sent: NotFound(404, "", "no such page") if sent.method == "DELETE" else None
        with pytest.raises(NotFound):
            await desk.do(self.delete)
        assert world.metric("shardfleet_destructive_acts_total", controller="sites", act="delete", reason="",
                            result="failed") == 1  # fmt: skip

    async def test_what_is_being_deleted_is_not_deleted_again(self, world: World, desk: Desk) -> None:
        body = page()
        body["metadata"]["finalizers"] = ["demo/held"]
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, body))
        await asyncio.sleep(1)
        for _ in range(5):
            await desk.do(self.delete)
            await asyncio.sleep(1)
        assert [each.method for each in world.transport.writes()] == ["POST", "DELETE"]
        assert len(world.runtime.guards_of("sites").breaker._acts) == 1

    async def test_one_phantom_does_not_keep_the_others(self, world: World, desk: Desk) -> None:
        """B11"""

        async def make(ctx: Context) -> None:
            for number in range(8):
                await ctx.client.create(CONFIGMAPS, page(f"page-{number}"))

        async def delete_all(ctx: Context) -> int:
            owned = ctx.store.owned(CONFIGMAPS)
            for each in owned:
                await ctx.client.delete(CONFIGMAPS, each)
            return len(owned)

        await desk.do(make)
        await asyncio.sleep(5)
        world.lag(CONFIGMAPS)
        await world.kubectl.delete(CONFIGMAPS, "default", "page-3")
        assert await desk.do(delete_all) == 8
        assert [await world.exists(CONFIGMAPS, f"page-{number}") for number in range(8)] == [False] * 8

    async def test_a_run_that_is_cancelled_between_read_and_deletion_has_sent_nothing(
        self, world: World, desk: Desk
    ) -> None:
        await self.make(desk)
        assert desk.shard is not None
        engine = desk.shard._engines[0]

        def cancel(sent: Sent) -> None:
            if sent.agent.reason == "delete":
                engine.cancel_running()

        world.transport.before = cancel
        world.transport.latency_seconds = 0.05
        with pytest.raises(TimeoutError):
            await desk.do(self.delete)
        assert [each.method for each in world.transport.writes()] == ["POST"]
        assert desk.blocked == ""

    async def test_while_a_shard_drains_a_deletion_still_ends_and_nothing_follows(
        self, world: World, desk: Desk
    ) -> None:
        await self.make(desk)
        assert desk.shard is not None
        world.transport.latency_seconds = 0.5
        deleting = asyncio.create_task(desk.do(self.delete))
        await asyncio.sleep(0.1)
        await desk.shard.drain(5.0)
        await deleting
        assert not await world.exists(CONFIGMAPS, "page")
        assert desk.fence.on_the_wire == set()
