from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore
from fleet.backends.local_view import LocalView
from fleet.health.telemetry import Telemetry
from fleet.records.coordination import ProtocolMismatch
from fleet.records.record import Holder, Incarnation, MemberRecord
from fleet.records.report_record import ShardLoad
from fleet.rules.membership import expel
from fleet.workers.member import Member
from fleet.workers.report import Report
from shards.errors import ConfigError
from tests.unit.fleet.ownership import LEASE_SECONDS, RENEW_SECONDS, Wire, now
from tests.unit.fleet.records.records import shard, shard_map

pytestmark = pytest.mark.looptime(noop_cycles=0)


@dataclass
class Process:
    """One process that wants to be member `a`, on a store that others can reach too."""

    store: LocalStore = field(default_factory=LocalStore)
    supervisor: str = "pod.nonce"
    count: int = 1
    reaped: bool = False
    report: Report = field(default_factory=Report)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    losses: int = 0

    def __post_init__(self) -> None:
        self.wire = Wire(self.store, Faults())
        self.others = LocalCoordination(self.store, clock=now)
        self.view: LocalView = self.wire.watch(members=False)
        self.member = Member(
            self.wire,
            MemberRecord("a", Incarnation(self.supervisor, self.count), 0, LEASE_SECONDS, pod="pod"),
            renew_seconds=RENEW_SECONDS,
            reaped_predecessor=self.reaped,
            report=lambda: self.report,
            on_change=self.lost,
            telemetry=Telemetry(),
            clock=now,
            rng=random.Random(1),
        )
        self.keeping: asyncio.Task[None] | None = None

    def lost(self) -> None:
        self.losses += 1

    async def join(self) -> float:
        """Returns how long it took."""
        began = now()
        assert await self.member.join(self.view, lambda: None, self.stop)
        return now() - began

    async def keep(self) -> None:
        await self.join()
        self.keeping = asyncio.create_task(self.member.keep(self.view))

    async def record(self) -> MemberRecord:
        found = await self.others.read_member("a")
        assert found is not None
        return found

    async def write(self, new: MemberRecord) -> MemberRecord:
        return await self.others.write_member(new, new.version)

    async def die(self) -> None:
        if self.keeping is not None:
            self.keeping.cancel()
            await asyncio.gather(self.keeping, return_exceptions=True)


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    made = Process()
    yield made
    await made.die()
    await made.view.close()


# -- joining --------------------------------------------------------------------------------------------------------


async def test_every_join_raises_the_epoch_even_after_a_clean_leave(process: Process) -> None:
    await process.join()
    assert process.member.holder == Holder("a", 1)
    await process.member.leave()
    left = await process.record()
    assert (left.holder, left.epoch, left.leaving) == (None, 2, True)
    await process.join()
    assert process.member.holder == Holder("a", 3)


async def test_a_restart_that_reaped_its_predecessor_joins_at_once_and_another_waits_a_lease(process: Process) -> None:
    await process.keep()
    await process.die()
    reaped = Process(process.store, count=2, reaped=True)
    assert await reaped.join() == 0
    assert reaped.member.epoch == 2
    strange = Process(process.store, supervisor="pod.other-nonce", count=1, reaped=True)
    assert await strange.join() == pytest.approx(LEASE_SECONDS, abs=0.1)
    assert strange.member.epoch == 3


async def test_a_new_name_is_established_by_the_first_renewal_after_a_map_names_it(process: Process) -> None:
    await process.keep()
    await asyncio.sleep(2 * RENEW_SECONDS)
    process.member.look(process.view)
    assert not process.member.established

    await process.others.write_map(shard_map(floors={"a": 1}), "")
    await process.view.confirm()
    process.member.look(process.view)
    await asyncio.sleep(0.1)

    assert process.member.established
    assert (process.member.epoch, process.losses) == (1, 1)


async def test_a_name_whose_first_record_was_deleted_is_established_for_one_of_two_alone(process: Process) -> None:
    await process.keep()
    await process.others.delete_member(await process.record())
    twin = Process(process.store, supervisor="other.nonce")
    assert await twin.join() == 0

    await process.others.write_map(shard_map(floors={"a": 1}), "")
    await process.view.confirm()
    process.member.look(process.view)
    await asyncio.sleep(0.1)

    assert not process.member.established
    await twin.die()
    await twin.view.close()


async def test_a_name_that_is_known_is_established_as_soon_as_it_is_a_member(process: Process) -> None:
    await process.others.write_map(shard_map(floors={"a": 4}), "")
    await process.join()
    assert (process.member.epoch, process.member.established) == (5, True)


