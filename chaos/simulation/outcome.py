"""What one simulated history came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

Say = Callable[[float, str], None]
"""Takes one line of the trace: seconds since the start, and a sentence."""


class Breach(NamedTuple):
    """A promise that was broken. oracle: "I1" to "I27"."""

    oracle: str
    at: float
    what: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """breaches: in order of their times; the first ends the history. seconds: that passed in the simulation.

    settled_seconds: from the healing until all was as it should be; None where a breach came first. checks: how often
    each oracle was asked, by its id. hits: how often each strike met something, by its tag. digest: SHA-256 of the
    trace's lines, "" where nobody heard them.
    """

    seed: int
    breaches: tuple[Breach, ...] = ()
    seconds: float = 0.0
    settled_seconds: float | None = None
    checks: dict[str, int] = msgspec.field(default_factory=dict)
    hits: dict[str, int] = msgspec.field(default_factory=dict)
    digest: str = ""
