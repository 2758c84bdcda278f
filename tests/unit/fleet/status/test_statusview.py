from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    Share,
    Standby,
)
from fleet.records.report_record import FailingRecord, ShardLoad, WaitingRecord
from fleet.status.statusview import FleetStatus, MemberState, ShardRow, ShardState, Sight, fleet_status
from shards.keyrange import WHOLE, KeyRange, PartitionKey

A = MemberRecord("web-0-0", Incarnation("pod-a.1", 1), 3, 8.0, pod="web-0", pid=11, seen_map=5)
B = MemberRecord("web-1-0", Incarnation("pod-b.1", 1), 1, 8.0, pod="web-1", pid=12, seen_map=5)
OWNED = ShardRecord(WHOLE, ShardStatus.ACTIVE, 7, Holder(A.name, 3), f"{A.name}@3")
MAP = ShardMap(5, 1, "web", "identity", PartitionKey.UID, (0,), (A.name,), opened=frozenset({WHOLE}))
OFFICE = CoordinatorRecord("pod-b.1.agent/1", 4, 8.0)
SIGHT = Sight("web", "default", MAP, {A.name: A, B.name: B}, {WHOLE: OWNED}, OFFICE)


def row_of(sight: Sight) -> ShardRow:
    return fleet_status(sight).shards[0]


def with_record(**changes: object) -> Sight:
    return replace(SIGHT, shards={WHOLE: replace(OWNED, **changes)})  # type: ignore[arg-type]


def with_member(record: MemberRecord) -> Sight:
    return replace(SIGHT, members={**SIGHT.members, record.name: record})


def with_map(**changes: object) -> Sight:
    return replace(SIGHT, map=replace(MAP, **changes))  # type: ignore[arg-type]


def test_a_holder_that_may_act_is_the_owner() -> None:
    status = fleet_status(SIGHT)
    assert (status.shards[0].state, status.shards[0].owner, status.shards[0].epoch) == (ShardState.OWNED, A.name, 7)
    assert status.unowned == ()
    assert status.complete


UNOWNED = {
    "its member was fenced, and the map says so": (with_map(floors={A.name: 4}), ShardState.FREE),
    "its member was fenced, and the map lags": (with_member(replace(A, holder=None, epoch=4)), ShardState.FREE),
    "its member left under the same epoch": (with_member(replace(A, holder=None)), ShardState.FREE),
    "its member has begun anew": (with_member(replace(A, epoch=4)), ShardState.FREE),
    "its member's Lease is gone": (replace(SIGHT, members={B.name: B}), ShardState.SILENT),
    "its member is silent": (replace(SIGHT, silent=frozenset({A.name})), ShardState.SILENT),
    "it was released": (with_record(holder=None, holder_text="", released=7), ShardState.FREE),
    "its holder was emptied by hand": (with_record(holder=None, holder_text=""), ShardState.HELD),
    "its holder is no holder": (with_record(holder=None, holder_text="me"), ShardState.HELD),
    "it is retired": (with_record(status=ShardStatus.RETIRED, holder=None, holder_text=""), ShardState.NEW),
    "its Lease was deleted": (replace(SIGHT, shards={}), ShardState.LOST),
    "the map calls it lost": (with_map(lost=frozenset({WHOLE})), ShardState.LOST),
    "it was never opened": (replace(with_map(opened=frozenset()), shards={}), ShardState.NEW),
}


@pytest.mark.parametrize(("sight", "state"), UNOWNED.values(), ids=UNOWNED)
def test_a_range_has_no_owner_when(sight: Sight, state: ShardState) -> None:
    status = fleet_status(sight)
    row = status.shards[0]
    assert (row.state, row.owner, row.owner_epoch) == (state, "", 0)
    assert row.why
    assert status.unowned == (str(WHOLE),)
    assert not status.complete
    assert all(member.shards == 0 for member in status.members)


def test_a_range_whose_target_is_another_member_moves_and_then_drains() -> None:
    moving = with_map(targets=(B.name,))
    assert (row_of(moving).state, row_of(moving).owner, row_of(moving).target) == (ShardState.MOVING, A.name, B.name)
    ready = replace(OWNED, standby=Standby(Holder(B.name, 1), 7))
    assert row_of(replace(moving, shards={WHOLE: ready})).state is ShardState.DRAINING
    stale = replace(OWNED, standby=Standby(Holder(B.name, 1), 6))
    assert row_of(replace(moving, shards={WHOLE: stale})).state is ShardState.MOVING


def test_a_retiring_range_is_shown_but_is_no_part_of_the_layout() -> None:
    half = KeyRange(0, (1 << 63) - 1)
    retiring = replace(with_map(retiring=frozenset({half})), shards={WHOLE: OWNED, half: replace(OWNED, range=half)})
    status = fleet_status(retiring)
    assert [row.state for row in status.shards] == [ShardState.OWNED, ShardState.RETIRING]
    assert status.unowned == ()


@pytest.mark.parametrize(
    ("record", "silent", "state"),
    [
        (A, False, MemberState.ALIVE),
        (replace(A, leaving=True), False, MemberState.LEAVING),
        (A, True, MemberState.SILENT),
        (replace(A, holder=None), False, MemberState.GONE),
        (replace(A, holder=None), True, MemberState.GONE),
    ],
)
def test_a_members_state(record: MemberRecord, silent: bool, state: MemberState) -> None:
    sight = replace(with_member(record), silent=frozenset({A.name} if silent else ()))
    assert fleet_status(sight).members[0].state is state


def test_a_member_below_its_floor_is_gone() -> None:
    assert fleet_status(with_map(floors={A.name: 4})).members[0].state is MemberState.GONE


