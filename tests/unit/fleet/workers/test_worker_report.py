"""What a worker tells of itself with each renewal: of the ranges that it may act on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fleet.records.report_record import ShardLoad
from fleet.rules.handover import Phase
from fleet.workers.report import Report
from fleet.workers.worker_report import report_of
from shards.keyrange import KeyRange

RANGE = KeyRange.parse("0000000000000000-ffffffffffffffff")


class Runner(SimpleNamespace):
    """A range that its worker holds."""

    holding = True
    shard = object()

    def load(self) -> ShardLoad:
        return ShardLoad(objects=3)

    def failing(self, most: int) -> list[Any]:
        return []

    def waiting(self, most: int) -> list[Any]:
        return []

    def figures(self) -> list[Any]:
        return []


def reported(phase: Phase) -> set[str]:
    runner: Any = Runner(local=SimpleNamespace(phase=phase))
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