async def test_a_live_foreign_holder_is_waited_for_without_end(process: Process) -> None:
    await process.keep()
    second = Process(process.store, supervisor="second-pod.nonce")
    joining = asyncio.create_task(second.join())
    await asyncio.sleep(5 * LEASE_SECONDS)
    assert not joining.done()
    await process.die()
    assert await joining == pytest.approx(6 * LEASE_SECONDS, abs=RENEW_SECONDS)


async def test_a_lost_answer_of_a_join_costs_an_epoch_and_no_wait(process: Process) -> None:
    process.wire.faults.lost_answers = 1
    assert await process.join() < 1
    assert process.member.epoch == 2


async def test_joining_goes_on_until_the_store_answers_or_it_is_told_to_stop(process: Process) -> None:
    process.wire.faults.unavailable = True
    joining = asyncio.create_task(process.member.join(process.view, lambda: None, process.stop))
    await asyncio.sleep(60)
    assert not joining.done()
    process.stop.set()
    assert await joining is False


async def test_nobody_joins_who_is_refused(process: Process) -> None:
    def refuse() -> None:
        raise ConfigError("controller", "another fleet")

    with pytest.raises(ConfigError):
        await process.member.join(process.view, refuse, process.stop)
    assert await process.others.read_member("a") is None


async def test_a_member_whose_record_was_deleted_starts_above_what_a_live_read_knows_of_it(process: Process) -> None:
    process.wire.faults.held = True  # its own view shows nothing of what follows
    await process.others.write_map(shard_map("web", floors={"a": 4}), "")
    await process.others.write_shard(shard(holder=Holder("a", 6)), "")
    assert await process.join() == pytest.approx(LEASE_SECONDS, abs=0.1)
    assert process.member.epoch == 7


# -- renewing -------------------------------------------------------------------------------------------------------


async def test_a_member_renews_every_period_and_says_what_it_follows_and_costs(process: Process) -> None:
    await process.keep()
    process.report = Report(followed=7, loads={"r": ShardLoad(objects=3)})
    await asyncio.sleep(10 * RENEW_SECONDS + 0.5)
    record = await process.record()
    assert record.renewals in (9, 10, 11)
    assert (record.seen_map, record.loads["r"].objects, record.epoch) == (7, 3, 1)
    assert process.member.until() - now() > 0.85 * LEASE_SECONDS - 1.1 * RENEW_SECONDS


async def test_a_member_writes_no_more_than_once_in_a_period(process: Process) -> None:
    sent: list[float] = []

    def noted() -> float:
        sent.append(now())
        return 0.0

    process.wire.latency = noted
    await process.keep()
    await asyncio.sleep(100 * RENEW_SECONDS)
    ways = sent[2:]  # behind the join: there and back of each renewal
    assert len(ways) // 2 >= 90
    assert min(later - sooner for sooner, later in pairwise(ways[::2])) >= RENEW_SECONDS


async def test_the_right_to_act_counts_from_the_moment_a_renewal_was_sent(process: Process) -> None:
    process.wire.latency = lambda: 0.5
    began = now()
    await process.join()
    assert now() == began + 1.0
    assert process.member.until() == pytest.approx(began + 0.85 * LEASE_SECONDS)


async def test_a_renewal_that_nobody_acknowledges_gives_no_time(process: Process) -> None:
    await process.keep()
    until = process.member.until()
    process.wire.faults.unavailable = True
    await asyncio.sleep(0.86 * LEASE_SECONDS)
    assert process.member.until() == until
    process.wire.faults.unavailable = False
    await asyncio.sleep(RENEW_SECONDS)
    assert process.member.until() == until, "a renewal is not sent after the deadline"


async def test_a_renewal_whose_answer_was_lost_is_recognised_and_repeated_at_once(process: Process) -> None:
    await process.keep()
    process.wire.faults.lost_answers = 1
    await asyncio.sleep(2 * RENEW_SECONDS)
    assert process.member.epoch == 1
    assert process.losses == 0
    assert process.member.until() - now() > 0.85 * LEASE_SECONDS - 1.1 * RENEW_SECONDS


async def test_an_edit_that_changes_neither_holder_nor_epoch_is_no_loss(process: Process) -> None:
    await process.keep()
    await process.write(replace(await process.record(), revision="edited"))
    await asyncio.sleep(2 * RENEW_SECONDS)
    assert (process.member.epoch, process.losses) == (1, 0)


@pytest.mark.parametrize("how", ["fenced", "taken over", "expelled", "deleted"])
async def test_a_member_that_is_no_more_learns_it_at_its_next_renewal(process: Process, how: str) -> None:
    await process.keep()
    record = await process.record()
    if how == "fenced":
        await process.write(replace(record, holder=None, epoch=2))
    elif how == "taken over":
        await process.write(replace(record, holder=Incarnation("other", 1), epoch=2))
    elif how == "expelled":
        await process.write(expel(record))
    else:
        await process.others.delete_member(record)
    await asyncio.sleep(1.2 * RENEW_SECONDS)
    assert process.member.holder is None
    assert process.member.until() == float("-inf")
    assert process.losses == 1
    assert process.keeping is not None
    assert process.keeping.done()


