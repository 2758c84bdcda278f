from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.records.controls import Controls, Order
from fleet.records.record import MemberRecord, ShardMap
from fleet.rules.look import Look
from fleet.rules.membership import Sighting, fence
from fleet.rules.story import story
from shards.keyrange import WHOLE, equal_boundaries
from tests.unit.fleet.records.records import member, shard_map


def look(*members: MemberRecord, controls: Controls | None = None, shown: ShardMap | None = None) -> Look:
    return Look(1, shown or shard_map(), {}, {each.name: each for each in members}, 0.0, 8.0, controls or Controls())


def told(before: Look, after: Look) -> list[str]:
    return [f"{each.reason}: {each.note}" for each in story(before, after)]


def test_nothing_is_told_of_a_fleet_at_rest() -> None:
    assert told(look(member("a")), look(member("a", renewals=5, version="9", seen_map=8))) == []


GONE = member("a", holder=None, epoch=4)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (None, member("a"), "MemberJoined: member a joined at epoch 3"),
        (GONE, member("a", epoch=5), "MemberJoined: member a joined at epoch 5"),
        (member("a"), member("a", epoch=4), "MemberJoined: member a began anew at epoch 4"),
        (member("a"), member("a", leaving=True), "MemberLeaves: member a hands over what it has, and leaves"),
        (member("a", leaving=True), replace(GONE, leaving=True), "MemberLeft: member a left for good"),
        (GONE, None, "MemberForgotten: the Lease of member a was removed"),
    ],
)
def test_members_come_and_go(before: MemberRecord | None, after: MemberRecord | None, sentence: str) -> None:
    assert told(look(*filter(None, [before])), look(*filter(None, [after]))) == [sentence]


def test_a_leaving_member_that_is_fenced_is_not_said_to_have_left_by_itself() -> None:
    leaving = member("a", leaving=True)
    fenced = fence(leaving, Sighting(leaving.version, since=0.0, lease_seconds=leaving.lease_seconds), 100.0)
    assert fenced is not None
    assert told(look(leaving), look(fenced)) == []


def test_a_fence_is_told_by_who_fences() -> None:
    assert told(look(member("a")), look(GONE)) == []


def test_orders_are_told_when_they_are_given_and_when_they_end() -> None:
    ordered = Controls().freeze(Order("ann", "incident 12")).drain("b", Order())
    nothing = look()
    assert told(nothing, look(controls=ordered)) == [
        "Frozen: nothing moves by choice any more, by order of ann: incident 12",
        "Drained: b gives its shards away",
    ]
    assert told(look(controls=ordered), nothing) == [
        "Unfrozen: shards may move by choice again",
        "Undrained: b may have shards again",
    ]


def test_a_reshard_begins_with_another_layout_and_is_done_when_the_former_has_retired() -> None:
    four = shard_map(boundaries=equal_boundaries(4), targets=("", "", "", ""), retiring=frozenset({WHOLE}))
    assert told(look(), look(shown=four)) == ["ReshardBegun: 2 shards become 4"]
    done = look(shown=replace(four, retiring=frozenset()))
    assert told(look(shown=four), done) == ["ReshardDone: the layout of 4 shards is in force alone"]
