"""Histories of the stack: what they show, and that they are the same every time."""

from __future__ import annotations

import pytest

from chaos.simulation.outcome import Outcome
from chaos.simulation.plan import Plan, Shape
from chaos.simulation.stack.run import run_stack
from chaos.simulation.strikes import AnyStrike, Crash, Delete, LostAnswers, Partition, Pause, Reshard
from shards.gates.own_writes import OwnWrites

SHAPE = Shape(workers=2, agents=1, shards=2, replicas=2, objects=4)


def played(*strikes: AnyStrike, seed: int = 1) -> tuple[Outcome, list[str]]:
    lines: list[str] = []
    plan = Plan(seed=seed, depth="stack", shape=SHAPE, strikes=strikes, chaos_seconds=4.0)
    outcome = run_stack(plan, say=lambda at, what: lines.append(f"{at:.6f} {what}"))
    return outcome, lines


def test_a_fleet_that_is_left_alone_breaks_nothing_and_settles() -> None:
    outcome, _ = played()
    assert outcome.breaches == ()
    assert outcome.settled_seconds is not None
    assert {"I1", "I2", "I3", "I4", "I8", "I9", "I13", "I14", "I15", "I16", "I19", "I21"} <= outcome.checks.keys()


@pytest.mark.parametrize(
    "strike",
    [
        Crash(at=1.0, process="a"),
        Crash(at=1.0, process="a", after_write=True, back_after=0.5),
        Pause(at=1.0, process="a", seconds=3.0),
        Partition(at=1.0, process="b", way="to_client", seconds=3.0),
        LostAnswers(at=1.0, process="b", times=3),
        Delete(at=1.0, record="map"),
        Reshard(at=1.0, shards=3),
    ],
    ids=lambda strike: str(strike.__struct_config__.tag),
)
def test_it_breaks_nothing_and_settles_whatever_strikes(strike: AnyStrike) -> None:
    outcome, _ = played(strike)
    assert outcome.breaches == ()


def test_one_seed_is_one_history_and_another_seed_is_another() -> None:
    strikes = Crash(at=1.0, process="a"), Pause(at=2.0, process="b", seconds=1.0)
    outcome, lines = played(*strikes)
    assert (outcome, lines) == played(*strikes)
    assert lines != played(*strikes, seed=2)[1]


def test_a_history_without_the_gate_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnWrites, "blocked", lambda self, key, views: None)
    found = [breach.oracle for seed in range(5) for breach in played(seed=seed)[0].breaches]
    assert "I3" in found
