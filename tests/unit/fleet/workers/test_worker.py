from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fleet.health.telemetry import Telemetry
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Kind
from fleet.records.record import Holder, MemberRecord, Standby
from fleet.rules import membership
from fleet.rules.refusal import Refused
from fleet.workers import member
from shards.gates.watermark import Watermark
from shards.keyrange import PartitionKey
from tests.unit.fleet.ownership import FAST_PLANS, LEASE_SECONDS, RENEW_SECONDS, Fleet, running

pytestmark = pytest.mark.looptime(noop_cycles=0)


# -- the ordinary way -----------------------------------------------------------------------------------------------


async def test_members_share_the_ranges_between_them() -> None:
    async with running(Fleet(ranges=6), "a", "b", "c") as fleet:
        assert sorted(fleet.open().values()) == ["a", "a", "b", "b", "c", "c"]
        status = fleet.workers["a"].status()
        assert status["ready"]
        assert len(status["shards"]) == 2


async def test_a_worker_on_an_old_view_is_not_ready_until_it_is_current_again() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        worker = fleet.workers["a"]
        [first, second] = worker.open_shards
        first.view_age = 95.0  # type: ignore[misc]  # of the fake
        status = worker.status()
        assert (status["ready"], status["reason"]) == (False, "a view of objects was last known to be current 95 s ago")
        first.view_age = second.view_age  # type: ignore[misc]
        assert worker.status()["ready"]


