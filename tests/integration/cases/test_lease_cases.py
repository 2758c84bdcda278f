"""What went wrong elsewhere with leases: renewals that fail, releases that come too late, clocks, names.

In virtual time. The table is in docs/cases.md.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import LateLanding, LostAck, Refuse
from fleet.workers.worker import Worker
from shards import Context, Controller, Request
from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.ownership.fence import Fence
from shards.reconciling.engine import Engine
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import LEASE_SECONDS, WEBSITES, SmallFleet, eventually, running
from tests.integration.test_ownership import LEASES, add_websites, settled, status_writer

pytestmark = pytest.mark.looptime

ACTING_SECONDS = 0.85 * LEASE_SECONDS
"""How long a member may act after its last acknowledged renewal."""

RENEW_SECONDS = LEASE_SECONDS / 4


def renewals_of(member: str) -> Match:
    """What the member itself writes."""
    return Match(verbs=("update",), resource=str(LEASES), name=f"web-member-{member}", member=member)


def holds(worker: Worker) -> bool:
    return any(runner.holding for runner in worker.runners.values())


def acts(worker: Worker) -> bool:
    """Whether anything may be sent for a key at this instant."""
    tenures = [runner.tenure for runner in worker.runners.values()]
    return any(tenure is not None and tenure.valid(loop_seconds()) for tenure in tenures)


# -- renewals that fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [403, 429])
async def test_b67_a_member_whose_renewals_are_refused_has_stopped_before_another_one_starts(status: int) -> None:
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        await add_websites(fleet, 20)
        await settled(fleet, 20)
        lost = fleet.members["a"]
        ranges = [each for each, owner in fleet.open_ranges().items() if owner == "a"]
        fleet.server.faults.inject(Refuse(match=renewals_of("a"), status=status, until_seconds=20.0))
        began = loop_seconds()
        await eventually(lambda: not acts(lost), within_seconds=ACTING_SECONDS + 0.1, what="a has stopped")
        await eventually(lambda: not holds(lost), within_seconds=1, what="a knows that it holds nothing")
        assert not set(fleet.open_ranges().values()) & {"a"}
        await eventually(
            lambda: all(fleet.open_ranges().get(each) == "b" for each in ranges),
            within_seconds=LEASE_SECONDS + 4,
            what="b owns what a had",
        )
        while loop_seconds() < began + 20:
            assert not acts(lost)
            await asyncio.sleep(0.05)


async def test_b68_after_its_deadline_a_member_does_not_renew_but_joins_again_under_a_higher_epoch() -> None:
    async with running(SmallFleet(status_writer), "a") as fleet:
        worker = fleet.members["a"]
        before = worker.member.epoch
        until = loop_seconds() + ACTING_SECONDS
        fleet.server.faults.inject(Refuse(match=renewals_of("a"), status=409, until_seconds=ACTING_SECONDS + 0.5))
        await eventually(lambda: not acts(worker), within_seconds=ACTING_SECONDS + 0.1, what="a has stopped")
        while not acts(worker):
            assert loop_seconds() < until + 2 * LEASE_SECONDS, "a did not come back"
            await asyncio.sleep(0.01)
        assert worker.member.epoch > before
        await fleet.all_open()
        assert fleet.server.recorder is not None
        refused = [each for each in fleet.server.recorder.entries if each.verb == "refused"]
        assert len(refused) < 10 * ACTING_SECONDS, "what conflicts again and again is not repeated at once"


async def test_b74_a_member_whose_work_ends_by_a_fault_renews_no_more_and_acts_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process ends then, and its supervisor starts another one; here nobody does, and the shards go elsewhere."""
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        worker = fleet.members["a"]

        def broken(*given: object) -> None:
            raise RuntimeError("a fault of our own")

        monkeypatch.setattr(worker, "_evaluate", broken)
        began = loop_seconds()
        assert str(await fleet.fault_of("a")) == "a fault of our own"
        ended = loop_seconds()
        assert ended - began < 1
        assert not acts(worker)
        await asyncio.sleep(RENEW_SECONDS * 2)
        assert [entry.name for entry in fleet.writes(LEASES, member="a") if entry.time > ended] == []
        await fleet.all_open(within_seconds=LEASE_SECONDS + 4)
        assert set(fleet.open_ranges().values()) == {"b"}


