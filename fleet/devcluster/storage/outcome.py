"""What a write came to. Pure."""

from __future__ import annotations

import msgspec

from fleet.devcluster.storage.commits import Stored


class Outcome(msgspec.Struct, frozen=True):
    """stored: the object after the write; the last state of a removed one. created: also a PUT that created.

    replaced: the state before, of an object that was there; `stored` itself where the write changed nothing. A delete
    does not say.
    """

    stored: Stored
    created: bool = False
    removed: bool = False
    replaced: Stored | None = None