async def test_a_membership_outlives_figures_that_fail(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        for shard in fleet.shards["a"]:
            shard.behaviour.count_error = AttributeError("_entries")
        await fleet.pass_seconds(90)  # each is counted within a minute
        record = fleet.member("a")
        assert "this member has no figures to tell" in caplog.text
        assert record is not None
        assert (record.epoch, record.leaving) == (1, False)
        assert sorted(fleet.open().values()) == ["a", "a"]
        fleet.leave("a")
        await fleet.pass_seconds(2)
        record = fleet.member("a")
        assert record is not None
        assert record.leaving


async def test_nothing_is_written_but_renewals_while_nothing_happens() -> None:
    async with running(Fleet(ranges=8), "a", "b") as fleet:
        await fleet.pass_seconds(1)
        before = len(fleet.writes)
        await fleet.pass_seconds(30)
        assert {step.kind for step in fleet.writes[before:]} == {Kind.MEMBER}
        assert 25 <= len(fleet.writes) - before <= 35


async def test_a_range_that_moves_costs_three_writes_of_its_record_and_one_of_the_map() -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        before = len(fleet.writes)
        fleet.start("b")
        await fleet.until(lambda: len(fleet.holds("b")) == 2, 10, "b owns its half")
        moved = [f"uid-{each}" for each in fleet.holds("b")]
        assert sorted(step.name for step in fleet.written(Kind.SHARD, before)) == sorted(3 * moved)
        assert len(fleet.written(Kind.MAP, before)) == 1


async def test_a_handover_goes_from_standby_to_drain_to_release_with_a_watermark_to_claim() -> None:
    fleet = Fleet(ranges=2)
    fleet.behaviour("b").prewarm_seconds = 1.0
    fleet.behaviour("a").drain_seconds = 0.5
    async with running(fleet, "a") as fleet:
        before = len(fleet.writes)
        fleet.start("b")
        await fleet.until(lambda: len(fleet.open()) == 2 and fleet.holds("b") != [], 10, "b owns one")
        each = fleet.holds("b")[0]
        announced, released, claimed = [step.found for step in fleet.written(Kind.SHARD, before)]
        assert announced.standby == Standby(Holder("b", 1), 2)  # type: ignore[union-attr]  # a shard record
        assert released.holder is None  # type: ignore[union-attr]
        assert released.watermark == Watermark(2)  # type: ignore[union-attr]
        assert claimed.holder == Holder("b", 1)  # type: ignore[union-attr]
        made = fleet.shards["b"][0]
        assert made.calls == ["prewarm", "activate"]
        assert (made.watermark, made.previous_epoch) == (Watermark(2), 2)
        assert fleet.shards["a"][-1].range == each
        assert fleet.shards["a"][-1].calls == ["activate", "drain", "stop"]


async def test_the_old_owner_goes_on_while_the_standby_does_not_get_ready() -> None:
    fleet = Fleet(ranges=2, plan_settings=replace(FAST_PLANS, standby_deadline_seconds=20.0))
    fleet.behaviour("b").unwarm = True
    async with running(fleet, "a") as fleet:
        fleet.start("b")
        await fleet.pass_seconds(5)
        assert "b" in fleet.map.targets
        for _ in range(60):
            await fleet.pass_seconds(1)
            assert set(fleet.open().values()) == {"a"}
        assert fleet.map.targets == ("a", "a"), "the target has lost the range again"


# -- restarts and takeovers -----------------------------------------------------------------------------------------


async def test_a_supervised_restart_takes_its_ranges_back_at_once_under_a_higher_epoch() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before = fleet.holds("a")
        await fleet.crash("a")
        fleet.start("a", reaped=True)
        assert await fleet.all_open() < 0.5
        assert fleet.holds("a") == before
        assert fleet.workers["a"].member.epoch == 2
        assert fleet.shards["a"][-1].watermark is None


async def test_a_restart_that_nobody_vouches_for_waits_a_lease() -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        await fleet.crash("a")
        fleet.start("a", supervisor="another-pod")
        took = await fleet.all_open(20)
        assert LEASE_SECONDS - RENEW_SECONDS - 0.1 <= took <= LEASE_SECONDS + RENEW_SECONDS


async def test_two_processes_under_one_name_never_act_at_once() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        first = fleet.workers.pop("a")
        fleet.tasks["first"] = fleet.tasks.pop("a")
        fleet.wires["first"] = fleet.wires.pop("a")
        fleet.workers["first"] = first
        fleet.start("a", supervisor="another-pod")
        await fleet.pass_seconds(4 * LEASE_SECONDS)
        assert set(fleet.open().values()) == {"first"}
        await fleet.crash("first")
        await fleet.until(lambda: len(fleet.holds("a")) == 2, 2 * LEASE_SECONDS, "the other one takes over")


async def test_the_ranges_of_a_dead_member_are_owned_within_a_lease_and_four_seconds() -> None:
    async with running(Fleet(ranges=6), "a", "b", "c") as fleet:
        await fleet.crash("b")
        assert await fleet.all_open(20) <= LEASE_SECONDS + 4
        assert fleet.record(fleet.layout[0]) is not None
        assert {name for _, name in fleet.acting()} == {"a", "c"}


async def test_a_member_that_cannot_reach_the_store_drops_everything_before_its_lease_is_over() -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        wire = fleet.wire("a")
        wire.faults.unavailable = wire.faults.held = True
        made = [shard for shard in fleet.shards["a"] if shard.open]
        took = await fleet.until(lambda: all(shard.calls[-1] == "stop" for shard in made), 10, "a stops")
        assert took < 0.9 * LEASE_SECONDS
        await fleet.all_open(2 * LEASE_SECONDS)
        assert set(fleet.open().values()) == {"b"}
        wire.faults.unavailable = False
        wire.release()
        await fleet.until(lambda: fleet.holds("a") != [], 10, "a is back")
        assert fleet.workers["a"].member.epoch > 1


async def test_a_store_that_is_away_for_less_than_the_deadline_costs_nothing() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before = fleet.open()
        for name in ("a", "b", "agent"):
            fleet.faults(name).unavailable = True
        await fleet.pass_seconds(4)
        for name in ("a", "b", "agent"):
            fleet.faults(name).unavailable = False
        await fleet.pass_seconds(30)
        assert fleet.open() == before
        assert fleet.workers["a"].member.epoch == 1


async def test_a_long_outage_of_the_store_stops_all_and_fences_nobody() -> None:
    async with running(Fleet(ranges=4), "a", "b", "c") as fleet:
        for name in ("a", "b", "c", "agent"):
            fleet.faults(name).unavailable = True
        await fleet.pass_seconds(60)
        assert fleet.acting() == []
        before = len(fleet.writes)
        for name in ("a", "b", "c", "agent"):
            fleet.faults(name).unavailable = False
        assert await fleet.all_open(20) < 5
        fences = [step for step in fleet.written(Kind.MEMBER, before) if step.found.holder is None]  # type: ignore[union-attr]
        assert fences == []


async def test_a_worker_whose_view_is_dead_stops_though_it_could_renew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        view = fleet.workers["a"].view

        async def no_answer() -> None:
            raise CoordinationUnavailable("no list comes")

        monkeypatch.setattr(view, "confirm", no_answer)
        fleet.faults("a").held = True
        await fleet.until(lambda: fleet.holds("a") == [], 2 * LEASE_SECONDS, "a stops")
        await fleet.all_open(2 * LEASE_SECONDS)
        assert set(fleet.open().values()) == {"b"}


# -- records that somebody deleted or edited ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "emptied"])
async def test_a_shard_record_comes_back_only_when_every_member_has_said_that_it_knows(how: str) -> None:
    async with running(Fleet(ranges=2), "a", "b", "c") as fleet:
        each = fleet.holds("a")[0]
        bystander = fleet.wire("c")
        bystander.faults.held = True  # it hears of nothing, but its lists still work
        bystander.faults.unavailable = True
        before = fleet.record(each)
        assert before is not None
        if how == "deleted":
            fleet.delete_shard(each)
        else:
            fleet.edit(Kind.SHARD, f"uid-{each}", replace(before, holder=None, holder_text=""))
        await fleet.until(lambda: each not in fleet.open(), 1, "its owner stops at once")
        await fleet.until(lambda: each in fleet.map.lost, 2, "the map says so")
        await fleet.pass_seconds(2)
        assert each not in fleet.owners(), "c has not said that it knows"
        bystander.faults.unavailable = False
        bystander.release()
        await fleet.all_open(10)
        after = fleet.record(each)
        assert after is not None
        assert after.epoch > before.epoch
        assert fleet.map.lost == {}


async def test_a_lost_range_does_not_wait_for_members_that_have_left() -> None:
    async with running(Fleet(ranges=2), "a", "b", "c") as fleet:
        await fleet.left("c")
        await fleet.pass_seconds(fleet.lease_seconds + 1)  # a new coordinator waits a lease for who may have vanished
        before = fleet.record(fleet.layout[0])
        assert before is not None
        fleet.delete_shard(fleet.layout[0])
        await fleet.until(lambda: fleet.record(fleet.layout[0]) is not None, 2, "the record is back")
        await fleet.all_open(10)
        after = fleet.record(fleet.layout[0])
        assert after is not None
        assert (after.epoch > before.epoch, after.uid != before.uid) == (True, True)


@pytest.mark.parametrize("coordinator", ["that knew it", "that never saw it"])
async def test_a_map_that_somebody_deleted_is_rebuilt_while_owners_go_on(coordinator: str) -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before, old = fleet.open(), fleet.map
        if coordinator == "that never saw it":
            await fleet.crash("agent")
        fleet.edit(Kind.MAP, "only", None)
        if coordinator == "that never saw it":
            await fleet.pass_seconds(20)
            fleet.coordinate("agent-2")
        for _ in range(200):
            await fleet.pass_seconds(0.05)
            assert fleet.open() == before
        assert fleet.map.version > old.version
        assert (fleet.map.targets, fleet.map.opened) == (old.targets, old.opened)
        assert fleet.map.floors.items() >= old.floors.items()


async def test_a_member_whose_record_is_deleted_joins_again_above_everything_that_names_it() -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        fleet.edit(Kind.MEMBER, "a", None)
        await fleet.pass_seconds(2 * LEASE_SECONDS + RENEW_SECONDS)
        assert fleet.workers["a"].member.epoch > 1
        await fleet.all_open(10)


async def test_a_record_that_names_a_later_epoch_of_a_member_makes_it_join_above_it() -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        each = fleet.holds("a")[0]
        record = fleet.record(each)
        assert record is not None
        fleet.edit(Kind.SHARD, f"uid-{each}", replace(record, holder=Holder("a", 40), holder_text="a@40"))
        await fleet.until(lambda: fleet.workers["a"].member.epoch == 41, 5, "a joins above it")
        await fleet.all_open(10)


class Restores(Telemetry):
    count = 0

    def history_lost(self) -> None:
        self.count += 1


async def test_a_store_that_was_restored_makes_everybody_begin_again() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        backup = fleet.store.backup()
        await fleet.pass_seconds(20)
        fleet.start("c")
        await fleet.until(lambda: fleet.holds("c") != [], 10, "c owns something")
        await fleet.pass_seconds(5)
        telemetry = Restores()
        for worker in fleet.workers.values():
            worker.member.telemetry = telemetry
        fleet.store.restore(backup)
        await fleet.pass_seconds(0.5)
        await fleet.all_open(4 * LEASE_SECONDS)
        assert telemetry.count >= 1
        assert min(worker.member.epoch for worker in fleet.workers.values()) >= 1


# -- leaving --------------------------------------------------------------------------------------------------------


async def test_a_member_that_leaves_hands_over_first_and_fences_itself() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await fleet.left("a")
        assert set(fleet.open().values()) == {"b"}
        assert len(fleet.open()) == 4
        record = fleet.member("a")
        assert record is not None
        assert (record.holder, record.epoch, record.leaving) == (None, 2, True)
        assert [made.watermark for made in fleet.shards["b"][-2:]] == [Watermark(2), Watermark(2)]


async def test_a_member_that_nobody_can_follow_releases_and_leaves() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        await fleet.left("a")
        assert fleet.acting() == []
        records = [fleet.record(each) for each in fleet.layout]
        assert [record.holder for record in records if record is not None] == [None, None]


async def test_a_member_that_leaves_waits_for_standbys_no_longer_than_it_may() -> None:
    fleet = Fleet(ranges=2, leave_seconds=5.0)
    fleet.behaviour("b").unwarm = True
    async with running(fleet, "a") as fleet:
        fleet.start("b")
        await fleet.pass_seconds(2)
        fleet.leave("a")
        await fleet.pass_seconds(4)
        assert set(fleet.open().values()) == {"a"}
        await fleet.until(lambda: fleet.tasks["a"].done(), 3, "a ends")


async def test_what_a_leaving_member_claimed_without_an_answer_is_free_again() -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        await fleet.crash("b")
        await fleet.until(lambda: "b" not in fleet.map.targets, 20, "a is to own everything")
        fleet.faults("a").lost_answers = 3
        await fleet.left("a")
        fleet.start("c")
        await fleet.all_open(2 * LEASE_SECONDS)


# -- who must not take part -----------------------------------------------------------------------------------------


async def test_a_worker_of_another_fleet_refuses_to_join() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        fleet.start("stranger", identity="other controllers")
        with pytest.raises(Refused, match="already runs other controllers"):
            await fleet.tasks.pop("stranger")
        assert fleet.member("stranger") is None
        del fleet.workers["stranger"]


async def test_a_worker_that_finds_another_fleet_s_map_later_drops_everything_and_ends() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        wire = fleet.wire("hand")
        stored = await wire.read_map()
        assert stored is not None
        await wire.write_map(replace(stored.map, identity="other controllers", version=99), stored.version)
        with pytest.raises(Refused):
            await fleet.tasks.pop("a")
        assert fleet.acting() == []
        assert all(shard.calls[-1] == "stop" for shard in fleet.shards["a"])


async def test_a_worker_that_cannot_serve_the_partition_key_claims_nothing() -> None:
    fleet = Fleet(ranges=2)
    try:
        fleet.start("a", partition_keys=(PartitionKey.NAME,))
        fleet.coordinate()
        with pytest.raises(Refused, match="partitioned by"):
            await fleet.tasks.pop("a")
        assert fleet.acting() == []
        assert fleet.shards["a"] == []
    finally:
        await fleet.stop()


async def test_a_worker_that_is_cancelled_leaves_no_task_behind() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await fleet.crash("a")
        await fleet.crash("b")
        await fleet.crash("agent")
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}


