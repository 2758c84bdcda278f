"""Measures what a kill costs: until every range of the dead child is owned again, and its first key reconciled. Pure.

Times are boot-clock seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec


class ShardPulse(msgspec.Struct, frozen=True):
    """One range on one worker. open: its reconciles run. epoch: of the shard, 0 before a claim.

    first_reconcile_at: when a reconcile first began under this ownership, where the worker says so;
    reconciles_per_second: above 0 once there was one.
    """

    phase: str = ""
    open: bool = False
    epoch: int = 0
    first_reconcile_at: float | None = None
    reconciles_per_second: float = 0.0


class TakeoverReport(msgspec.Struct, frozen=True):
    """What is said about one kill. Seconds count from the kill; null: not yet.

    owned_seconds: until every range was open again; for a coordinator, until the office was held again.
    first_reconcile_seconds: until the first reconcile in one of the ranges; null where they held no objects.
    """

    kill: str
    child: str
    ranges: int
    owned_seconds: float | None
    first_reconcile_seconds: float | None


@dataclass(slots=True)
class Takeover:
    """One kill of a worker. lost: epoch of each range that the dead child owned. objects: that they hold.

    Invariant: `waiting` holds those ranges of `lost` that no living worker has opened under a higher epoch.
    """

    kill: str
    child: str
    killed_at: float
    lost: Mapping[str, int]
    objects: int
    waiting: set[str] = field(default_factory=set)
    owned_at: float | None = None
    first_reconcile_at: float | None = None

    def __post_init__(self) -> None:
        self.waiting = set(self.lost)
        if not self.waiting:
            self.owned_at = self.killed_at

    def look(self, now: float, pulses: Iterable[Mapping[str, ShardPulse]]) -> None:
        """One look at what all living workers say."""
        for shards in pulses:
            for wanted, pulse in shards.items():
                if pulse.epoch <= self.lost.get(wanted, pulse.epoch):
                    continue
                if pulse.open:
                    self.waiting.discard(wanted)
                began = pulse.first_reconcile_at
                if began is None and pulse.reconciles_per_second > 0:
                    began = now
                if began is not None and (self.first_reconcile_at is None or began < self.first_reconcile_at):
                    self.first_reconcile_at = began
        if self.owned_at is None and not self.waiting:
            self.owned_at = now

    @property
    def over(self) -> bool:
        return self.owned_at is not None

    def report(self) -> TakeoverReport:
        return TakeoverReport(
            self.kill, self.child, len(self.lost), self._since(self.owned_at), self._since(self.first_reconcile_at)
        )

    def _since(self, moment: float | None) -> float | None:
        return None if moment is None else round(moment - self.killed_at, 3)


@dataclass(slots=True)
class Succession:
    """One kill of the coordinator's process: over once the office is held under a higher epoch."""

    kill: str
    child: str
    killed_at: float
    epoch: int
    held_at: float | None = None

    def look(self, now: float, coordinator: str, epoch: int) -> None:
        if self.held_at is None and coordinator and epoch > self.epoch:
            self.held_at = now

    @property
    def over(self) -> bool:
        return self.held_at is not None

    def report(self) -> TakeoverReport:
        since = None if self.held_at is None else round(self.held_at - self.killed_at, 3)
        return TakeoverReport(self.kill, self.child, 0, since, None)
