"""What is left of a failing plan still fails, and nothing of it can be left out."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from chaos.simulation.plan import Plan, Shape
from chaos.simulation.scenario_file import check, parse, text_of
from chaos.simulation.shrinking import is_limited, shrink
from chaos.simulation.strikes import BrownOut, Crash, CutWatch, Delete, Pause, Reshard, StaleReplica
from chaos.simulation.swarm import draw, limited
from shards.errors import ConfigError

ENOUGH = 5000
"""Runs that no search here uses up."""


def having(*kinds: type) -> Callable[[Plan], bool]:
    """Fails when strikes of all these kinds are there."""
    return lambda plan: set(kinds) <= {type(each) for each in plan.strikes}


def makes_sense(plan: Plan) -> bool:
    """A storm may have to stay: it brings the process that something strikes, or somebody who is left at the end."""
    try:
        check(plan)
    except ConfigError:
        return False
    return is_limited(plan)


seeds = st.integers(0, 10**6)


@given(seed=seeds, culprits=st.sets(st.integers(0, 15), max_size=3))
@example(seed=161, culprits={5})
@settings(max_examples=60, deadline=None)
def test_no_strike_is_left_that_the_failure_can_do_without(seed: int, culprits: set[int]) -> None:
    plan = draw(seed)
    kinds = [type(plan.strikes[index]) for index in culprits if index < len(plan.strikes)]
    small = shrink(plan, having(*kinds), most_runs=ENOUGH)
    assert having(*kinds)(small)
    for index in range(len(small.strikes)):
        without = replace(small, strikes=small.strikes[:index] + small.strikes[index + 1 :])
        assert not having(*kinds)(without) or not makes_sense(without)


@given(seed=seeds, workers=st.integers(1, 4), shards=st.integers(1, 6), objects=st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_the_fleet_is_as_small_as_the_failure_allows(seed: int, workers: int, shards: int, objects: int) -> None:
    plan = draw(seed)

    def fails(each: Plan) -> bool:
        return each.shape.workers >= workers and each.shape.shards >= shards and each.shape.objects >= objects

    if not fails(plan):
        return
    small = shrink(plan, fails, most_runs=ENOUGH)
    least = {"workers": workers, "agents": 1, "shards": shards, "replicas": 1, "objects": objects}
    assert small.shape == replace(plan.shape, **least)
    assert small.strikes == ()


@given(seed=seeds, most_runs=st.integers(0, 60), salt=st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_whatever_fails_the_search_is_bounded_repeats_itself_and_ends_with_a_plan_that_fails(
    seed: int, most_runs: int, salt: int
) -> None:
    plan = draw(seed)
    asked: list[Plan] = []

    def fails(each: Plan) -> bool:
        asked.append(each)
        return (len(text_of(each)) + salt) % 3 > 0

    small = shrink(plan, fails, most_runs=most_runs)
    assert small == plan or (len(text_of(small)) + salt) % 3 > 0
    assert len(asked) <= most_runs
    assert len(set(asked)) == len(asked), "no plan is run twice"
    first, asked = asked, []
    assert shrink(plan, fails, most_runs=most_runs) == small
    assert asked == first


@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_what_is_left_can_be_written_down_and_is_no_harsher_than_what_a_swarm_draws(seed: int) -> None:
    def fails(each: Plan) -> bool:
        assert parse(text_of(each)) == each
        assert tuple(limited(list(each.strikes), each.shape, each.chaos_seconds)) == each.strikes
        return len(each.strikes) % 3 > 0

    shrink(draw(seed), fails, most_runs=200)


def test_strikes_become_plainer_and_shorter() -> None:
    plan = Plan(
        seed=9,
        strikes=(
            Pause(at=1.234, process="a", seconds=3.217),
            Crash(at=2.0, process="b", back_after=1.0, after_write=True, reaped=False),
            Delete(at=4.567, record="shard", index=5),
        ),
    )
    small = shrink(plan, having(Pause, Crash, Delete), most_runs=ENOUGH)
    assert small.strikes == (
        Pause(at=1, process="a", seconds=0.1),
        Crash(at=2.0, process="a", back_after=0.1),
        Delete(at=4, record="shard"),
    )
    assert small.chaos_seconds == 4.1


def test_strikes_that_change_places_as_they_come_earlier_stay_whole() -> None:
    strikes = (CutWatch(at=1.0, process="a"), Pause(at=1.5, process="a", seconds=3.0))
    plan = Plan(seed=9, strikes=strikes)
    small = shrink(plan, having(CutWatch, Pause), most_runs=ENOUGH)
    assert having(CutWatch, Pause)(small)
    late = replace(plan, strikes=(CutWatch(at=1.2, process="a"), Pause(at=1.7, process="a", seconds=3.0)))
    assert len(shrink(late, lambda each: len(each.strikes) == 2 and each.strikes[1].at >= 1.2).strikes) == 2


def test_who_is_gone_hands_its_strikes_to_who_is_left() -> None:
    plan = Plan(
        seed=9,
        shape=Shape(workers=4, agents=3, replicas=3),
        strikes=(
            Pause(at=1.0, process="d", seconds=1.0),
            Pause(at=1.0, process="agent-3", seconds=1.0),
            StaleReplica(at=1.0, replica=2, lag_seconds=1.0, seconds=1.0),
        ),
    )
    small = shrink(plan, lambda each: len(each.strikes) == 3, most_runs=ENOUGH)
    assert small.shape == Shape(workers=1, agents=1, shards=1, replicas=1, objects=0)
    assert [getattr(each, "process", "") for each in small.strikes] == ["a", "agent-1", ""]


def test_a_smaller_fleet_is_tried_with_other_seeds_too() -> None:
    plan = Plan(seed=9, shape=Shape(workers=2, agents=1, shards=1, replicas=1, objects=0), chaos_seconds=0.1)
    assert shrink(plan, lambda each: each.seed == 3).shape.workers == 1


def test_every_step_is_told_with_the_runs_that_it_took() -> None:
    told: list[tuple[int, int]] = []
    plan = Plan(seed=9, strikes=(BrownOut(at=1.0, seconds=1.0), Reshard(at=2.0, shards=3)))
    shrink(plan, having(Reshard), tell=lambda each, runs: told.append((len(each.strikes), runs)))
    assert told[0] == (1, 2)


def test_a_plan_that_nothing_makes_smaller_is_given_back() -> None:
    plan = draw(5)
    assert shrink(plan, lambda each: False) == plan
    assert shrink(replace(plan, strikes=()), lambda each: False).strikes == ()
