"""The objects of those who use the operator."""

from __future__ import annotations

from chaos.targets.running import RUNNING
from chaos.targets.target import Target


def unsettled_objects(target: Target = RUNNING) -> int:
    """Primary objects with which the controller is not done; those that should exist and do not count too."""
    return target.people.unsettled()


def changes(target: Target = RUNNING) -> int:
    """How often people have changed an object so far."""
    return target.people.changes
