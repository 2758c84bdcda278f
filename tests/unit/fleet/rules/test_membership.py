from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from fleet.records.record import Holder, Incarnation, MemberRecord, ShardMap
from fleet.rules.membership import (
    Join,
    MemberWatch,
    Sighting,
    Wait,
    acting_until,
    established,
    expel,
    fence,
    floors,
    forgotten,
    highest_epochs,
    highest_named_epoch,
    is_renewal,
    join,
    leave,
    sight,
    went_back,
)
from fleet.rules.survey import Survey
from shards.keyrange import WHOLE
from tests.unit.fleet.records.records import member, shard, shard_map

ME = Incarnation("pod-uid.nonce", 3)
LEASE = 8.0


def joined(
    found: MemberRecord | None, *, known_epoch: int = 0, stood_seconds: float = 0.0, reaped: bool = False
) -> Join | Wait:
    """What an incarnation does that sees `found` unchanged for that long, at second 100."""
    return join(
        member(holder=ME, epoch=0),
        found,
        sighting=Sighting(found.version if found else "", 100.0 - stood_seconds, LEASE),
        known_epoch=known_epoch,
        reaped_predecessor=reaped,
        now=100.0,
    )


def test_a_member_acts_for_less_than_its_lease_counted_from_before_the_renewal() -> None:
    assert acting_until(50.0, 8.0) == pytest.approx(56.8)


# -- joining --------------------------------------------------------------------------------------------------------


def test_the_first_incarnation_of_all_begins_at_epoch_one() -> None:
    decision = joined(None)
    assert isinstance(decision, Join)
    assert (decision.record.epoch, decision.record.version, decision.record.holder) == (1, "", ME)


@pytest.mark.parametrize(
    ("holder", "reaped", "stood_seconds"),
    [
        (None, False, 0.0),
        (ME, False, 0.0),
        (Incarnation("pod-uid.nonce", 2), True, 0.0),
        (Incarnation("pod-uid.nonce", 2), False, LEASE),
        (Incarnation("another-pod.nonce", 1), False, LEASE),
    ],
    ids=["nobody holds it", "its own answer was lost", "its predecessor was reaped", "silence", "a stranger's silence"],
)
def test_joining_raises_the_epoch_whatever_was_there(
    holder: Incarnation | None, reaped: bool, stood_seconds: float
) -> None:
    found = member(holder=holder, epoch=7, version="41", uid="u")
    decision = joined(found, stood_seconds=stood_seconds, reaped=reaped)
    assert isinstance(decision, Join)
    assert (decision.record.epoch, decision.record.version, decision.record.uid) == (8, "41", "u")


@pytest.mark.parametrize(
    ("holder", "reaped"),
    [
        (Incarnation("pod-uid.nonce", 2), False),
        (Incarnation("pod-uid.other-nonce", 2), True),
        (Incarnation("pod-uid.nonce", 4), True),
        (Incarnation("another-pod.nonce", 2), True),
    ],
    ids=["not reaped", "another supervisor of the pod", "a later process", "another pod"],
)
def test_a_live_foreign_holder_is_waited_for_as_long_as_its_lease(holder: Incarnation, reaped: bool) -> None:
    decision = joined(member(holder=holder, version="41"), stood_seconds=LEASE - 0.1, reaped=reaped)
    assert isinstance(decision, Wait)
    assert decision.until == pytest.approx(100.1)


def test_a_record_that_is_missing_but_known_is_waited_for_and_exceeded() -> None:
    assert isinstance(joined(None, known_epoch=4, stood_seconds=LEASE - 0.1), Wait)
    decision = joined(None, known_epoch=4, stood_seconds=LEASE)
    assert isinstance(decision, Join)
    assert decision.record.epoch == 5


def test_a_record_below_an_epoch_that_is_known_elsewhere_is_exceeded() -> None:
    decision = joined(member(holder=None, epoch=1, version="9"), known_epoch=6)
    assert isinstance(decision, Join)
    assert decision.record.epoch == 7


def test_the_highest_epoch_is_looked_for_in_floors_holders_and_last_holders() -> None:
    records = [shard(holder=Holder("a", 4)), shard(holder=Holder("b", 9), last_holder=Holder("a", 6))]
    assert highest_named_epoch("a", None, records) == 6
    assert highest_named_epoch("a", shard_map(floors={"a": 8}), records) == 8
    assert highest_named_epoch("c", shard_map(), records) == 0


