"""What a write came to. Pure."""

from __future__ import annotations

import msgspec

from fleet.devcluster.commits import Stored


class Outcome(msgspec.Struct, frozen=True):
    """stored: the object after the write; the last state of a removed one. created: a PUT that created."""

    stored: Stored
    created: bool = False
    removed: bool = False
