from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.rules.moves import Plan
from fleet.rules.planner import LEAST_GAIN, PREFERRED_UP_TO, Situation
from tests.unit.fleet.rules.situations import NAMES, UNLIMITED, after, loads, planned, situation, situations, spread

# -- what holds for every plan --------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(situations())
def test_every_range_has_a_target_that_can_own_it(now: Situation) -> None:
    if now.able:
        assert set(planned(now).targets) <= {*now.able, *now.keepers}


@settings(max_examples=60)
@given(situations())
def test_no_range_moves_by_choice_to_who_is_barred_or_about_to_be_replaced(now: Situation) -> None:
    for move in planned(now).moves:
        if move.by_choice:
            assert move.target in (now.preferred or now.able)
            assert move.target not in now.barred.get(move.range, ())


@settings(max_examples=60)
@given(situations(), st.integers(0, 5))
def test_what_can_stay_stays_but_for_the_budget(now: Situation, budget: int) -> None:
    made = planned(now, budget)
    homeless = [target not in {*now.able, *now.keepers} or not target for target in now.targets]
    forced = sum(homeless) if now.able else 0
    changed = sum(old != new for old, new in zip(now.targets, made.targets, strict=True))
    voluntary = sum(move.by_choice for move in made.moves)
    assert voluntary <= budget
    assert changed <= forced + voluntary == len(made.moves)


@settings(max_examples=60)
@given(situations())
def test_a_plan_that_is_repeated_on_its_own_result_comes_to_an_end_and_says_why(now: Situation) -> None:
    made = planned(now)
    assert made.still
    assert planned(after(now, made)) == Plan(made.targets, (), made.still)
    for _ in range(200):
        made = planned(now, budget=1)
        if not made.moves:
            break
        now = after(now, made)
    assert not planned(now, budget=1).moves


@settings(max_examples=60)
@given(situations(), st.randoms())
def test_a_plan_does_not_depend_on_the_order_in_which_members_are_known(now: Situation, rng: object) -> None:
    names = list(now.able)
    rng.shuffle(names)  # type: ignore[attr-defined]
    assert planned(replace(now, able={name: now.able[name] for name in names})) == planned(now)


@settings(max_examples=60)
@given(situations())
def test_each_move_by_choice_lowers_the_higher_of_two_loads_by_a_quarter_of_what_moves(now: Situation) -> None:
    placed = after(now, planned(now, budget=0))
    for _ in range(20):
        made = planned(placed, budget=1)
        if not made.moves:
            return
        move = made.moves[0]
        before, then = loads(placed), loads(after(placed, made))
        cost = placed.costs[placed.ranges.index(move.range)]
        weight = placed.able[move.source]
        gained = before[move.source] - max(then[move.source], then[move.target] / placed.able[move.target] * weight)
        assert gained >= LEAST_GAIN * cost - 1e-9
        placed = after(placed, made)


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 8))
def test_ranges_that_cost_the_same_are_spread_evenly(count: int, members: int) -> None:
    made = planned(situation(("",) * count, dict.fromkeys(NAMES[:members], 1.0)))
    owned = Counter(dict.fromkeys(NAMES[:members], 0))
    owned.update(made.targets)
    assert max(owned.values()) - min(owned.values()) <= 1


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 7))
def test_a_member_that_joins_moves_no_more_than_its_share(count: int, before: int) -> None:
    old = planned(situation(("",) * count, dict.fromkeys(NAMES[:before], 1.0))).targets
    joined = planned(situation(old, dict.fromkeys(NAMES[: before + 1], 1.0)))
    assert len(joined.moves) <= math.ceil(count / (before + 1))
    assert all(move.target == NAMES[before] for move in joined.moves)


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(2, 8), st.integers(0, 7))
def test_a_member_that_leaves_moves_no_more_than_what_it_had(count: int, before: int, leaver: int) -> None:
    gone = NAMES[leaver % before]
    old = planned(situation(("",) * count, dict.fromkeys(NAMES[:before], 1.0))).targets
    left = planned(situation(old, {name: 1.0 for name in NAMES[:before] if name != gone}))
    assert len(left.moves) == old.count(gone) <= math.ceil(count / before)
    assert all(move.source == gone for move in left.moves)


# -- loads and weights ----------------------------------------------------------------------------------------------


def test_costs_are_spread_and_not_numbers_of_ranges() -> None:
    made = planned(situation("aabb", "ab", costs=[6, 3, 1, 1]))
    assert made.targets == ("a", "b", "b", "b")