def test_the_epochs_of_all_members_are_those_of_each() -> None:
    shown = shard_map(targets=("t",), floors={"a": 8, "f": 2})
    low, high = shard(), shard(WHOLE)
    shards = {
        low.range: replace(low, holder=Holder("a", 3), last_holder=Holder("b", 9)),
        high.range: replace(high, holder=None, last_holder=Holder("b", 4)),
    }
    found = Survey(shown, shards).find(highest_epochs)
    for name in ("a", "b", "f", "t", "nobody"):
        assert found.get(name, 0) == highest_named_epoch(name, shown, shards.values())


def test_a_member_is_established_by_what_it_had_seen_before_a_write_of_its_record() -> None:
    assert not established(False, known_epoch=0)
    assert established(False, known_epoch=1)
    assert established(True, known_epoch=0)


def test_the_map_remembers_how_high_the_floors_were_that_go() -> None:
    shown = replace(shard_map(floors={"a": 8, "b": 3}), forgotten=5)
    assert forgotten(shown, {"a": 9}) == 5
    assert forgotten(shown, {"b": 3}) == 8


FIGURES = {
    "renewals", "loads", "failing", "waiting", "parts", "rollout", "filters", "spread", "demand", "version"
}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in fields(MemberRecord)])
def test_a_renewal_says_nothing_but_that_a_member_lives_and_how_its_shards_fare(name: str) -> None:
    """Whoever adds a field to the record says here whether others wait for it."""
    before, changed = member("a"), dict[str, Any]({name: "changed"})
    assert is_renewal(before, replace(before, **changed)) is (name in FIGURES | {"uid", "scope", "pid"})


def test_leaving_is_a_fence_of_oneself() -> None:
    left = leave(member(epoch=3))
    assert (left.holder, left.epoch, left.leaving) == (None, 4, True)


# -- watching and fencing -------------------------------------------------------------------------------------------


def test_a_timer_starts_again_when_the_record_moves_and_remembers_the_longest_lease() -> None:
    first = sight(None, "1", 8.0, 10.0)
    same = sight(first, "1", 4.0, 15.0)
    moved = sight(same, "2", 4.0, 16.0)
    assert (first.since, same.since, moved.since) == (10.0, 10.0, 16.0)
    assert moved.lease_seconds == 8.0


def watched(versions: dict[str, str], **changes: object) -> dict[str, MemberRecord]:
    return {name: member(name, version=version, **changes) for name, version in versions.items()}


def test_a_member_is_silent_once_more_than_its_lease_has_passed_since_it_was_last_seen_to_move() -> None:
    watch = MemberWatch()
    watch.observe(watched({"a": "1", "b": "2"}), 0.0)
    watch.observe(watched({"a": "1", "b": "3"}), 5.0)
    now = watched({"a": "1", "b": "3"})
    assert watch.silent(now, LEASE) == []
    assert watch.silent(now, LEASE + 0.1) == ["a"]
    assert watch.silent(watched({"a": "4", "b": "3"}), LEASE + 0.1) == []


def test_a_record_that_was_deleted_and_is_back_has_a_new_timer() -> None:
    watch = MemberWatch()
    watch.observe(watched({"a": "1"}), 0.0)
    watch.observe({}, 1.0)
    watch.observe(watched({"a": "1"}), 7.0)
    assert watch.silent(watched({"a": "1"}), 10.0) == []


def test_half_of_the_members_may_be_fenced_at_once_and_more_than_half_may_not() -> None:
    watch = MemberWatch()
    members = watched({"a": "1", "b": "2", "c": "3", "d": "4"})
    watch.observe(members, 0.0)
    watch.observe(members | watched({"c": "5", "d": "6"}), 5.0)
    half = members | watched({"c": "5", "d": "6"})
    assert watch.fenceable(half, own_renewal_at=0.0, now=9.0) == ["a", "b"]
    most = members | watched({"d": "6"})
    watch.observe(most, 5.0)
    watch.sightings["c"] = Sighting("3", 0.0, LEASE)
    watch.sightings["d"] = Sighting("6", 5.0, LEASE)
    assert watch.fenceable(most, own_renewal_at=0.0, now=9.0) == []


