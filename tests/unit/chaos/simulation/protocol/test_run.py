from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from chaos.simulation.plan import Plan, Shape
from chaos.simulation.protocol.run import run_protocol
from chaos.simulation.strikes import Crash, LostAnswers, Partition, Pause
from chaos.simulation.swarm import draw


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def told(plan: Plan) -> list[str]:
    lines: list[str] = []
    outcome = run_protocol(plan, say=lambda at, sentence: lines.append(f"{at:.3f} {sentence}"))
    assert outcome.breaches == ()
    assert outcome.settled_seconds is not None
    return lines


def test_a_fleet_that_nothing_strikes_owns_everything() -> None:
    lines = told(Plan(seed=1, chaos_seconds=3.0))
    assert sum(" acts on " in line for line in lines) == Shape().shards


def test_the_same_plan_is_the_same_history() -> None:
    plan = draw(7, "protocol")
    assert told(plan) == told(plan)


def test_another_seed_is_another_history() -> None:
    assert told(Plan(seed=1, chaos_seconds=3.0)) != told(Plan(seed=2, chaos_seconds=3.0))


def test_a_worker_that_is_killed_comes_back_under_another_epoch() -> None:
    lines = told(Plan(seed=1, strikes=(Crash(at=2.0, process="a"),)))
    assert any("a/2 writes member a@2" in line for line in lines)


def test_a_worker_that_is_cut_off_ends_before_others_act() -> None:
    lines = told(Plan(seed=1, strikes=(Partition(at=2.0, process="a", way="both", seconds=3.5),)))
    ended = next(i for i, line in enumerate(lines) if "a/1 acts on" in line and "no more" in line)
    fenced = next(i for i, line in enumerate(lines) if "writes member a@2, held by nobody" in line)
    assert ended < fenced


def test_a_worker_that_is_paused_past_its_deadline_acts_no_more() -> None:
    lines = told(Plan(seed=1, strikes=(Pause(at=2.0, process="b", seconds=3.5),)))
    resumed = next(i for i, line in enumerate(lines) if "b/1 goes on" in line)
    assert any("b/1 acts on" in line and "no more" in line for line in lines[resumed:])


def test_a_lost_answer_changes_nothing() -> None:
    strikes = tuple(LostAnswers(at=0.3 * count, process=name) for count in range(10) for name in ("a", "b", "agent-1"))
    told(Plan(seed=1, strikes=strikes))


@pytest.mark.parametrize("seed", range(20))
def test_no_promise_is_broken(seed: int) -> None:
    outcome = run_protocol(draw(seed, "protocol"))
    assert outcome.breaches == ()


def test_a_fleet_without_objects_settles_too() -> None:
    outcome = run_protocol(Plan(seed=1, shape=Shape(workers=1, agents=1, shards=1, objects=0), chaos_seconds=2.0))
    assert outcome.breaches == ()
    assert outcome.settled_seconds is not None
