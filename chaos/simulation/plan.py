"""What one history is made of: a fleet, what strikes it and when. Drawn from a seed, or read from a scenario file."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Literal

import msgspec

from chaos.simulation.strikes import AnyStrike

Depth = Literal["protocol", "stack"]


def worker_name(index: int) -> str:
    """From 0: a to z, then a1 to z1."""
    return ascii_lowercase[index % 26] + (str(index // 26) if index >= 26 else "")


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """workers, agents: processes at the start. replicas: front ends of the server. objects: primaries there are."""

    workers: int = 3
    agents: int = 2
    shards: int = 4
    replicas: int = 2
    objects: int = 8
    lease_seconds: float = 2.0

    @property
    def worker_names(self) -> tuple[str, ...]:
        """`a`, `b`, ..."""
        return tuple(worker_name(index) for index in range(self.workers))

    @property
    def agent_names(self) -> tuple[str, ...]:
        """`agent-1`, `agent-2`, ..."""
        return tuple(f"agent-{number}" for number in range(1, self.agents + 1))


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