# -- an oracle that never fired proves nothing ----------------------------------------------------------------------


async def test_without_a_deadline_a_member_that_is_cut_off_acts_beside_its_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member, "acting_until", lambda sent_at, lease_seconds: sent_at + 4 * lease_seconds)
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        wire = fleet.wire("a")
        wire.faults.unavailable = wire.faults.held = True
        with pytest.raises(AssertionError, match="may act on"):
            await fleet.pass_seconds(2 * LEASE_SECONDS)


async def test_without_raising_the_epoch_a_second_process_of_a_name_acts_beside_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hasty(draft: MemberRecord, found: MemberRecord | None, **facts: object) -> membership.Join:
        stands = found or replace(draft, epoch=1)
        return membership.Join(replace(draft, epoch=stands.epoch, version=stands.version, uid=stands.uid))

    async with running(Fleet(ranges=2), "a") as fleet:
        fleet.workers["first"], fleet.tasks["first"] = fleet.workers.pop("a"), fleet.tasks.pop("a")
        fleet.wires["first"] = fleet.wires.pop("a")
        fleet.faults("first").held = True
        monkeypatch.setattr(member, "join", hasty)
        fleet.start("a", supervisor="another-pod")
        with pytest.raises(AssertionError, match="may act on"):
            await fleet.pass_seconds(LEASE_SECONDS)