def test_what_a_dead_member_had_goes_where_there_is_most_room() -> None:
    made = planned(situation("abbbxxx", "abc", costs=[5, 1, 1, 1, 4, 3, 1]), budget=0)
    assert made.targets == ("a", "b", "b", "b", "c", "b", "c")


def test_a_member_of_twice_the_weight_gets_twice_as_much() -> None:
    made = planned(situation("-" * 30, {"small": 1.0, "large": 2.0}))
    assert Counter(made.targets) == {"large": 20, "small": 10}


def test_a_member_whose_weight_is_lowered_hands_over_what_is_too_much() -> None:
    made = planned(situation("a" * 10 + "b" * 10, {"a": 1.0, "b": 0.25}))
    assert Counter(made.targets) == {"a": 16, "b": 4}


def test_nothing_moves_for_less_than_the_tolerance() -> None:
    assert planned(situation("aabb", "ab", costs=[1.0, 1.05, 0.95, 1.0])).moves == ()


def test_nothing_moves_that_would_have_to_come_back() -> None:
    """Of 10 and 8 ranges' worth, moving one range of 1.9 would gain 0.1, and cost a handover."""
    assert planned(situation("aaaaabbbb", "ab", costs=[1.9] * 5 + [1.875] * 4)).moves == ()


def test_a_range_that_is_too_heavy_to_move_is_left_alone_and_the_others_leave_it() -> None:
    made = planned(situation("aaabbb", "ab", costs=[10, 1, 1, 1, 1, 1]))
    assert made.targets == ("a", "b", "b", "b", "b", "b")
    assert made.still == "no single move would bring the members nearer to their fair shares"


def test_of_ranges_that_gain_the_same_the_one_is_moved_that_has_moved_least_often() -> None:
    assert planned(situation("aaaa", "ab", moved=[3, 1, 2, 3]), budget=1).targets == ("a", "b", "a", "a")


# -- who may be given what ------------------------------------------------------------------------------------------


def test_a_fleet_without_members_keeps_its_targets() -> None:
    assert planned(situation("aab", "")) == Plan(("a", "a", "b"), still="no member may be given shards")


def test_without_a_budget_only_ranges_move_that_cannot_stay() -> None:
    assert planned(situation("aaaa", "ab"), budget=0) == Plan(("a",) * 4)
    now = replace(situation("aa-c", "ab"), departed={"c": "c is leaving"})
    assert [str(move) for move in planned(now, budget=0).moves] == [
        "8000-bfff goes to b, because nobody had it",
        "c000-ffff goes from c to b, because c is leaving",
    ]


def test_a_plan_that_ended_with_its_budget_does_not_call_itself_finished() -> None:
    assert planned(situation("a" * 20, "ab"), budget=2).still == ""
    assert planned(situation("a" * 20, "ab"), budget=10).still == "every member carries its fair share"


def test_a_move_by_choice_says_who_carries_how_much() -> None:
    assert [str(move) for move in planned(situation("aaab", "ab"), budget=UNLIMITED).moves] == [
        "8000-bfff goes from a to b, because a carries 150 % of its fair share and b 50 %"
    ]


def test_a_silent_member_keeps_its_ranges_and_gets_no_others() -> None:
    assert planned(situation("a-bb", "b", keepers="a")).targets == ("a", "b", "b", "b")


def test_a_member_that_did_not_become_ready_is_not_given_the_range_again() -> None:
    assert planned(situation("-", "ab", barred={0: "a"})).targets == ("b",)
    assert planned(situation("aa", "ab", barred={0: "b", 1: "b"})).moves == ()
    assert planned(situation("aa", "ab", barred={1: "b"})).targets == ("b", "a")


def test_a_range_that_everybody_failed_to_open_is_given_to_somebody_all_the_same() -> None:
    assert planned(situation("-", "ab", barred={0: "ab"})).targets == ("a",)


def test_during_a_rollout_ranges_go_to_the_newest_revision() -> None:
    """c is new and empty; a and b are about to be replaced."""
    made = planned(situation("aaabbbddd", "abc", preferred="c"))
    assert made.targets == ("a", "a", "a", "b", "b", "b", "c", "c", "c")
    assert planned(situation("aaaab", "ab", preferred="a")).moves == ()


def test_the_newest_revision_is_not_given_more_than_it_can_carry() -> None:
    made = planned(situation("a" * 2 + "b" * 2 + "c" * 2 + "x" * 12, "abc", preferred="c"))
    fair = 18 / 3
    assert loads(after(situation("a" * 18, "abc"), made))["c"] == PREFERRED_UP_TO * fair
    assert spread(after(situation("a" * 18, "abc"), made)) == PREFERRED_UP_TO
