"""Who is told of a range's steps, and what people read."""

from __future__ import annotations

import logging

import pytest
from prometheus_client import CollectorRegistry

from fleet.health.metrics import FleetMetrics
from fleet.health.range_steps import Cause, RangeStep, Step, sentence, told_to, written_to_log
from shards.keyrange import WHOLE

OPEN = RangeStep(Step.OPEN, WHOLE, "b-0", 12.0, 7, cause=Cause.HANDOVER, seconds=0.02, unowned_seconds=0.04)


def test_an_observer_that_fails_stops_neither_the_handover_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    told: list[RangeStep] = []

    def broken(step: RangeStep) -> None:
        raise RuntimeError("no disk")

    told_to((broken, told.append))(OPEN)
    assert told == [OPEN]
    assert "an observer of ranges failed at open" in caplog.text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (OPEN, "range 0000-ffff open at epoch 7 after 0.020 s, unowned for 0.040 s"),
        (
            RangeStep(Step.CLAIMED, WHOLE, "b-0", 1.0, 7, peer="a-0", cause=Cause.FENCE),
            "range 0000-ffff claimed at epoch 7 (fence from a-0)",
        ),
        (
            RangeStep(Step.CLAIMED, WHOLE, "b-0", 1.0, 7, cause=Cause.RESTART),
            "range 0000-ffff claimed at epoch 7 (restart)",
        ),
        (
            RangeStep(Step.DRAINING, WHOLE, "a-0", 1.0, 7, peer="b-0", why="its views are to be opened anew"),
            "range 0000-ffff draining at epoch 7 for b-0: its views are to be opened anew",
        ),
        (
            RangeStep(Step.CLAIMED, WHOLE, "b-0", 1.0, 7, peer="a-0", cause=Cause.HANDOVER, watermark=True),
            "range 0000-ffff claimed at epoch 7 (handover from a-0), with a watermark",
        ),
    ],
)
def test_a_step_is_one_sentence(step: RangeStep, text: str) -> None:
    assert sentence(step) == text


def test_the_log_has_moves_and_warns_of_drops(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for each in Step:
            written_to_log(RangeStep(each, WHOLE, "a-0", 1.0, 7))
    levels = {record.getMessage().split()[2]: record.levelname for record in caplog.records}
    assert levels["dropped"] == "WARNING"
    assert levels["claimed"] == levels["released"] == levels["open"] == "INFO"
    assert "drained" not in levels


def test_metrics_count_steps_takeovers_and_the_unowned_time() -> None:
    registry = CollectorRegistry()
    metrics = FleetMetrics(registry)
    metrics.range_step(OPEN)
    metrics.range_step(RangeStep(Step.OPEN, WHOLE, "b-0", 1.0, 7, cause=Cause.FENCE))
    metrics.range_step(RangeStep(Step.CLAIMED, WHOLE, "b-0", 1.0, 7, cause=Cause.FENCE))
    metrics.range_step(RangeStep(Step.CLAIMED, WHOLE, "b-0", 1.0, 7, cause=Cause.HANDOVER))
    metrics.range_step(RangeStep(Step.RELEASED, WHOLE, "b-0", 1.0, 7, seconds=0.3))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("shardfleet_handovers_total", phase="open") == 2
    assert value("shardfleet_takeovers_total", cause="fence") == 1
    assert value("shardfleet_handover_unowned_seconds_count") == 1
    assert value("shardfleet_handover_unowned_seconds_sum") == 0.04
    assert value("shardfleet_handover_drain_seconds_sum") == 0.3
