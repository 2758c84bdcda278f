"""The right to act on one shard, as its holder sees it: for how long, and under which name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shards.clock import Clock, boot_seconds
from shards.keyrange import WHOLE, KeyRange


@dataclass(slots=True)
class Tenure:
    """One ownership of one range, from a claim to a release or a deadline.

    until: boot-clock reading up to which the member may act (send time of its last acknowledged renewal plus 0.85 of
    the lease); read anew for every request. Once `ended` it never begins again: a new claim makes a new tenure.
    """

    member: str
    member_epoch: int
    range: KeyRange
    shard_epoch: int
    until: Callable[[], float]
    ended: bool = False

    def deadline(self) -> float:
        """Boot-clock reading after which nothing may be sent; minus infinity when it is over."""
        return float("-inf") if self.ended else self.until()

    def valid(self, now: float) -> bool:
        return now < self.deadline()

    def end(self) -> None:
        self.ended = True


def unfenced(member: str = "standalone", clock: Clock = boot_seconds) -> Tenure:
    """A tenure without a fleet: one process that owns the whole space and is never fenced."""
    return Tenure(member, 1, WHOLE, 1, until=lambda: clock() + 3600.0)
