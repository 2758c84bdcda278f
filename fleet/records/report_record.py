"""What rides on a member's record: what its shards cost, which keys are in trouble, how its controllers fare."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SplitPoint:
    """Where a shard could be split; rides on the load of a busy one. at, hot: hashes, as 16 hex digits.

    at: half of what the shard costs lies below it, as nearly as keys allow. below: the part that does, 0 to 1. hot: of
    the costliest key. share: its part of what the shard costs.
    """

    at: str
    below: float
    hot: str
    share: float


@dataclass(frozen=True, slots=True)
class ShardLoad:
    """What one shard cost lately; rides on the member record."""

    objects: int = 0
    queue_depth: int = 0
    parked: int = 0
    failing: int = 0
    """Keys that keep failing."""
    waiting: int = 0
    """Keys that wait for long."""
    paused: int = 0
    """Keys that somebody has paused."""
    quarantined: int = 0
    """Keys that are not reconciled because they ended workers."""
    reconciles_per_second: float = 0.0
    reconcile_seconds_per_second: float = 0.0
    closed: str = ""
    """Why its reconciles have not begun; "" once they have."""
    young: bool = False
    """It was opened so lately that most of its reconciles were those with which every owner begins."""
    split: SplitPoint | None = None
    """Of the busiest shards of a member only."""


@dataclass(frozen=True, slots=True)
class FailingRecord:
    """A key that keeps failing; rides on the member record. since: seconds since 1970 on the member's clock.

    range: of its shard. error: without values of any object. terminal: not tried again until the object changes.
    """

    controller: str
    key: str
    range: str
    since: int
    count: int
    error: str
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class WaitingRecord:
    """A key that waits for long, and does not fail; rides likewise. times: how often in a row it was told to wait.

    waits_for: a word of `shards.queue.waiting_keys.WaitsFor`. why: without values of any object.
    """

    controller: str
    key: str
    range: str
    since: int
    times: int
    waits_for: str
    why: str


@dataclass(frozen=True, slots=True)
class PartRecord:
    """How one controller fares on a member in all shards where the same features are on; rides likewise.

    Over up to five minutes, since the last switch of a feature at most. on: names of features, separated by commas.
    parked, failing, paused: keys now. seconds: of the shard that was measured for the shortest time.
    """

    controller: str = ""
    on: str = ""
    shards: int = 0
    seconds: int = 0
    keys: int = 0
    parked: int = 0
    failing: int = 0
    reconciles: int = 0
    requests: int = 0
    live_reads: int = 0
    longest_wait: float = 0.0
    longest_parked: float = 0.0
    paused: int = 0


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """Which feature gates and canary a member follows. digest: equal where they are. part: the canary in words.

    confined: names of the features that are on in the canary only. off: those that are switched off everywhere.
    """

    digest: str
    confined: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    part: str = ""
