"""Steps of ranges that people want to hear of, as happenings."""

from __future__ import annotations

from collections.abc import Callable

from fleet.health.range_steps import Cause, RangeObserver, RangeStep, Step, sentence
from fleet.records.happening import Happening
from fleet.records.object_names import Kind


def told_as_events(tell: Callable[[Happening], None]) -> RangeObserver:
    """A takeover, a handover, and the end of an ownership without a release. Steps on the way there are in the log."""

    def observe(step: RangeStep) -> None:
        happening = happening_of(step)
        if happening is not None:
            tell(happening)

    return observe


def happening_of(step: RangeStep) -> Happening | None:
    """None for what is not worth an Event."""
    note = f"{step.member}: {sentence(step)}"
    if step.step is Step.CLAIMED and step.cause in (Cause.RESTART, Cause.FENCE):
        return Happening("Takeover", note, Kind.SHARD, str(step.range))
    if step.step is Step.OPEN and step.cause is Cause.HANDOVER:
        return Happening("Handover", note, Kind.SHARD, str(step.range))
    if step.step is Step.DROPPED:
        return Happening("Dropped", note, Kind.SHARD, str(step.range), warning=True)
    return None
