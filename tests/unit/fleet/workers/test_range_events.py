from __future__ import annotations

import pytest

from fleet.health.range_steps import Cause, RangeStep, Step
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.workers.range_events import happening_of, told_as_events
from shards.keyrange import WHOLE


def step(of: Step, **fields: object) -> RangeStep:
    return RangeStep(of, WHOLE, "a", 1.0, **fields)  # type: ignore[arg-type]  # any field may be given


@pytest.mark.parametrize(
    ("made", "reason", "warning"),
    [
        (step(Step.CLAIMED, cause=Cause.FENCE, epoch=5, peer="b"), "Takeover", False),
        (step(Step.CLAIMED, cause=Cause.RESTART, epoch=5), "Takeover", False),
        (step(Step.OPEN, cause=Cause.HANDOVER, epoch=5, peer="b", unowned_seconds=0.1), "Handover", False),
        (step(Step.DROPPED, why="its record says so"), "Dropped", True),
    ],
)
def test_takeovers_handovers_and_drops_are_told_of(made: RangeStep, reason: str, warning: bool) -> None:
    found = happening_of(made)
    assert found is not None
    assert (found.reason, found.warning, found.kind, found.name) == (reason, warning, Kind.SHARD, str(WHOLE))
    assert found.note.startswith("a: range 0000-ffff")


@pytest.mark.parametrize(
    "made",
    [
        *(step(each) for each in Step if each not in (Step.CLAIMED, Step.OPEN, Step.DROPPED)),
        step(Step.CLAIMED, cause=Cause.FIRST),
        step(Step.CLAIMED, cause=Cause.HANDOVER),
        step(Step.OPEN, cause=Cause.FENCE),
    ],
)
def test_steps_on_the_way_are_not(made: RangeStep) -> None:
    told: list[Happening] = []
    told_as_events(told.append)(made)
    assert told == []