async def test_b74_faults_in_the_loop_of_a_shards_queue_end_neither_the_loop_nor_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(SmallFleet(status_writer, shards=2), "a") as fleet:
        await add_websites(fleet, 6)
        await settled(fleet, 6)
        faults = 3

        original = Engine._turn

        async def broken(engine: Engine, fence: Fence) -> None:
            nonlocal faults
            faults -= 1
            if faults >= 0:
                raise RuntimeError("a fault of our own")
            await original(engine, fence)

        monkeypatch.setattr(Engine, "_turn", broken)
        await add_websites(fleet, 6, prefix="later")
        await eventually(
            lambda: len({entry.name for entry in fleet.writes(WEBSITES, "status")}) == 12,
            within_seconds=10,
            what="every key is reconciled in spite of the faults",
        )
        assert faults < 0


async def test_b83_a_renewal_whose_answer_is_lost_costs_neither_the_membership_nor_a_shard() -> None:
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        epochs = {name: worker.member.epoch for name, worker in fleet.members.items()}
        owners = fleet.open_ranges()
        held = {each: fleet.members[name].runners[each].local.epoch for each, name in owners.items()}
        fleet.server.faults.inject(LostAck(match=renewals_of("a"), times=1))
        fleet.server.faults.inject(Refuse(match=renewals_of("a"), status=409, times=1, from_seconds=0.1))
        await asyncio.sleep(3 * LEASE_SECONDS)
        assert {name: worker.member.epoch for name, worker in fleet.members.items()} == epochs
        assert fleet.open_ranges() == owners
        assert {each: fleet.members[name].runners[each].local.epoch for each, name in owners.items()} == held


# -- clocks and cold starts ------------------------------------------------------------------------------------------


class SkewedFleet(SmallFleet):
    """Member a's wall clock is an hour ahead of everybody else's."""

    def _coordination(self, user_agent: Callable[[], str], transport: Transport) -> KubernetesCoordination:
        def wall() -> float:
            agent = UserAgent.parse(user_agent())
            ahead = agent is not None and agent.member == "a"
            return 1.0e9 + loop_seconds() + (3600 if ahead else 0)

        return KubernetesCoordination(
            transport,
            fleet="web",
            namespace="default",
            user_agent=user_agent,
            clock=loop_seconds,
            wall=wall,
            rng=random.Random(3),
        )


async def test_b70_a_wall_clock_that_is_an_hour_ahead_takes_nothing_from_anybody() -> None:
    async with running(SkewedFleet(status_writer, shards=8), "a", "b", "c") as fleet:
        owners, epochs = fleet.open_ranges(), [worker.member.epoch for worker in fleet.members.values()]
        for _ in range(30):
            await asyncio.sleep(1)
            assert fleet.open_ranges() == owners
        assert [worker.member.epoch for worker in fleet.members.values()] == epochs


async def test_b70_a_fleet_that_starts_anew_under_such_a_clock_waits_for_one_lease_and_not_longer() -> None:
    async with running(SkewedFleet(status_writer, shards=8), "a", "b", "c") as fleet:
        for name in ("a", "b", "c"):
            await fleet.crash(name)
        began = loop_seconds()
        for name in ("a", "b", "c"):
            fleet.join(name)
        while loop_seconds() < began + LEASE_SECONDS - RENEW_SECONDS * 1.2:
            assert fleet.open_ranges() == {}, "taken from a predecessor that may still act"
            await asyncio.sleep(0.1)
        await fleet.all_open(within_seconds=RENEW_SECONDS * 1.2 + RENEW_SECONDS + 1)


# -- releases --------------------------------------------------------------------------------------------------------


async def test_b71_leaving_without_a_record_creates_none_and_blanks_none() -> None:
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        fleet.server.faults.inject(LateLanding(match=renewals_of("b"), seconds=0.3, times=1))
        await fleet.client.delete(LEASES, "default", "web-member-b")
        await fleet.leave("b")
        await fleet.all_open()
        await asyncio.sleep(LEASE_SECONDS)
        found = (await fleet.client.list(LEASES, "default"))["items"]
        assert "web-member-b" not in {lease["metadata"]["name"] for lease in found}
        assert set(fleet.open_ranges().values()) == {"a"}