def test_who_is_past_its_deadline_counts_among_those_that_look_dead() -> None:
    """A server that answers nobody for a lease silences all of them; of some the last news came a little late."""
    watch = MemberWatch()
    members = watched({"a": "1", "b": "2", "c": "3", "d": "4"})
    watch.observe(members, 0.0)
    members = members | watched({"c": "5", "d": "6"})
    watch.observe(members, 0.2)
    assert watch.fenceable(members, own_renewal_at=8.05, now=8.1) == []
    assert watch.suspicious_since == 8.1
    assert watch.fenceable(members, own_renewal_at=8.15, now=8.1 + LEASE) == []
    assert watch.fenceable(members, own_renewal_at=16.0, now=8.3 + LEASE) == ["a", "b", "c", "d"]


def test_the_first_news_after_an_outage_of_nearly_a_lease_begins_an_episode() -> None:
    watch = MemberWatch()
    watch.observe(watched({"a": "1", "b": "2"}), 0.0)
    members = watched({"a": "1", "b": "3"})
    watch.observe(members, 7.9)
    assert watch.fenceable(members, own_renewal_at=8.05, now=8.1) == []


def test_a_suspicion_of_oneself_ends_a_lease_after_a_renewal_of_one_s_own_that_began_in_it() -> None:
    watch = MemberWatch()
    members = watched({"a": "1", "b": "2"})
    watch.observe(members, 0.0)
    assert watch.fenceable(members, own_renewal_at=9.0, now=9.0) == []
    assert watch.fenceable(members, own_renewal_at=9.0, now=30.0) == []
    assert watch.fenceable(members, own_renewal_at=31.0, now=31.0) == []
    assert watch.fenceable(members, own_renewal_at=35.0, now=31.0 + LEASE) == []
    assert watch.fenceable(members, own_renewal_at=39.0, now=31.1 + LEASE) == ["a", "b"]


def test_not_even_the_last_silent_one_is_fenced_while_the_suspicion_lasts() -> None:
    watch = MemberWatch()
    members = watched({"a": "1", "b": "2", "c": "3"})
    watch.observe(members, 0.0)
    assert watch.fenceable(members, own_renewal_at=9.0, now=9.0) == []
    back = watched({"a": "1", "b": "4", "c": "5"})
    watch.observe(back, 10.0)
    assert watch.fenceable(back, own_renewal_at=10.0, now=10.5) == []
    back = watched({"a": "1", "b": "6", "c": "7"})
    watch.observe(back, 17.0)
    assert watch.fenceable(back, own_renewal_at=17.0, now=18.1) == ["a"]
    assert watch.suspicious_since is None


@pytest.mark.parametrize("end", ["recovery", "a new term"])
def test_every_episode_is_suspected_anew(end: str) -> None:
    watch = MemberWatch()
    members = watched({"a": "1", "b": "2"})
    watch.observe(members, 0.0)
    watch.fenceable(members, own_renewal_at=9.0, now=9.0)
    watch.fenceable(members, own_renewal_at=10.0, now=10.0)
    if end == "recovery":
        watch.observe(watched({"a": "3", "b": "4"}), 11.0)
        assert watch.fenceable(watched({"a": "3", "b": "4"}), own_renewal_at=11.0, now=12.0) == []
        members = watched({"a": "3", "b": "4"})
    else:
        watch.begin_term()
    assert watch.fenceable(members, own_renewal_at=29.0, now=30.0) == []


def test_an_outage_that_costs_the_office_is_an_episode_of_the_next_term_too() -> None:
    """Nobody was in office when the server answered again, and the first member renews before the election is over."""
    watch = MemberWatch()
    watch.observe(watched({"a": "1", "b": "2"}), 0.0)
    watch.observe(watched({"a": "1", "b": "3"}), 20.0)
    watch.begin_term()
    members = watched({"a": "1", "b": "3"})
    assert watch.fenceable(members, own_renewal_at=19.9, now=20.1) == []
    assert watch.fenceable(members, own_renewal_at=22.0, now=22.1) == []
    members = watched({"a": "1", "b": "4"})
    watch.observe(members, 25.0)
    assert watch.fenceable(members, own_renewal_at=22.0, now=22.1 + LEASE) == ["a"]


