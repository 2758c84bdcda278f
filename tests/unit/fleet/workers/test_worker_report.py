"""What a worker tells of itself with each renewal: of the ranges that it may act on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fleet.rules.handover import Phase
from fleet.workers.held_range import HeldRange
from fleet.workers.report import Report
from fleet.workers.worker_report import report_of
from shards.keyrange import KeyRange
from tests.unit.fleet.ownership import Behaviour, FakeShard

RANGE = KeyRange.parse("0000000000000000-ffffffffffffffff")


def reported(phase: Phase) -> set[str]:
    """In a phase before it is owned: with a claim under way."""
    runner: Any = HeldRange(RANGE)
    runner.local.phase, runner.shard = phase, FakeShard(RANGE, Behaviour())
    runner._claiming = phase is Phase.STANDBY
    spread: Any = SimpleNamespace(look=lambda held: None)
    report = report_of(
        Report(), {RANGE: runner}, now=0.0, today=0.0, rollout=lambda: None, filters=tuple, spread=spread
    )
    return set(report.loads)


@pytest.mark.parametrize("phase", [Phase.OWNED, Phase.STANDBY])
def test_of_what_may_be_acted_on_the_load_is_told(phase: Phase) -> None:
    assert reported(phase) == {str(RANGE)}


def test_of_a_range_that_is_drained_nothing_is_told() -> None:
    """Its release may have landed, and the next owner tells of it by now."""
    assert reported(Phase.DRAINED) == set()
