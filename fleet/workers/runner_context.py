"""What a worker lends to the runners of its ranges."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fleet.health.range_steps import RangeObserver
from fleet.records.coordination import Coordination
from fleet.workers.owned_shard import OwnedShard
from fleet.workers.watchdog import write_without_waiting
from shards.clock import Clock
from shards.keyrange import KeyRange

log = logging.getLogger(__name__)

STOP_SHARE = 0.1
"""Part of the lease that a stop may take after the deadline; a fence can come 0.15 of it after (design 3.2)."""


def last_words(text: str) -> None:
    """Why the process ends at once: in the log, and past it, since what waits to be logged ends with the process."""
    log.critical("%s", text)
    write_without_waiting(2, f"{text}\n")


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What all runners of a worker share.

    deadline: boot-clock reading until which the incarnation of a member epoch may act. drain_seconds: how long running
    reconciles may go on in a drain before they are cancelled. stop_seconds: how long a stop may take before the process
    must end (R2). die: ends the process at once. die_in_order: likewise, but first what else the process holds comes to
    rest; for a caller whose own range does nothing any more that could be fenced. wake: asks the worker to evaluate
    again. tell: of every step of a range. last_words: hears why the process ends.
    """

    member: str

    coordination: Coordination
    make_shard: Callable[[KeyRange], OwnedShard]
    deadline: Callable[[int], float]
    drain_seconds: float
    stop_seconds: float
    clock: Clock
    rng: random.Random
    die: Callable[[int], Any]
    die_in_order: Callable[[int], Awaitable[None]]
    wake: Callable[[], None]
    tell: RangeObserver
    last_words: Callable[[str], None] = last_words
