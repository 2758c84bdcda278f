"""What one history is made of: a fleet, what strikes it and when. Drawn from a seed, or read from a scenario file."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from chaos.simulation.strikes import FASTEST, SLOWEST, AnyStrike, ClockRate, Seconds

Depth = Literal["protocol", "stack"]


def worker_name(index: int) -> str:
    """From 0: a to z, then a1 to z1."""
    return ascii_lowercase[index % 26] + (str(index // 26) if index >= 26 else "")


_TWIN = "-twin"


def twin_of(process: str) -> str:
    """The name of another process that says it is this one."""
    return process + _TWIN


def said_name(process: str) -> str:
    """The name that the process says it has: a twin says that it is the other."""
    return process.removesuffix(_TWIN)


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """workers, agents: processes at the start. replicas: front ends of the server. objects: primaries there are.

    standby_deadline_seconds: within which a target must be ready (R13); who does not follow for twice that is expelled.
    """

    workers: Annotated[int, Meta(ge=1, le=100)] = 3
    agents: Annotated[int, Meta(ge=1, le=100)] = 2
    shards: Annotated[int, Meta(ge=1, le=256)] = 4
    replicas: Annotated[int, Meta(ge=1, le=10)] = 2
    objects: Annotated[int, Meta(ge=0, le=10_000)] = 8
    lease_seconds: Annotated[float, Meta(ge=0.1, le=600)] = 2.0
    standby_deadline_seconds: Annotated[float, Meta(ge=0.1, le=600)] = 6.0

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

    seed: Annotated[int, Meta(ge=0)]
    depth: Depth = "protocol"
    shape: Shape = Shape()
    strikes: tuple[AnyStrike, ...] = ()
    chaos_seconds: Seconds = 6.0

    @property
    def beyond(self) -> bool:
        """Whether a clock leaves its margin, so that nothing that rests on durations is promised."""
        return any(isinstance(each, ClockRate) and not SLOWEST <= each.rate <= FASTEST for each in self.strikes)
