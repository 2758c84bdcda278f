"""What one worker is in its fleet, and how long it may take."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from shards.keyrange import PartitionKey


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """identity, scope: digests of the controllers, see `shards.authoring.controller`.

    leave_seconds: how long a leaving member waits for standbys before it releases without them.
    drain_seconds: how long running reconciles may take before they are cancelled in a drain.
    weight: its fair share of the load, as a multiple of another worker's.
    partition_keys: those by which the controllers' objects can be divided; the map says which one is in force.
    pid: of this process, shown in its record.
    """

    name: str
    pod: str
    revision: str
    identity: str
    scope: str
    lease_seconds: float
    renew_seconds: float
    leave_seconds: float = 10.0
    drain_seconds: float = 5.0
    weight: float = 1.0
    partition_keys: tuple[PartitionKey, ...] = tuple(PartitionKey)
    pid: int = field(default_factory=os.getpid)