def test_loads_are_those_that_the_owner_reported() -> None:
    load = ShardLoad(objects=10, queue_depth=2, parked=1, reconciles_per_second=3.14159)
    status = fleet_status(with_member(replace(A, loads={str(WHOLE): load})))
    row, member = status.shards[0], status.members[0]
    assert (row.objects, row.queue_depth, row.parked, row.reconciles_per_second) == (10, 2, 1, 3.14)
    assert (member.objects, member.queue_depth, member.parked, member.shards, member.targets) == (10, 2, 1, 1, 1)


def test_the_coordinator_is_named_with_its_pod_while_its_lease_lives() -> None:
    status = fleet_status(SIGHT)
    assert (status.coordinator, status.coordinator_pod, status.coordinator_epoch) == ("pod-b.1.agent/1", "web-1", 4)
    silent = fleet_status(replace(SIGHT, silent=frozenset({""})))
    assert (silent.coordinator, silent.coordinator_pod) == ("", "")
    assert fleet_status(replace(SIGHT, coordinator=None)).coordinator == ""


def test_without_a_map_there_is_nothing_to_own_and_nothing_is_complete() -> None:
    status = fleet_status(replace(SIGHT, map=None))
    assert (status.shards, status.map_version, status.complete) == ((), 0, False)
    assert [member.state for member in status.members] == [MemberState.ALIVE, MemberState.ALIVE]


def test_it_is_json_with_camel_case_names() -> None:
    document = msgspec.json.decode(msgspec.json.encode(fleet_status(SIGHT)))
    assert document["mapVersion"] == 5
    assert document["shards"][0]["ownerEpoch"] == 3
    assert msgspec.convert(document, FleetStatus) == fleet_status(SIGHT)


FAILS = FailingRecord("sites", "default/a", str(WHOLE), 1_800_000_000, 12, "ValueError at websites.py:7")


def test_keys_that_keep_failing_are_told_by_their_owner() -> None:
    load = ShardLoad(objects=10, failing=30)
    status = fleet_status(with_member(replace(A, loads={str(WHOLE): load}, failing=(FAILS,))))
    assert (status.failing_keys, status.members[0].failing, status.shards[0].failing) == (30, 30, 30)
    [row] = status.failing
    assert (row.controller, row.key, row.shard, row.member) == ("sites", "default/a", str(WHOLE), A.name)
    assert (row.since, row.count, row.error) == ("2027-01-15T08:00:00Z", 12, "ValueError at websites.py:7")


def test_the_longest_failing_comes_first() -> None:
    later = replace(FAILS, key="default/b", since=FAILS.since + 60)
    status = fleet_status(with_member(replace(A, failing=(later, FAILS))))
    assert [row.key for row in status.failing] == ["default/a", "default/b"]


def test_what_another_member_says_about_a_range_does_not_count() -> None:
    loads = {str(WHOLE): ShardLoad(failing=3)}
    status = fleet_status(with_member(replace(B, loads=loads, failing=(FAILS,))))
    assert (status.failing_keys, status.failing) == (0, ())


@pytest.mark.parametrize("since", [10**17, -(10**17)])
def test_a_moment_that_is_none_is_left_out(since: int) -> None:
    [row] = fleet_status(with_member(replace(A, failing=(replace(FAILS, since=since),)))).failing
    assert row.since == ""


WAITS = WaitingRecord("sites", "default/c", str(WHOLE), 1_800_000_000, 9, "not ready", "the volume is not bound")


def test_keys_that_wait_for_long_are_told_by_their_owner_too() -> None:
    status = fleet_status(with_member(replace(A, loads={str(WHOLE): ShardLoad(waiting=2)}, waiting=(WAITS,))))
    assert (status.waiting_keys, status.members[0].waiting, status.shards[0].waiting) == (2, 2, 2)
    [row] = status.waiting
    assert (row.key, row.member, row.since, row.times) == ("default/c", A.name, "2027-01-15T08:00:00Z", 9)
    assert (row.waits_for, row.why, row.for_seconds) == ("not ready", "the volume is not bound", None)


@pytest.mark.parametrize(("at", "seconds"), [(1_800_000_090.4, 90), (1_799_999_000.0, 0)])
def test_how_long_is_told_by_the_reader_s_clock(at: float, seconds: float) -> None:
    sight = replace(with_member(replace(A, failing=(FAILS,), waiting=(WAITS,))), at=at)
    status = fleet_status(sight)
    assert (status.failing[0].for_seconds, status.waiting[0].for_seconds) == (seconds, seconds)


def test_an_owned_shard_whose_reconciles_have_not_begun_says_why() -> None:
    status = fleet_status(with_member(replace(A, loads={str(WHOLE): ShardLoad(closed="its views are being listed")})))
    assert (status.shards[0].state, status.shards[0].why) == ("owned", "its views are being listed")


def test_a_member_s_share_of_the_budget_is_that_of_its_own_incarnation() -> None:
    assert fleet_status(with_member(A)).members[0].budget_share is None
    for epoch, shown in ((A.epoch, 0.25), (A.epoch + 1, 0.0)):
        shares = {A.name: Share(250_000, 500_000, 4, epoch)}
        sight = replace(with_member(A), map=replace(MAP, shares=shares))
        assert fleet_status(sight).members[0].budget_share == shown


def test_failing_keys_are_part_of_the_json() -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(fleet_status(with_member(replace(A, failing=(FAILS,))))))
    assert encoded["failingKeys"] == 0
    assert encoded["failing"][0]["since"] == "2027-01-15T08:00:00Z"
    assert encoded["failing"][0]["terminal"] is False
