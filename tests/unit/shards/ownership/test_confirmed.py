"""Acts outside the API: confirmed by live reads, bounded in time, counted as what they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shards.authoring.context import LEASES, Context, Request
from shards.authoring.controller import Controller
from shards.authoring.plain_context import PlainContext
from shards.errors import ApiError, BreakerOpen, ConfigError, Conflict, NotOwner, NotReadyYet, Unreachable
from shards.keyrange import WHOLE
from shards.objects import Object, ObjectName
from shards.ownership.acts import MOST_READS, REDECISIONS, Absent
from shards.ownership.confirmed import FRESH_SECONDS
from shards.ownership.live import Guards
from shards.ownership.tenure import Tenure
from shards.settings import BreakerSettings, GateSettings
from tests.unit.shards.ownership.desk import Act, Desk, page
from tests.unit.shards.world import CONFIGMAPS, EVENTS, SECRETS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime

Inside = Callable[[Any], Awaitable[None]]


class Cloud:
    """What lives outside the API."""

    def __init__(self) -> None:
        self.failovers = 0
        self.had_seconds = 0.0

    async def failover(self, ctx: Context, **options: Any) -> None:
        site = ctx.store.get()
        assert site is not None
        async with ctx.confirmed(site, reason="failover", **options) as act:
            self.had_seconds = act.remaining_seconds
            self.failovers += 1


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


def done(world: World, result: str) -> float:
    labels = {"controller": "sites", "act": "confirmed", "reason": "failover", "result": result}
    return world.metric("shardfleet_destructive_acts_total", **labels)


class TestWhatIsConfirmed:
    async def test_the_block_is_entered_on_a_live_read_of_what_was_decided_on(
        self, world: World, desk: Desk, cloud: Cloud, caplog: pytest.LogCaptureFixture
    ) -> None:
        desk.seconds = 100.0
        with caplog.at_level(logging.INFO):
            await desk.do(cloud.failover)
        assert cloud.failovers == 1
        assert cloud.had_seconds == pytest.approx(99, abs=0.1)
        assert len(world.transport.reads("confirmed")) == 1
        assert done(world, "ok") == 1
        assert len(world.runtime.guards_of("sites").breaker._acts) == 1
        assert "sites default/a failover: confirmed" in caplog.text

    async def test_what_changed_since_is_decided_again_on_the_live_object(
        self, world: World, desk: Desk, cloud: Cloud
    ) -> None:
        await desk.open()
        world.lag(WEBSITES)
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "do not"}})
        with pytest.raises(Conflict, match="has changed since the act was decided"):
            await desk.do(cloud.failover)
        assert (cloud.failovers, done(world, "conflict")) == (0, 1)

        async def again(ctx: Context) -> None:
            site = ctx.store.get()
            if site is not None and site["spec"]["text"] != "do not":
                await cloud.failover(ctx)

        await desk.do(again)
        assert cloud.failovers == 0

    async def test_a_successor_of_the_name_is_another_object(self, world: World, desk: Desk, cloud: Cloud) -> None:
        await desk.open()
        world.lag(WEBSITES)
        await world.kubectl.delete(WEBSITES, "default", "a")
        world.website("a", text="x")
        with pytest.raises(Conflict):
            await desk.do(cloud.failover)
        assert cloud.failovers == 0

    async def test_all_that_the_decision_rests_on_is_read(self, world: World, desk: Desk, cloud: Cloud) -> None:
        await desk.do(lambda ctx: ctx.client.create(CONFIGMAPS, page("members", alive="1")))
        await asyncio.sleep(1)
        world.lag(CONFIGMAPS)

        async def act(ctx: Context) -> None:
            await cloud.failover(ctx, reads=[ctx.store.get(CONFIGMAPS, "members"), Absent(SECRETS, "hold")])

        await desk.do(act)
        assert len(world.transport.reads("confirmed")) == 3
        await world.kubectl.merge_patch(CONFIGMAPS, "default", "members", {"data": {"alive": "2"}})
        with pytest.raises(Conflict, match="default/members"):
            await desk.do(act)
        await desk.do(act)
        assert cloud.failovers == 2

    async def test_what_must_not_exist_must_not_exist(self, world: World, desk: Desk, cloud: Cloud) -> None:
        await desk.open()
        world.lag(SECRETS)
        world.server.seed(SECRETS, {"metadata": {"name": "hold", "namespace": "default"}})
        hold = Absent("v1/secrets", ObjectName("default", "hold"))
        with pytest.raises(Conflict, match="v1/secrets default/hold"):
            await desk.do(lambda ctx: cloud.failover(ctx, reads=[hold]))
        assert cloud.failovers == 0

    async def test_what_must_not_exist_did_not_while_all_else_was_as_decided(
        self, world: World, desk: Desk, cloud: Cloud
    ) -> None:
        """Between two live reads the object moves on and the hold goes: there was no instant to act at."""
        await desk.open()
        world.lag(SECRETS)
        world.server.seed(SECRETS, {"metadata": {"name": "hold", "namespace": "default"}})
        moving: list[asyncio.Task[None]] = []

        async def move() -> None:
            await world.kubectl.merge_patch(WEBSITES, "default", "a", {"spec": {"text": "do not"}})
            await world.kubectl.delete(SECRETS, "default", "hold")

        def between(sent: Sent) -> None:
            if len(world.transport.reads("confirmed")) == 2 and not moving:
                moving.append(asyncio.create_task(move()))

        world.transport.before = between
        world.transport.latency_seconds = 0.05
        with pytest.raises(Conflict):
            await desk.do(lambda ctx: cloud.failover(ctx, reads=[Absent(SECRETS, "hold")]))
        assert cloud.failovers == 0

    async def test_an_object_without_a_view_is_one_that_was_read_live(
        self, world: World, desk: Desk, cloud: Cloud
    ) -> None:
        world.server.seed(EVENTS, {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": {}})

        async def act(ctx: Context) -> None:
            await cloud.failover(ctx, reads=[await ctx.live.get(EVENTS, "e")])

        await desk.do(act)
        assert cloud.failovers == 1

    @pytest.mark.parametrize(("part", "acts"), [("status", 1), ("spec", 0)])
    async def test_a_status_that_never_stops_changing_does_not_stop_it_but_a_spec_does(
        self, world: World, cloud: Cloud, part: str, acts: int
    ) -> None:
        world.website("a", text="x")
        sites = Controller("sites", primary=str(WEBSITES))
        changing: list[asyncio.Task[Object]] = []

        @sites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            if not cloud.failovers:
                await cloud.failover(ctx)

        def change(sent: Sent) -> None:
            if sent.agent.reason == "confirmed":
                patch = {part: {"beat": str(world.clock())}}
                sub = "status" if part == "status" else ""
                write = world.kubectl.merge_patch(WEBSITES, "default", "a", patch, subresource=sub)
                changing.append(asyncio.create_task(write))

        world.transport.before = change
        world.transport.latency_seconds = 0.05
        await world.running(sites)
        await asyncio.sleep(20)
        assert cloud.failovers == acts
        assert len(world.transport.reads("confirmed")) > REDECISIONS

    async def test_what_was_not_read_in_this_run_is_refused(self, world: World, desk: Desk) -> None:
        stranger = {"metadata": {"name": "s", "uid": "nobody", "resourceVersion": "7"}}

        def act(given: Any) -> Act:
            async def enter(ctx: Context) -> None:
                async with ctx.confirmed(given, reason="failover"):
                    raise AssertionError("never entered")

            return enter

        with pytest.raises(ConfigError, match="'s' was not read in this run"):
            await desk.do(act(stranger))
        for given in (None, {}, {"metadata": {"name": "x"}}, "a"):
            with pytest.raises(ConfigError, match=r"give objects as ctx\.store or ctx\.live gave them"):
                await desk.do(act(given))
        many = [Absent(SECRETS, str(number)) for number in range(MOST_READS + 1)]
        with pytest.raises(ConfigError, match="at most 16 objects"):
            await desk.do(lambda ctx: Cloud().failover(ctx, reads=many))

    @pytest.mark.parametrize("reason", ["", "Fail over", "x" * 70, "site/a"])
    async def test_a_reason_is_a_constant_word(self, desk: Desk, reason: str) -> None:
        async def act(ctx: Context) -> None:
            site = ctx.store.get()
            assert site is not None
            ctx.confirmed(site, reason=reason)

        with pytest.raises(ConfigError, match=r"confirmed\.reason"):
            await desk.do(act)


class TestWhatHoldsInside:
    async def test_a_tenure_that_is_over_is_noticed_before_and_told_after(
        self, world: World, desk: Desk, cloud: Cloud
    ) -> None:
        await desk.open()
        fence = desk.fence

        async def act(ctx: Context) -> None:
            site = ctx.store.get()
            assert site is not None
            async with ctx.confirmed(site, reason="failover") as act:
                fence.tenure = Tenure("m", 1, WHOLE, 1, until=lambda: world.clock() - 1)
                assert act.remaining_seconds == 0.0
            with pytest.raises(NotOwner):
                await cloud.failover(ctx)

        await desk.do(act)
        assert done(world, "late") == 1
        assert cloud.failovers == 0

    async def test_an_exception_passes_and_the_act_counts_all_the_same(self, world: World, desk: Desk) -> None:
        async def act(ctx: Context) -> None:
            site = ctx.store.get()
            assert site is not None
            async with ctx.confirmed(site, reason="failover"):
                raise OSError("the cloud is down")

        with pytest.raises(OSError, match="the cloud is down"):
            await desk.do(act)
        assert done(world, "failed") == 1
        assert len(world.runtime.guards_of("sites").breaker._acts) == 1

    async def test_a_cancellation_passes_and_is_told(self, world: World, desk: Desk) -> None:
        await desk.open()
        entered = asyncio.Event()

        async def act(ctx: Context) -> None:
            site = ctx.store.get()
            assert site is not None
            async with ctx.confirmed(site, reason="failover"):
                entered.set()
                await asyncio.sleep(1000)

        doing = asyncio.create_task(desk.do(act))
        await entered.wait()
        assert desk.shard is not None
        await desk.shard.drain(0.5)
        doing.cancel()
        assert done(world, "cancelled") == 1

    async def test_the_breaker_pauses_it(self, world: World, desk: Desk, cloud: Cloud) -> None:
        await desk.open()
        breaker = world.runtime.guards_of("sites").breaker
        for _ in range(BreakerSettings().failures_to_open):
            breaker.read_failed(world.clock())
        with pytest.raises(BreakerOpen):
            await desk.do(cloud.failover)
        assert (cloud.failovers, done(world, "paused")) == (0, 1)

    @pytest.mark.parametrize("error", [Unreachable("down"), ApiError(500)])
    async def test_a_live_read_that_fails_lets_nobody_in(
        self, world: World, desk: Desk, cloud: Cloud, error: Exception
    ) -> None:
        world.transport.fail = lambda sent: error if sent.agent.reason == "confirmed" else None
        with pytest.raises(type(error)):
            await desk.do(cloud.failover)
        assert (cloud.failovers, done(world, "failed")) == (0, 1)

    async def test_reads_that_took_too_long_are_made_again(self, world: World, desk: Desk, cloud: Cloud) -> None:
        world.transport.latency_seconds = FRESH_SECONDS + 0.1
        with pytest.raises(NotReadyYet, match="took longer than"):
            await desk.do(cloud.failover)
        assert cloud.failovers == 0

    async def test_it_costs_the_budget_of_live_reads(self, world: World, desk: Desk, cloud: Cloud) -> None:
        world.runtime.guards["sites"] = Guards.of(GateSettings(live_reads_per_second=0.1), world.clock())
        await desk.do(cloud.failover)
        with pytest.raises(NotReadyYet, match="over their budget"):
            await desk.do(cloud.failover)
        assert cloud.failovers == 1


class TestLeases:
    async def lease(self, world: World) -> None:
        spec = {"holderIdentity": "old", "leaseDurationSeconds": 15}
        world.server.seed(LEASES, {"metadata": {"name": "leader", "namespace": "default"}, "spec": spec})

    async def test_the_key_comes_back_when_the_rest_of_the_time_has_passed(self, world: World) -> None:
        """It holds no slot meanwhile, counts no failure, and costs two live reads in all."""
        await self.lease(world)
        world.website("a")
        taken: list[float] = []
        began = world.clock()
        sites = Controller("sites", primary=str(WEBSITES))

        @sites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            if await ctx.confirm_lease_expired("default", "leader"):
                taken.append(world.clock() - began)

        await world.running(sites)
        await asyncio.sleep(5)
        assert world.runtime.slots.held("sites") == 0
        await asyncio.sleep(20)
        assert taken == [pytest.approx(15, abs=0.1)]
        assert len(world.transport.reads("lease")) == 2
        assert world.metric("controller_runtime_reconcile_total", controller="sites", result="error") == 0

    async def test_one_that_is_renewed_is_never_taken(self, world: World, desk: Desk) -> None:
        await self.lease(world)
        with pytest.raises(NotReadyYet, match=r"default/leader is watched for 15\.0 s more"):
            await desk.do(lambda ctx: ctx.confirm_lease_expired("default", "leader"))
        for second in range(30):
            await world.kubectl.merge_patch(LEASES, "default", "leader", {"spec": {"leaseTransitions": second}})
            await asyncio.sleep(10)
            assert not await desk.do(lambda ctx: ctx.confirm_lease_expired("default", "leader"))

    async def test_a_lease_that_cannot_be_read_has_not_expired(self, world: World, desk: Desk) -> None:
        await self.lease(world)
        with pytest.raises(NotReadyYet):
            await desk.do(lambda ctx: ctx.confirm_lease_expired("default", "leader"))
        await asyncio.sleep(20)
        world.transport.fail = lambda sent: Unreachable("down") if sent.agent.reason == "lease" else None
        with pytest.raises(Unreachable):
            await desk.do(lambda ctx: ctx.confirm_lease_expired("default", "leader"))


class TestPlainFunctions:
    async def test_it_is_an_ordinary_with(self, world: World) -> None:
        world.website("a", text="x")
        told: list[Any] = []
        plain = Controller("sites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

        @plain.reconcile
        def reconcile(ctx: PlainContext, request: Request) -> None:
            if told:
                return
            site = ctx.store.get()
            assert site is not None
            told.append(ctx.confirm_absent(CONFIGMAPS, "page"))
            with ctx.confirmed(site, reason="failover", reads=[Absent(CONFIGMAPS, "page")]) as act:
                told.append(act.remaining_seconds > 1000)
            try:
                with ctx.confirmed(site, reason="failover"):
                    raise OSError("the cloud is down")
            except OSError as error:
                told.append(str(error))
            ctx.client.create(CONFIGMAPS, page())
            ctx.client.delete(CONFIGMAPS, "page", reads=[site])
            try:
                ctx.confirm_lease_expired("default", "leader")
            except NotReadyYet as error:
                told.append(error.after_seconds)

        await world.running(plain)
        while len(told) < 4:
            await asyncio.sleep(0.01)
        assert told == [True, True, "the cloud is down", pytest.approx(40, abs=0.1)]
        assert (done(world, "ok"), done(world, "failed")) == (1, 1)
        assert not await world.exists(CONFIGMAPS, "page")
        world.runtime.close()
