"""Limits of requests on whole fleets: no membership is lost to them, and the budget holds while members change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.devcluster.recording.journal import EVENT, Entry
from shards import Context, Controller, Request, Result
from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.keyrange import KeyRange
from shards.limits.request_limiter import LimitedTransport, RequestLimiter
from shards.settings import ClientSettings, GateSettings, ShardSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

SETTINGS = ShardSettings(gate=GateSettings())
COORDINATION = {"coordination", "coordinator", "events", ""}
"""Reasons in the User-Agents of requests that no limit holds back; "" for what does not come from shards."""


def restless(member: str) -> Controller:
    """Writes a status at every look, and wants to look again at once: as many requests as it is let."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result:
        site = ctx.store.get()
        if site is not None:
            looks = (site.get("status") or {}).get("observedGeneration", 0)
            await ctx.client.patch_status({"observedGeneration": looks + 1})
        return Result(requeue_after_seconds=0.01)

    return websites


def limited(**settings: float) -> ShardSettings:
    return replace(SETTINGS, client=ClientSettings(**settings))  # type: ignore[arg-type]


STARVED = limited(requests_per_second=1 / 30, burst=40)
"""Enough to open the views, and then two requests a minute."""

UNSETTLED = frozenset({"I9", "I10", "I19", "I26"})
"""What a starved fleet cannot keep: that changes are reconciled soon, and that a ready worker makes progress."""


class HeldBack(SmallFleet):
    """What must not be: renewals wait in the same line as everything else."""

    def _coordination(self, user_agent: Callable[[], str], transport: Transport) -> KubernetesCoordination:
        made = super()._coordination(user_agent, transport)
        limiter = RequestLimiter(self.settings.client, loop_seconds)
        made._api.transport = LimitedTransport(made._api.transport, limiter)
        return made


async def add_websites(fleet: SmallFleet, count: int) -> None:
    for i in range(count):
        await fleet.client.create(WEBSITES, "default", website(f"site-{i}"))


def limited_requests(fleet: SmallFleet) -> list[float]:
    """When members sent what a limit is for."""
    recorder = fleet.server.recorder
    assert recorder is not None
    return [entry.time for entry in recorder.entries if _is_limited(entry)]


def _is_limited(entry: Entry) -> bool:
    agent = UserAgent.parse(entry.user_agent)
    return entry.verb != EVENT and agent is not None and agent.reason not in COORDINATION


def held(fleet: SmallFleet) -> dict[KeyRange, str]:
    """Which member may act on what, whether its views are there or not."""
    return {
        each: name
        for name, worker in fleet.members.items()
        for each, runner in worker.runners.items()
        if runner.holding
    }


def most_within(times: list[float], seconds: float) -> int:
    return max(sum(begin <= at < begin + seconds for at in times) for begin in times)


async def test_a_limit_that_starves_the_shards_costs_no_worker_its_lease() -> None:
    """Two requests a minute a worker, and others wait all the time: no epoch is lost, every range has its owner."""
    fleet = SmallFleet(restless, shards=8, settings=STARVED, breaks=UNSETTLED)
    async with running(fleet, "a", "b") as fleet:
        await add_websites(fleet, 40)
        await asyncio.sleep(5.0)
        owners = held(fleet)
        assert set(owners.values()) == {"a", "b"}
        for _ in range(30):
            await asyncio.sleep(LEASE_SECONDS / 2)
            assert all(runtime.limiter.waiting > 0 for runtime in fleet.runtimes.values())
            assert all(worker.member.until() > loop_seconds() for worker in fleet.members.values())
        assert {name: worker.member.epoch for name, worker in fleet.members.items()} == {"a": 1, "b": 1}
        assert held(fleet) == owners
        assert len(limited_requests(fleet)) <= 2 * (40 + 30 * LEASE_SECONDS / 2 / 30)
        assert fleet.deaths == []


async def test_renewals_in_the_same_line_would_cost_them_their_leases() -> None:
    fleet = HeldBack(restless, shards=2, settings=STARVED)
    await fleet.start("a", "b")
    try:
        await asyncio.sleep(20 * LEASE_SECONDS)
        assert not any(worker.member.until() > loop_seconds() for worker in fleet.members.values())
    finally:
        await fleet.stop()


