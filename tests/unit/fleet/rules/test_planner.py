from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.rules.planner import Plan, PlanSettings, eligible, plan
from shards.keyrange import KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member

RESTED = float("inf")
NAMES = [f"m{i}" for i in range(8)]


def ranges(count: int) -> tuple[KeyRange, ...]:
    return ranges_from(equal_boundaries(count))


def made(
    targets: str | tuple[str, ...],
    able: str | list[str],
    *,
    keepers: str = "",
    churn: float = 1.0,
    rested: float = RESTED,
    barred: dict[int, str] | None = None,
) -> Plan:
    """A plan for ranges whose targets are written as one letter each; "-" is nobody."""
    now = tuple("" if target == "-" else target for target in targets)
    layout = ranges(len(now))
    return plan(
        layout,
        now,
        sorted(able),
        keepers=sorted(keepers),
        settings=PlanSettings(churn_per_round=churn, cooldown_seconds=30.0),
        since_last_move=rested,
        barred={layout[i]: frozenset(names) for i, names in (barred or {}).items()},
    )


@st.composite
def situations(draw: st.DrawFn) -> tuple[tuple[str, ...], list[str], list[str], float, float]:
    """Targets, able, keepers, churn, seconds since the last move."""
    targets = tuple(draw(st.lists(st.sampled_from(["", *NAMES]), min_size=1, max_size=40)))
    able = sorted(draw(st.sets(st.sampled_from(NAMES))))
    keepers = sorted(draw(st.sets(st.sampled_from(NAMES))) - set(able))
    return targets, able, keepers, draw(st.floats(0.01, 1.0)), draw(st.floats(0, 60))


def plan_of(situation: tuple[tuple[str, ...], list[str], list[str], float, float]) -> Plan:
    targets, able, keepers, churn, rested = situation
    settings = PlanSettings(churn_per_round=churn, cooldown_seconds=30.0)
    return plan(ranges(len(targets)), targets, able, keepers=keepers, settings=settings, since_last_move=rested)


@settings(max_examples=30)
@given(situations())
def test_every_range_has_a_target_that_can_own_it(
    situation: tuple[tuple[str, ...], list[str], list[str], float, float],
) -> None:
    _, able, keepers, _, _ = situation
    if able:
        assert set(plan_of(situation).targets) <= {*able, *keepers}


@settings(max_examples=30)
@given(situations())
def test_only_forced_moves_and_the_budget_s_worth_of_others_are_made(
    situation: tuple[tuple[str, ...], list[str], list[str], float, float],
) -> None:
    targets, able, keepers, churn, rested = situation
    plan = plan_of(situation)
    forced = [target not in {*able, *keepers} for target in targets]
    budget = max(1, math.floor(len(targets) * churn)) if rested >= 30.0 and able else 0
    moved = [old != new for old, new in zip(targets, plan.targets, strict=True)]
    assert plan.voluntary <= budget
    assert sum(moved) <= (sum(forced) if able else 0) + plan.voluntary
    assert len(plan.moves) == (sum(forced) if able else 0) + plan.voluntary


@settings(max_examples=30)
@given(situations())
def test_a_plan_with_no_limit_is_balanced_within_one_range_and_stays_so(
    situation: tuple[tuple[str, ...], list[str], list[str], float, float],
) -> None:
    targets, able, keepers, _, _ = situation
    if not able:
        return
    balanced = plan_of((targets, able, keepers, 1.0, RESTED))
    owned = Counter(dict.fromkeys(able, 0))
    owned.update(target for target in balanced.targets if target in able)
    assert max(owned.values()) - min(owned.values()) <= 1
    assert plan_of((balanced.targets, able, keepers, 1.0, RESTED)) == Plan(balanced.targets)


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 7))
def test_a_member_that_joins_moves_no_more_than_its_share(count: int, before: int) -> None:
    old = plan_of((("",) * count, NAMES[:before], [], 1.0, RESTED)).targets
    joined = plan_of((old, NAMES[: before + 1], [], 1.0, RESTED))
    assert len(joined.moves) <= math.ceil(count / (before + 1))
    assert all(move.target == NAMES[before] for move in joined.moves)


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(2, 8), st.integers(0, 7))
def test_a_member_that_leaves_moves_no_more_than_what_it_had(count: int, before: int, leaver: int) -> None:
    gone = NAMES[leaver % before]
    old = plan_of((("",) * count, NAMES[:before], [], 1.0, RESTED)).targets
    left = plan_of((old, [name for name in NAMES[:before] if name != gone], [], 1.0, RESTED))
    assert len(left.moves) == old.count(gone) <= math.ceil(count / before)
    assert all(move.source == gone for move in left.moves)


def test_a_fleet_without_members_keeps_its_targets() -> None:
    assert made("aab", []) == Plan(("a", "a", "b"))


def test_voluntary_moves_wait_for_the_cool_down_and_forced_ones_do_not() -> None:
    assert made("aaaa", "ab", rested=29.0).moves == ()
    assert [str(move) for move in made("aa-c", "ab", rested=0.0).moves] == [
        "8000-bfff: nobody -> b, it had no target",
        "c000-ffff: c -> b, its member is gone or leaving",
    ]


def test_a_round_moves_what_the_budget_allows_and_at_least_one() -> None:
    assert made("a" * 20, "ab", churn=0.1).voluntary == 2
    assert made("a" * 4, "ab", churn=0.01).voluntary == 1


def test_a_silent_member_keeps_its_ranges_and_gets_no_others() -> None:
    assert made("a-bb", "b", keepers="a").targets == ("a", "b", "b", "b")


def test_a_member_that_did_not_become_ready_is_not_given_the_range_again() -> None:
    assert made("-", "ab", barred={0: "a"}).targets == ("b",)
    assert made("aa", "ab", barred={0: "b", 1: "b"}).moves == ()
    assert made("aa", "ab", barred={1: "b"}).targets == ("b", "a")


def test_a_range_that_everybody_failed_to_open_is_given_to_somebody_all_the_same() -> None:
    assert made("-", "ab", barred={0: "ab"}).targets == ("a",)


def test_members_are_eligible_while_they_are_held_and_heard_of_and_stay() -> None:
    good = member("good")
    members = {
        each.name: each
        for each in (
            good,
            replace(good, name="fenced", holder=None),
            replace(good, name="leaving", leaving=True),
            replace(good, name="below-its-floor", epoch=2),
            replace(good, name="silent"),
        )
    }
    assert eligible(members, {"below-its-floor": 3, "good": 3}, silent=["silent"]) == ["good"]
