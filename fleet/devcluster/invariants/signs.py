"""When the members of one fleet were last heard of, and how long somebody was there to act on it."""

from __future__ import annotations

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import LeaseWrite
from fleet.records.record import MemberRecord

_COORDINATOR_SECONDS = 60.0
"""Taken for the coordinator's lease where no write of it is known."""


_LOOK_SECONDS = 1.0


def _holder(record: MemberRecord | None) -> tuple[int, object]:
    return (record.epoch, record.holder) if record is not None else (0, None)


class Signs:
    """Signs of life: writes of a member's Lease by itself. Times are the journal's.

    A failure that nobody could see to, because no coordinator or no member was alive, is not the one failure that the
    bounds are about: `served` leaves that time out.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._seen: dict[str, float] = {}
        self._renewed_at: float | None = None
        self._served: list[tuple[float, float]] = []
        """Stretches in which a coordinator was in office and a member alive, in order."""
        self._coordinator_seconds = _COORDINATOR_SECONDS
        self._looked_at = float("-inf")
        self.lease_seconds = 0.0
        """The longest of the members'."""

    @property
    def patience_seconds(self) -> float:
        return self._bounds.lost_leases * self.lease_seconds + self._bounds.lost_seconds

    def silent(self, now: float) -> dict[str, float]:
        """Members that have not been heard of for a lease, with their last sign."""
        return {name: seen for name, seen in self._seen.items() if now - seen > self.lease_seconds}

    def lost(self, now: float) -> None:
        """The journal lost entries up to now: signs may be among them."""
        self._seen = dict.fromkeys(self._seen, now)
        self._renewed_at = None

    def last_sign(self, member: str) -> float | None:
        return self._seen.get(member)

    def hear(self, write: LeaseWrite) -> bool:
        """Whether it is worth looking at everything again: something changed hands, or a second has passed."""
        now = write.entry.time
        if write.member is not None:
            self.lease_seconds = max(self.lease_seconds, write.member.lease_seconds)
            if write.member.holder is None:
                self._seen.pop(write.member.name, None)
            elif write.agent is None or write.agent.member == write.member.name:
                self._seen[write.member.name] = now
        elif write.coordinator is not None and write.coordinator.holder:
            self._coordinator_seconds = write.coordinator.lease_seconds
            if any(now - seen <= self.lease_seconds for seen in self._seen.values()):
                self._serve(now)
            else:
                self._renewed_at = None
        changed = write.shard is not None or _holder(write.member) != _holder(write.member_before)
        if not changed and now - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = now
        return True

    def served(self, since: float, until: float) -> float:
        """Seconds between the two in which the fleet could act."""
        return sum(max(0.0, min(until, end) - max(since, start)) for start, end in self._served)

    def _serve(self, now: float) -> None:
        gap = now - self._renewed_at if self._renewed_at is not None else float("inf")
        if gap <= self._coordinator_seconds and self._served:
            self._served[-1] = self._served[-1][0], now
        else:
            self._served.append((now, now))
        self._renewed_at = now
