"""Every seed draws a plan of its own, and none takes away what the promises rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, get_args

import pytest

from chaos.simulation.aimed import AIMED_AT, AIMED_EVERY, AIMS, is_aimed
from chaos.simulation.aimed_at_members import AIMS_AT_MEMBERS, MEMBERS_AT, MEMBERS_EVERY, is_about_members
from chaos.simulation.aimed_at_shards import AIMS_AT_SHARDS
from chaos.simulation.plan import Depth, Plan, worker_name
from chaos.simulation.strikes import (
    AnyStrike,
    ClockRate,
    Crash,
    Delete,
    Edit,
    Leave,
    Partition,
    Pause,
    Reshard,
    Restore,
    StaleReplica,
    Steal,
    Storm,
    Twin,
    Useless,
)
from chaos.simulation.swarm import (
    APART_LEASES,
    BEYOND_EVERY,
    COLLECTS_EVERY,
    FORGETS_EVERY,
    HANDS,
    RESHARDS,
    draw,
    is_beyond,
    patience_seconds,
)

SEEDS = range(4000)
AIMS_AT: Mapping[Depth, tuple[object, ...]] = {"protocol": AIMS, "stack": AIMS_AT_SHARDS}


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return [draw(seed) for seed in SEEDS]


def of(plan: Plan, *kinds: type[AnyStrike]) -> Iterator[Any]:
    return (each for each in plan.strikes if isinstance(each, kinds))


def test_a_seed_draws_the_same_plan_every_time() -> None:
    assert draw(17) == draw(17)
    assert draw(17) != draw(18)


def test_aimed_seeds_are_a_class_of_their_own() -> None:
    aimed_seeds = [seed for seed in range(64) if is_aimed(seed)]
    assert aimed_seeds == [1, 17, 33, 49]
    assert not any(is_beyond(seed) or patience_seconds(seed) for seed in SEEDS if is_aimed(seed))


def test_seeds_about_members_are_another_class_of_the_protocol_depth() -> None:
    members = [seed for seed in SEEDS if is_about_members(seed)]
    assert len(members) == len(SEEDS) // MEMBERS_EVERY
    assert not any(is_aimed(seed) or is_beyond(seed) or patience_seconds(seed) for seed in members)
    for seed in members:
        [useless] = of(draw(seed), Useless)
        assert useless.seconds is None or useless.seconds > 2 * draw(seed).shape.standby_deadline_seconds
        assert not any(of(draw(seed, "stack"), Useless))


def test_each_aim_at_members_has_its_turn() -> None:
    refused = [draw(MEMBERS_AT + MEMBERS_EVERY * turn).strikes for turn in range(len(AIMS_AT_MEMBERS))]
    kinds = {tuple(sorted({type(each).__name__ for each in strikes})) for strikes in refused}
    assert len(kinds) >= len(AIMS_AT_MEMBERS) - 1


def test_each_aim_has_its_turn() -> None:
    for depth, aims in AIMS_AT.items():
        kinds = {
            tuple(sorted({type(each).__name__ for each in draw(AIMED_AT + AIMED_EVERY * turn, depth).strikes}))
            for turn in range(len(aims))
        }
        assert len(kinds) >= len(set(aims))


def test_what_is_aimed_at_shards_is_within_the_chaos_and_meets_somebody() -> None:
    for turn in range(200):
        plan = draw(AIMED_AT + AIMED_EVERY * turn, "stack")
        joined = sum(each.workers for each in of(plan, Storm))
        names = set(map(worker_name, range(plan.shape.workers + joined)))
        times = [each.at for each in plan.strikes]
        assert times == sorted(times)
        assert all(0 <= at < plan.chaos_seconds for at in times)
        assert {each.process for each in plan.strikes if hasattr(each, "process")} <= names
        assert all(each.replica < plan.shape.replicas for each in of(plan, StaleReplica))


def test_both_depths_draw_their_own() -> None:
    assert draw(17, "stack").depth == "stack"
    assert draw(17, "stack").strikes != draw(17, "protocol").strikes


def test_every_kind_of_strike_is_drawn_with_every_fifth_plan_at_most(plans: list[Plan]) -> None:
    having = Counter(kind for plan in plans for kind in {type(each) for each in plan.strikes})
    assert set(having) == set(get_args(AnyStrike))
    assert max(having.values()) < len(plans) / 4, "a swarm leaves most kinds out of most histories"


def test_some_plans_strike_nothing_and_some_strike_hard(plans: list[Plan]) -> None:
    counts = Counter(len(plan.strikes) for plan in plans)
    assert counts[0] > 0
    assert max(counts) >= 12


def test_all_shapes_are_drawn(plans: list[Plan]) -> None:
    assert {plan.shape.workers for plan in plans} == {1, 2, 3, 4}
    assert {plan.shape.agents for plan in plans} == {1, 2, 3}
    assert {plan.shape.shards for plan in plans} == {1, 2, 3, 4, 5, 6}
    assert {plan.shape.replicas for plan in plans} == {1, 2, 3}


def test_strikes_are_in_order_and_within_the_chaos(plans: list[Plan]) -> None:
    for plan in plans:
        times = [each.at for each in plan.strikes]
        assert times == sorted(times)
        assert all(0 <= at < plan.chaos_seconds for at in times)


def test_who_is_struck_is_there(plans: list[Plan]) -> None:
    for plan in plans:
        joined = sum(each.workers for each in of(plan, Storm)) if is_aimed(plan.seed) else 0
        names = {*map(worker_name, range(plan.shape.workers + joined)), *plan.shape.agent_names}
        assert {each.process for each in plan.strikes if hasattr(each, "process")} <= names
        assert all(each.replica < plan.shape.replicas for each in of(plan, StaleReplica))


def test_a_worker_and_an_agent_always_come_back(plans: list[Plan]) -> None:
    for plan in plans:
        gone = {each.process for each in of(plan, Crash, Leave) if each.back_after is None}
        assert set(plan.shape.worker_names) - gone
        assert set(plan.shape.agent_names) - gone


def test_clocks_leave_their_margin_in_marked_seeds_only(plans: list[Plan]) -> None:
    for plan in plans:
        within = all(0.95 <= each.rate <= 1.05 for each in of(plan, ClockRate))
        assert within or is_beyond(plan.seed)
    marked = [plan for plan in plans if is_beyond(plan.seed)]
    assert len(marked) == len(plans) // BEYOND_EVERY
    assert all(any(of(plan, ClockRate)) for plan in marked)


def test_hands_are_few_and_do_not_destroy_a_record_and_what_it_is_mended_by(plans: list[Plan]) -> None:
    for plan in plans:
        hands = list(of(plan, Delete, Steal, Edit))
        assert len(hands) <= HANDS
        for one, other in combinations(hands, 2):
            if (one.record == "map") != (other.record == "map"):
                assert abs(one.at - other.at) >= APART_LEASES * plan.shape.lease_seconds


def test_hands_never_forge_an_owner(plans: list[Plan]) -> None:
    assert {each.holder for plan in plans for each in of(plan, Steal)} <= {"", "somebody"}


def test_the_store_is_restored_once_and_nobody_starts_in_the_lease_after_it(plans: list[Plan]) -> None:
    for plan in plans:
        restores = list(of(plan, Restore))
        assert len(restores) <= 1
        for restore in restores:
            assert restore.back_seconds <= restore.at
            for each in of(plan, Storm, Twin):
                assert not restore.at <= each.at <= restore.at + plan.shape.lease_seconds
            for each in of(plan, Crash):
                if each.back_after is not None and not each.after_write:
                    starts_at = min(each.at + each.back_after, plan.chaos_seconds)
                    assert not restore.at <= starts_at <= restore.at + plan.shape.lease_seconds
            for each in of(plan, Pause, Partition):
                goes_on_at = min(each.at + each.seconds, plan.chaos_seconds)
                if each.at <= restore.at:
                    assert not restore.at <= goes_on_at <= restore.at + plan.shape.lease_seconds


def test_some_histories_last_until_what_has_left_is_collected(plans: list[Plan]) -> None:
    long = [plan for plan in plans if patience_seconds(plan.seed)]
    assert len(long) == len(plans) // COLLECTS_EVERY
    for plan in [*long, draw(FORGETS_EVERY - 2)]:
        assert plan.chaos_seconds > patience_seconds(plan.seed)
    aimed = [plan for plan in plans if is_aimed(plan.seed) or is_about_members(plan.seed)]
    assert max(plan.chaos_seconds for plan in plans if plan not in [*long, *aimed]) < 7


def test_layouts_change_a_few_times_only(plans: list[Plan]) -> None:
    assert max(len(list(of(plan, Reshard))) for plan in plans) == RESHARDS
