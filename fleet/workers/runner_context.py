"""What a worker lends to the runners of its ranges."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleet.health.telemetry import Telemetry
from fleet.records.coordination import Coordination
from fleet.workers.owned_shard import OwnedShard
from shards.clock import Clock
from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What all runners of a worker share.

    deadline: boot-clock reading until which the incarnation of a member epoch may act. drain_seconds: how long running
    reconciles may go on in a drain before they are cancelled. stop_seconds: how long a stop may take before the process
    must end (R2). die: ends the process at once. wake: asks the worker to evaluate again.
    """

    coordination: Coordination
    make_shard: Callable[[KeyRange], OwnedShard]
    deadline: Callable[[int], float]
    drain_seconds: float
    stop_seconds: float
    clock: Clock
    rng: random.Random
    die: Callable[[int], Any]
    wake: Callable[[], None]
    telemetry: Telemetry