async def test_a_range_that_moves_while_its_requests_wait_moves_in_time() -> None:
    fleet = SmallFleet(restless, shards=4, settings=STARVED)
    async with running(fleet, "a", "b") as fleet:
        await add_websites(fleet, 20)
        await asyncio.sleep(5.0)
        await fleet.crash("b")
        await eventually(
            lambda: set(held(fleet).values()) == {"a"} and len(held(fleet)) == 4,
            within_seconds=LEASE_SECONDS + 4.0,
            what="a holds every range",
        )
        assert fleet.members["a"].member.epoch == 1
        assert fleet.deaths == []


def parts(fleet: SmallFleet) -> dict[str, float]:
    return {name: fleet.runtimes[name].limiter.part for name in fleet.members}


async def test_the_fleet_s_budget_holds_while_members_come_and_go() -> None:
    """However many there are, together they send what one alone may, and no less than most of it."""
    rate = 20.0
    fleet = SmallFleet(restless, shards=8, settings=limited(fleet_requests_per_second=rate))
    async with running(fleet, "a") as fleet:
        await add_websites(fleet, 40)
        await asyncio.sleep(10)
        assert parts(fleet) == {"a": pytest.approx(1.0, abs=0.01)}
        fleet.join("b")
        await asyncio.sleep(10)
        assert parts(fleet) == {"a": pytest.approx(0.5, abs=0.02), "b": pytest.approx(0.5, abs=0.02)}
        fleet.join("c")
        await asyncio.sleep(20)
        assert list(parts(fleet).values()) == [pytest.approx(1 / 3, abs=0.03)] * 3
        await fleet.leave("b")
        await asyncio.sleep(20)
        assert sum(parts(fleet).values()) == pytest.approx(1.0, abs=0.03)
        await fleet.crash("c")
        await asyncio.sleep(20)
        assert parts(fleet) == {"a": pytest.approx(1.0, abs=0.02)}

        times = limited_requests(fleet)
        # A second's worth may have been saved up by each part; the parts themselves never exceed the whole.
        assert most_within(times, 10.0) <= 10 * rate + rate + 3
        assert sum(5 <= at - times[0] < 10 for at in times) >= 0.8 * 5 * rate
        assert sum(at >= times[-1] - 5 for at in times) >= 0.8 * 5 * rate


def busy_on(busy: str) -> Callable[[str], Controller]:
    """Restless on one member; on the others nothing is asked of the server."""

    def make(member: str) -> Controller:
        if member == busy:
            return restless(member)
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None: ...

        return websites

    return make


async def test_a_member_with_much_to_do_gets_what_the_others_do_not_need() -> None:
    rate = 40.0
    fleet = SmallFleet(
        busy_on("a"), shards=8, settings=limited(fleet_requests_per_second=rate), breaks=frozenset({"I10"})
    )
    async with running(fleet, "a", "b", "c", "d") as fleet:
        await add_websites(fleet, 40)
        await asyncio.sleep(60)
        shares = parts(fleet)
        assert shares["a"] > 0.75
        assert min(shares.values()) >= 0.25 / 4 - 0.02
        assert sum(shares.values()) <= 1.0 + 1e-6
        times = limited_requests(fleet)
        assert most_within(times, 10.0) <= 10 * rate + rate + 4
        assert sum(at >= times[-1] - 10 for at in times) >= 0.7 * 10 * rate
        written = fleet.coordinator.registrar.written if fleet.coordinator is not None else 0
        assert written < 20


async def test_a_restarted_member_has_its_part_again_within_a_moment() -> None:
    fleet = SmallFleet(restless, shards=8, settings=limited(fleet_requests_per_second=20.0))
    async with running(fleet, "a", "b") as fleet:
        await add_websites(fleet, 20)
        await asyncio.sleep(20)
        before = parts(fleet)["b"]
        assert before > 0.3
        await fleet.crash("b")
        fleet.join("b", reaped=True)
        await eventually(
            lambda: fleet.members["b"].member.epoch == 2 and parts(fleet)["b"] == before,
            within_seconds=1.0,
            what="b has its part again",
        )


async def test_without_shares_the_same_members_would_send_more() -> None:
    """What the test above would see if nobody divided the budget."""
    rate = 20.0
    fleet = SmallFleet(restless, shards=8, settings=limited(requests_per_second=rate, burst=20))
    async with running(fleet, "a", "b", "c") as fleet:
        await add_websites(fleet, 40)
        await asyncio.sleep(15)
        assert most_within(limited_requests(fleet), 10.0) > 12 * rate