async def test_a_member_whose_record_was_deleted_is_back_a_lease_after_it_has_noticed(process: Process) -> None:
    await process.keep()
    await process.others.write_map(shard_map("web", floors={"a": 1}), "")
    await process.others.delete_member(await process.record())
    assert process.keeping is not None
    await process.keeping

    assert await process.join() == pytest.approx(LEASE_SECONDS, abs=0.1)
    assert process.member.epoch == 2


async def test_who_waits_for_its_deleted_record_begins_anew_when_another_had_it_meanwhile(process: Process) -> None:
    """Another pod of its name joins, and its record is deleted as well: it may act for a lease from then on."""
    await process.keep()
    await process.others.write_map(shard_map("web", floors={"a": 1}), "")
    await process.others.delete_member(await process.record())
    assert process.keeping is not None
    await process.keeping
    joining = asyncio.create_task(process.join())
    await asyncio.sleep(1.5 * RENEW_SECONDS)
    other = await process.write(MemberRecord("a", Incarnation("another", 1), 2, LEASE_SECONDS))
    await asyncio.sleep(RENEW_SECONDS)
    await process.others.delete_member(other)

    assert await joining >= 2.5 * RENEW_SECONDS + LEASE_SECONDS
    assert process.member.epoch == 2


async def test_no_renewal_is_sent_on_a_view_that_is_older_than_a_lease(process: Process) -> None:
    await process.keep()
    process.wire.faults.held = True
    await process.others.write_map(shard_map(), "")
    await asyncio.sleep(LEASE_SECONDS + RENEW_SECONDS)
    before = (await process.record()).renewals
    await asyncio.sleep(2 * RENEW_SECONDS)
    assert (await process.record()).renewals == before
    assert process.member.until() < now()


async def test_an_incarnation_that_is_over_gets_no_time_from_a_later_one(process: Process) -> None:
    await process.join()
    assert process.member.until_of(1) == process.member.until()
    process.member.lose("for the test")
    assert process.member.until_of(1) == float("-inf")
    await process.join()
    assert process.member.until_of(1) == float("-inf")
    assert process.member.until_of(2) == process.member.until() > now()


# -- leaving --------------------------------------------------------------------------------------------------------


async def test_a_renewal_still_on_its_way_does_not_keep_a_member_from_leaving(process: Process) -> None:
    await process.keep()
    process.wire.latency = lambda: 0.3
    process.member.renew_now.set()
    await asyncio.sleep(0.05)
    assert process.keeping is not None
    process.keeping.cancel()
    process.wire.latency = lambda: 0.28
    await process.member.leave()
    record = await process.record()
    assert (record.holder, record.epoch) == (None, 2)


async def test_who_cannot_write_that_it_leaves_is_no_member_all_the_same(process: Process) -> None:
    await process.join()
    process.wire.faults.unavailable = True
    await process.member.leave()
    assert process.member.holder is None
    assert (await process.record()).holder is not None


async def test_who_was_replaced_leaves_nothing_behind(process: Process) -> None:
    await process.join()
    await process.write(replace(await process.record(), holder=Incarnation("other", 1), epoch=2))
    await process.member.leave()
    record = await process.record()
    assert (record.holder, record.epoch) == (Incarnation("other", 1), 2)


@pytest.mark.parametrize("was_member", [False, True])
async def test_a_record_of_another_protocol_refuses_who_begins_and_is_waited_for_by_who_was_a_member(
    was_member: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process()
    if was_member:
        await process.join()
        process.member.lose("a test")

    async def mismatched(self: LocalCoordination, name: str) -> MemberRecord:
        raise ProtocolMismatch("", "Lease web-member-a has protocol 2")

    monkeypatch.setattr(LocalCoordination, "read_member", mismatched)
    joining = asyncio.create_task(process.join())
    await asyncio.sleep(5 * LEASE_SECONDS)
    assert joining.done() is not was_member
    if not was_member:
        with pytest.raises(ProtocolMismatch):
            await joining
    monkeypatch.undo()
    if was_member:
        await joining


async def test_leaving_ends_in_order_whatever_somebody_wrote_into_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    await process.join()

    async def mismatched(self: LocalCoordination, name: str) -> MemberRecord:
        raise ProtocolMismatch("", "Lease web-member-a has protocol 2")

    monkeypatch.setattr(LocalCoordination, "read_member", mismatched)
    await process.member.leave()
    assert process.member.holder is None
