"""What the processes of a campaign are sent for, and what they bring back. Sent as msgpack."""

from __future__ import annotations

from typing import Literal

import msgspec

from chaos.simulation.outcome import Outcome
from chaos.simulation.plan import Depth, Plan


class Errand(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Play the histories of `seeds` seeds, in their order. plan: play this one for each of them instead of a drawn one.

    broken_rule: without this rule of the product, by its name in `chaos.simulation.removals`; "" for none.
    """

    first_seed: int
    seeds: int
    depth: Depth = "protocol"
    broken_rule: str = ""
    plan: Plan | None = None


class Played(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One history. error: the end of the traceback of a simulation that failed itself; there is no outcome then.

    cpu_seconds: of the process that played it.
    """

    seed: int
    outcome: Outcome | None
    error: str = ""
    cpu_seconds: float = 0.0


FailureKind = Literal["breach", "error", "died", "stuck"]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A history that did not end well.

    kind: a promise was broken; the simulation raised an error; its process died; or it did not come to an end.
    oracle, at: of a breach; at: in seconds of the simulation. repeats: whether a second process saw exactly the same;
    None where nobody looked. replay: the command that shows it.
    """

    seed: int
    kind: FailureKind
    what: str
    oracle: str = ""
    at: float = 0.0
    repeats: bool | None = None
    replay: str = ""
