"""Records of members that are gone for good are collected, and their epochs never come again (R15)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.records.record import Holder, Incarnation, MemberRecord, ShardMap, ShardRecord, Standby
from fleet.rules.absences import FORGET_SECONDS, departed
from fleet.rules.look import Look
from fleet.rules.membership import Join, Sighting, join
from fleet.rules.office_memory import Memory
from fleet.rules.reshard import rebuilt
from shards.keyrange import WHOLE, KeyRange
from tests.unit.fleet.records.records import member, shard, shard_map

LEASE = 8.0
LATE = FORGET_SECONDS + LEASE + 1
GONE = member("b", holder=None, epoch=7, leaving=True, version="5")
MAP = shard_map(targets=("a", "a"))


def look(*members: MemberRecord, shown: ShardMap = MAP, shards: dict[KeyRange, ShardRecord] | None = None) -> Look:
    return Look(1, shown, shards or {}, {each.name: each for each in members}, 0.0, LEASE)


def test_a_member_that_left_is_forgotten_after_a_while_when_the_map_knows_its_epoch() -> None:
    memory = Memory()
    assert departed(look(GONE), memory, 0.0) == ((), 0)
    assert departed(look(GONE), memory, LATE - 2) == ((), 0)
    assert departed(look(GONE), memory, LATE) == ((), 7)
    assert departed(look(GONE, shown=replace(MAP, forgotten=7)), memory, LATE) == ((GONE,), 7)


def test_a_later_office_waits_anew() -> None:
    departed(look(GONE), Memory(), 0.0)
    assert departed(look(GONE), Memory(), LATE) == ((), 0)


def test_a_record_that_changes_is_waited_for_anew() -> None:
    memory = Memory()
    departed(look(GONE), memory, 0.0)
    assert departed(look(replace(GONE, version="6")), memory, LATE) == ((), 0)


@pytest.mark.parametrize(
    ("shown", "record"),
    [
        (shard_map(targets=("a", "b")), shard()),
        (MAP, shard(holder=Holder("b", 7))),
        (MAP, shard(standby=Standby(Holder("b", 7), 5))),
    ],
    ids=["a target", "a holder", "a standby"],
)
def test_a_member_that_something_names_is_not_forgotten(shown: ShardMap, record: ShardRecord) -> None:
    memory = Memory()
    for now in (0.0, LATE):
        assert departed(look(GONE, shown=shown, shards={WHOLE: record}), memory, now) == ((), 0)


def test_members_that_hold_their_record_are_never_forgotten_however_silent() -> None:
    memory = Memory()
    for now in (0.0, LATE):
        assert departed(look(member("b", version="5")), memory, now) == ((), 0)


def test_what_is_remembered_never_falls() -> None:
    memory = Memory()
    shown = replace(MAP, forgotten=9)
    for now in (0.0, LATE):
        found = departed(look(GONE, shown=shown), memory, now)
    assert found == ((GONE,), 9)
    assert departed(look(shown=shown), memory, LATE) == ((), 9)


def test_who_begins_without_a_record_begins_above_all_that_were_collected_and_waits_for_nobody() -> None:
    decision = join(
        member("b", holder=Incarnation("s", 1)),
        None,
        sighting=Sighting("", 0.0, LEASE),
        known_epoch=0,
        reaped_predecessor=False,
        now=0.0,
        forgotten=9,
    )
    assert isinstance(decision, Join)
    assert decision.record.epoch == 10


def test_a_rebuilt_map_remembers_what_the_last_one_did_or_what_shard_records_say() -> None:
    record = shard(WHOLE, last_holder=Holder("gone", 12))
    assert rebuilt(None, MAP, [record], 7).forgotten == 12
    assert rebuilt(replace(MAP, forgotten=20), MAP, [record], 7).forgotten == 20
