"""The kill schedule of `fleet dev`: which child is killed with SIGKILL, and when."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from fleet.status.statusview import FleetStatus
from shards.errors import ConfigError

COORDINATOR = "coordinator"
ANY_WORKER = "worker"

_FORM = re.compile(r"(coordinator|worker(?:-\d+)?)@(\d+(?:\.\d+)?)s?")


class Kill(NamedTuple):
    """target: "coordinator", "worker-<slot>", or "worker" for the one that owns most shards.

    after_seconds: counted from the moment at which every shard is owned for the first time.
    """

    target: str
    after_seconds: float

    def __str__(self) -> str:
        return f"{self.target}@{self.after_seconds:g}s"


def parse_kill(text: str, *, workers: int) -> Kill:
    """From worker@5s, worker-1@5s or coordinator@8s. Raises ConfigError."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ConfigError("--kill", f"{text!r} is no kill; write worker@5s, worker-1@5s or coordinator@8s")
    target = found[1]
    if target.startswith("worker-") and int(target.removeprefix("worker-")) >= workers:
        raise ConfigError("--kill", f"there is no {target}; the workers are worker-0 to worker-{workers - 1}")
    return Kill(target, float(found[2]))


def victim(target: str, status: FleetStatus, children: Collection[str]) -> str | None:
    """Name of the child to kill now; None while there is none that fits.

    With one pod the coordinator can only be the pod's agent, once it holds the office.
    """
    if target == COORDINATOR:
        return "agent" if status.coordinator and "agent" in children else None
    if target != ANY_WORKER:
        return target if target in children else None
    shards = {f"worker-{row.name.rpartition('-')[2]}": row.shards for row in status.members}
    candidates = sorted(name for name in children if name.startswith("worker-") and shards.get(name, 0))
    return max(candidates, key=lambda name: shards[name], default=None)
