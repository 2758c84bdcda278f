"""What a write came to. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.devcluster.commits import Stored


@dataclass(frozen=True, slots=True)
class Outcome:
    """stored: the object after the write; the last state of a removed one. created: a PUT that created."""

    stored: Stored
    created: bool = False
    removed: bool = False
