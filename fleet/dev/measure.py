"""Measures a run from outside the workers: when ranges were open, what kills cost. Pure.

Times are boot-clock seconds. Resolution: the time between two looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.dev.takeover import ShardPulse, Succession, Takeover, TakeoverReport
from fleet.status.statusview import FleetStatus


@dataclass(slots=True)
class Measure:
    """What is known so far.

    first_open_at: when some range was open for the first time; rates count from there. first_owned_at: when all were;
    kills count from there.
    closed_since: ranges that no worker has open at present, and since when. killed: kills in their order.
    """

    ranges: frozenset[str] = frozenset()
    first_open_at: float | None = None
    first_owned_at: float | None = None
    settled_at: float | None = None
    longest_unowned_seconds: float = 0.0
    rss_mib: float = 0.0
    takeovers: list[Takeover] = field(default_factory=list)
    successions: list[Succession] = field(default_factory=list)
    closed_since: dict[str, float] = field(default_factory=dict)
    epochs: dict[str, dict[str, int]] = field(default_factory=dict)

    def look(self, now: float, pulses: Mapping[str, Mapping[str, ShardPulse]], rss_mib: Mapping[str, float]) -> None:
        """One look at all workers that answered. pulses: by child name."""
        self.rss_mib = max(self.rss_mib, *rss_mib.values(), 0.0)
        opened = {wanted for shards in pulses.values() for wanted, pulse in shards.items() if pulse.open}
        for name, shards in pulses.items():
            self.epochs[name] = {wanted: pulse.epoch for wanted, pulse in shards.items() if pulse.open}
        if self.first_open_at is None and opened:
            self.first_open_at = now
        if self.first_owned_at is None:
            if self.ranges and self.ranges <= opened:
                self.first_owned_at = now
        else:
            self._unowned(now, opened)
        for takeover in self.takeovers:
            takeover.look(now, pulses.values())

    def layout(self, status: FleetStatus, now: float) -> None:
        """The ranges and the coordinator, as the Leases and the map say."""
        self.ranges = frozenset(row.range for row in status.shards)
        for succession in self.successions:
            succession.look(now, status.coordinator, status.coordinator_epoch)

    def killed_worker(self, kill: str, child: str, now: float, objects: int) -> Takeover:
        """A worker was sent SIGKILL; what it had open is waited for. objects: how many its ranges hold."""
        takeover = Takeover(kill, child, now, dict(self.epochs.pop(child, {})), objects)
        self.takeovers.append(takeover)
        for wanted in takeover.lost:
            self.closed_since.setdefault(wanted, now)
        return takeover

    def killed_coordinator(self, kill: str, child: str, now: float, epoch: int) -> None:
        self.successions.append(Succession(kill, child, now, epoch))

    def settled(self, now: float) -> None:
        if self.settled_at is None:
            self.settled_at = now

    @property
    def settled_seconds(self) -> float | None:
        """From the first moment at which a worker could reconcile until everything was settled."""
        if self.settled_at is None or self.first_open_at is None:
            return None
        return self.settled_at - self.first_open_at

    @property
    def kills(self) -> list[Takeover | Succession]:
        """In their order."""
        both: list[Takeover | Succession] = [*self.takeovers, *self.successions]
        return sorted(both, key=lambda each: each.killed_at)

    @property
    def overcome(self) -> bool:
        """Every kill is over."""
        return all(each.over for each in self.kills)

    def reports(self) -> tuple[TakeoverReport, ...]:
        """One per kill, in their order."""
        return tuple(each.report() for each in self.kills)

    def _unowned(self, now: float, opened: set[str]) -> None:
        for wanted in self.ranges:
            if wanted in opened and wanted not in self.closed_since:
                continue
            since = self.closed_since.setdefault(wanted, now)
            self.longest_unowned_seconds = max(self.longest_unowned_seconds, now - since)
            if wanted in opened:
                del self.closed_since[wanted]
