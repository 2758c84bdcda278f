"""What one history is made of: a fleet, what strikes it and when. Drawn from a seed, or read from a scenario file."""

from __future__ import annotations

from typing import Literal

import msgspec

from chaos.simulation.strikes import AnyStrike

Depth = Literal["protocol", "stack"]


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """workers, agents: processes at the start. replicas: front ends of the server. objects: primaries there are."""

    workers: int = 3
    agents: int = 2
    shards: int = 4
    replicas: int = 2
    objects: int = 8
    lease_seconds: float = 2.0


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One history. seed: of everything that `strikes` leaves open: latencies, the order of what is ready at one moment,
    jitter; each process has a stream of its own, so that a plan with a strike less differs no more than it must.

    strikes: in order of their times. chaos_seconds: then everything heals, whatever it is.
    """

    seed: int
    depth: Depth = "protocol"
    shape: Shape = Shape()
    strikes: tuple[AnyStrike, ...] = ()
    chaos_seconds: float = 6.0