async def test_b71_a_member_that_leaves_does_not_blank_the_record_of_its_successor() -> None:
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        lease = await fleet.client.get(LEASES, "default", "web-member-b")
        lease["spec"]["holderIdentity"] = "another-pod.nonce/1"
        lease["spec"]["leaseTransitions"] += 1
        await fleet.client.update(LEASES, "default", "web-member-b", lease)
        await fleet.leave("b")
        after = await fleet.client.get(LEASES, "default", "web-member-b")
        assert after["spec"]["holderIdentity"] == "another-pod.nonce/1"
        assert after["spec"]["leaseTransitions"] == lease["spec"]["leaseTransitions"]


@dataclass
class Diary:
    """What reconciles did, by member and key."""

    begun: list[tuple[float, str, str]] = field(default_factory=list)
    ended: list[tuple[float, str, str]] = field(default_factory=list)

    def controller(self, member: str) -> Controller:
        """Each reconcile takes three seconds."""
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            self.begun.append((loop_seconds(), member, request.name))
            try:
                await asyncio.sleep(3)
                await ctx.client.patch_status({"observedGeneration": 1})
            finally:
                self.ended.append((loop_seconds(), member, request.name))

        return websites


async def test_b73_a_member_that_leaves_ends_its_work_before_it_gives_up_the_right_to_it() -> None:
    """Intake stops, running work ends, the right to act ends, the release is written: in this order."""
    diary = Diary()
    async with running(SmallFleet(diary.controller), "a", "b") as fleet:
        await add_websites(fleet, 12)
        await eventually(lambda: len(diary.begun) >= 12, within_seconds=5, what="reconciles run")
        leaving = fleet.members["b"]
        shards = {f"web-shard-uidv1-{each}" for each, owner in fleet.open_ranges().items() if owner == "b"}
        await fleet.leave("b")
        assert not acts(leaving)
        releases = [entry.time for entry in fleet.writes(LEASES, member="b") if entry.name in shards]
        begun, ended = ([at for at, member, _ in each if member == "b"] for each in (diary.begun, diary.ended))
        assert len(begun) == len(ended) > 0
        assert max(ended) <= max(releases)
        by_key = {name: at for at, member, name in diary.ended if member == "b"}
        assert not [name for at, member, name in diary.begun if member == "a" and at < by_key.get(name, 0)]


# -- names -----------------------------------------------------------------------------------------------------------


async def test_b76_a_member_is_not_taken_for_one_whose_name_begins_like_its_own() -> None:
    names = [f"web-{ordinal}" for ordinal in range(11)]
    async with running(SmallFleet(status_writer, shards=22), *names) as fleet:
        everybody = set(names)
        await eventually(lambda: set(fleet.open_ranges().values()) == everybody, within_seconds=30, what="all own some")
        before = fleet.open_ranges()
        epoch = fleet.members["web-1"].member.epoch
        await fleet.crash("web-10")
        fleet.join("web-10", reaped=True)
        await fleet.all_open()
        await asyncio.sleep(2 * LEASE_SECONDS)
        after = fleet.open_ranges()
        assert {each for each, owner in after.items() if owner == "web-1"} >= {
            each for each, owner in before.items() if owner == "web-1"
        }
        assert fleet.members["web-1"].member.epoch == epoch
        await fleet.leave("web-10")
        await fleet.all_open()
        assert fleet.members["web-1"].member.epoch == epoch


async def test_b79_nothing_about_ownership_asks_whether_a_pod_exists() -> None:
    """A pod that is evicted, unknown or preempted may be listed for ever: silence counts, and nothing else."""
    async with running(SmallFleet(status_writer), "a", "b") as fleet:
        await add_websites(fleet, 10)
        await fleet.crash("b")
        await asyncio.sleep(LEASE_SECONDS + 4)
        assert set(fleet.open_ranges().values()) == {"a"}
        assert fleet.server.recorder is not None
        asked = {entry.resource for entry in fleet.server.recorder.entries}
        assert not asked & {"v1/pods", "v1/nodes", "apps/v1/statefulsets"}
