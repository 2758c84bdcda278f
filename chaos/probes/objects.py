"""The objects of those who use the operator."""

from __future__ import annotations

from chaos.targets.running import RUNNING
from chaos.targets.target import Target

LOOK_SECONDS = 0.2


def unsettled_objects(target: Target = RUNNING, within_seconds: float = 0.0) -> int:
    """Primary objects with which the controller is not done; those that should exist and do not count too.

    within_seconds: looks again that long, until there are none: what people change meanwhile is soon done, and what is
    never done is lost. The fewest that were seen.
    """
    give_up_at = target.now() + within_seconds
    fewest = target.people.unsettled()
    while fewest and target.now() < give_up_at:
        target.sleep(LOOK_SECONDS)
        fewest = min(fewest, target.people.unsettled())
    return fewest


def changes(target: Target = RUNNING) -> int:
    """How often people have changed an object so far."""
    return target.people.changes
