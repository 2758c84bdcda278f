"""How an action says what it did and when, for the timeline of a report: a list `strikes` in its answer."""

from __future__ import annotations

from typing import TypedDict

from chaos.targets.target import Target


class Strike(TypedDict):
    """at, until: boot-clock seconds; until: None for what is over at once, or is ended by somebody else."""

    what: str
    at: float
    until: float | None


def strike(what: str, target: Target) -> Strike:
    """One that happens now."""
    return {"what": what, "at": round(target.now(), 3), "until": None}