def test_an_outage_is_over_when_all_are_heard_of_again() -> None:
    watch = MemberWatch()
    watch.observe(watched({"a": "1", "b": "2"}), 0.0)
    watch.observe(watched({"a": "1", "b": "3"}), 20.0)
    watch.observe(watched({"a": "4", "b": "3"}), 20.1)
    watch.begin_term()
    watch.observe(watched({"a": "4", "b": "5"}), 24.0)
    assert watch.fenceable(watched({"a": "4", "b": "5"}), own_renewal_at=20.0, now=28.6) == ["a"]


def test_a_member_alone_is_fenced_without_suspicion() -> None:
    watch = MemberWatch()
    watch.observe(watched({"a": "1"}), 0.0)
    assert watch.fenceable(watched({"a": "1"}), own_renewal_at=0.0, now=8.1) == ["a"]


def test_a_fence_clears_the_holder_and_raises_the_epoch() -> None:
    fenced = fence(member(epoch=3, version="7"), Sighting("7", 0.0, LEASE), 8.1)
    assert fenced is not None
    assert (fenced.holder, fenced.epoch, fenced.version) == (None, 4, "7")


def test_a_fence_goes_above_what_anything_else_names_of_the_member() -> None:
    """A hand may have lowered its record: what it holds would else never be free."""
    fenced = fence(member(epoch=0, version="7"), Sighting("7", 0.0, LEASE), 8.1, known_epoch=3)
    assert fenced is not None
    assert fenced.epoch == 4


@pytest.mark.parametrize(
    ("live", "since"),
    [
        (None, 0.0),
        (member(holder=None, version="7"), 0.0),
        (member(version="8"), 0.0),
        (member(version="7"), 5.0),
    ],
    ids=["no record", "nobody to fence", "it has moved", "the timer was started again meanwhile"],
)
def test_nobody_is_fenced_when_the_live_read_disagrees(live: MemberRecord | None, since: float) -> None:
    assert fence(live, Sighting("7", since, LEASE), 8.1) is None


def test_an_expulsion_cannot_be_taken_for_the_next_renewal_of_the_member() -> None:
    record = member(renewals=10, seen_map=4)
    assert expel(record).renewals not in (record.renewals, record.renewals + 1)
    assert expel(record).seen_map == 0
    assert (expel(record).holder, expel(record).epoch) == (record.holder, record.epoch)


# -- floors ---------------------------------------------------------------------------------------------------------


def floored(shard_map: ShardMap, *members: MemberRecord, held_by: str = "", **gone: int) -> dict[str, int]:
    holders = [found.member for each in held_by.split() if (found := Holder.parse(each)) is not None]
    return floors(shard_map, {each.name: each for each in members}, holders, gone=gone)


def test_floors_follow_the_member_records_upwards_and_never_down() -> None:
    before = shard_map(targets=("", ""), floors={"a": 5})
    assert floored(before, member("a", epoch=7), member("b", epoch=1)) == {"a": 7, "b": 1}
    assert floored(before, member("a", epoch=3)) == {"a": 5}


def test_a_member_proved_absent_is_dead_and_one_that_is_merely_missing_is_not() -> None:
    before = shard_map(targets=("", ""))
    assert floored(before, held_by="a@4") == {}
    assert floored(before, held_by="a@4", a=5) == {"a": 5}


def test_a_floor_goes_only_when_nothing_names_the_member() -> None:
    before = shard_map(targets=("t", ""), floors={"a": 2, "b": 2, "t": 2, "x": 2})
    kept = floored(before, replace(member("b"), epoch=1), held_by="a@1")
    assert kept == {"a": 2, "b": 2, "t": 2}


# -- restores -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "is_earlier"),
    [
        ({}, False),
        ({"renewals": 9, "version": "51"}, False),
        ({"renewals": 11, "version": "60"}, False),
        ({"epoch": 4, "renewals": 0, "version": "60"}, False),
        ({"renewals": 0, "version": "60"}, False),  # somebody took the annotation away
        ({"renewals": 8, "version": "60"}, True),  # a restore that raised the versions
        ({"renewals": 0, "version": "40"}, True),
        ({"epoch": 2, "renewals": 11, "version": "60"}, True),
    ],
)
def test_an_earlier_state_of_ones_own_record_says_that_the_store_was_restored(
    changes: dict[str, object], is_earlier: bool
) -> None:
    known = member(renewals=9, version="50")
    assert went_back(replace(known, **changes), known) is is_earlier  # type: ignore[arg-type]  # any field
