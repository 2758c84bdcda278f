from __future__ import annotations

import io
import os
from dataclasses import replace
from unittest import mock

import msgspec

from fleet.records.controls import Controls, Order
from fleet.records.record import CoordinatorRecord, Holder, MemberRecord
from fleet.records.report_record import ShardLoad
from fleet.rules.plan_settings import PlanSettings
from fleet.status import plan_table
from fleet.status.plan_view import PlanView, plan_view
from fleet.status.statusview import Sight
from shards.keyrange import equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

RANGES = ranges_from(equal_boundaries(4))
SETTINGS = PlanSettings(churn_per_round=1.0)


def loaded(name: str, *seconds: float, **changes: object) -> MemberRecord:
    loads = [ShardLoad(reconcile_seconds_per_second=each) for each in seconds]
    return member(name, loads={str(each): load for each, load in zip(RANGES, loads, strict=False)}, pod=name, **changes)


def sight(targets: str = "aaab", **changes: object) -> Sight:
    """Members a and b; every range is held by its target."""
    seen = Sight(
        fleet="web",
        namespace="prod",
        map=shard_map(
            "web", boundaries=equal_boundaries(4), targets=tuple(targets), opened=frozenset(RANGES), moved_at=0
        ),
        members={"a": loaded("a", 0.2, 0.2, 0.2), "b": loaded("b", 0, 0, 0, 0.2)},
        shards={each: shard(each, holder=Holder(target, 3)) for each, target in zip(RANGES, targets, strict=True)},
        coordinator=CoordinatorRecord("web-0.agent/1", 1, 8.0),
        at=1000.0,
    )
    return replace(seen, **changes)  # type: ignore[arg-type]  # any field may change


def printed(plan: PlanView) -> str:
    out = io.StringIO()
    plan_table.write(plan, out)
    return out.getvalue()


def test_every_move_is_told_in_one_sentence_and_what_would_be_left_then() -> None:
    plan = plan_view(sight(), SETTINGS)
    assert [each.sentence for each in plan.moves] == [
        "8000-bfff goes from a to b, because a carries 150 % of its fair share and b 50 %"
    ]
    assert plan.moves[0].by_choice
    assert plan.still == "every member carries its fair share"
    assert printed(plan).splitlines()[-2:] == [
        "8000-bfff goes from a to b, because a carries 150 % of its fair share and b 50 %",
        "nothing else would move by choice: every member carries its fair share",
    ]


def test_it_tells_what_every_member_carries() -> None:
    rows = {row.member: row for row in plan_view(sight(), SETTINGS).loads}
    assert (rows["a"].shards, rows["a"].fair_part, rows["b"].fair_part) == (3, 1.5, 0.5)
    assert "150 %" in printed(plan_view(sight(), SETTINGS))


def test_a_balanced_fleet_says_why_nothing_moves() -> None:
    even = sight("aabb", members={"a": loaded("a", 0.2, 0.2), "b": loaded("b", 0, 0, 0.2, 0.2)})
    plan = plan_view(even, SETTINGS)
    assert plan.moves == ()
    assert printed(plan).splitlines()[-1] == "nothing would move: every member carries its fair share"


def test_a_frozen_fleet_says_who_froze_it() -> None:
    frozen = Controls(frozen=Order(by="ann", why="incident 12", since="2026-11-30T09:12:44Z"))
    plan = plan_view(sight(controls=frozen), SETTINGS)
    assert plan.moves == ()
    assert plan.still == "the fleet is frozen since 2026-11-30T09:12:44Z by ann: incident 12"


def test_a_fleet_that_cools_down_says_for_how_long() -> None:
    seen = sight()
    assert seen.map is not None
    plan = plan_view(replace(seen, map=replace(seen.map, moved_at=990)), SETTINGS)
    assert plan.moves == ()
    assert plan.still == "the last moves by choice were 10 s ago, of 30 s (rebalance.cooldownSeconds)"


def test_a_budget_that_is_used_up_is_named() -> None:
    plan = plan_view(sight("aaaa"), PlanSettings(churn_per_round=0.1))
    assert len(plan.moves) == 1
    assert plan.still == "at most 1 of 4 shards may be on their way at once (rebalance.churnPerRound)"


def test_a_brown_out_moves_nothing() -> None:
    plan = plan_view(sight(silent=frozenset({"a", "b"})), SETTINGS)
    assert plan.moves == ()
    assert plan.still == "more than half of the members look dead at once, which is doubted (R12)"


def test_what_a_dead_member_had_is_not_by_choice() -> None:
    plan = plan_view(sight("aagb"), SETTINGS)
    assert [(each.sentence, each.by_choice) for each in plan.moves] == [
        ("8000-bfff goes from g to b, because g is gone", False)
    ]


def test_a_drained_member_gets_none_and_hands_over_all() -> None:
    plan = plan_view(sight(controls=Controls().drain("b", Order())), SETTINGS)
    assert [each.sentence for each in plan.moves] == ["c000-ffff goes from b to a, because b is drained"]
    assert [(row.member, row.receives) for row in plan.loads] == [("a", True), ("b", False)]
    assert "gets none" in printed(plan)


def test_a_fleet_without_a_map_says_so() -> None:
    assert plan_view(sight(map=None), SETTINGS).still == "there is no map yet"


def test_it_says_that_nobody_would_carry_it_out() -> None:
    for seen in (sight(coordinator=None), sight(silent=frozenset({""}))):
        assert plan_view(seen, SETTINGS).notes == (
            "no coordinator is in office: until there is one, nobody carries this out",
        )


def test_controls_that_cannot_be_read_are_named() -> None:
    plan = plan_view(sight(controls=None, controls_trouble="frozen: write an object"), SETTINGS)
    assert "frozen: write an object" in plan.notes[0]


def test_it_is_told_in_json_with_names_as_everywhere() -> None:
    shown = msgspec.to_builtins(plan_view(sight(), SETTINGS))
    assert set(shown) == {"fleet", "namespace", "mapVersion", "loads", "moves", "cuts", "still", "notes"}
    assert set(shown["moves"][0]) == {"shard", "source", "target", "byChoice", "why", "sentence"}


def test_a_narrow_terminal_cuts_no_name_off() -> None:
    class Narrow(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Narrow()
    with mock.patch.dict(os.environ, {"COLUMNS": "30", "TERM": "dumb"}):
        plan_table.write(plan_view(sight(), SETTINGS), out)
    assert out.getvalue() == printed(plan_view(sight(), SETTINGS))
