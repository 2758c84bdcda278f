"""The clocks of members of a fleet, under the `clock` faults that are in force."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.words import ClockSkew
from shards.clock import Clock, DriftingClock


class MemberClock(DriftingClock):
    """Follows the faults: their rates multiply, their offsets add up."""

    def __init__(self, member: str, true: Clock, *, monotonic: bool = True) -> None:
        super().__init__(true, monotonic=monotonic)
        self.member = member
        self._offset_seconds = 0.0

    def follow(self, faults: Sequence[ClockSkew]) -> None:
        """The faults that strike this member from now on."""
        offset_seconds = math.fsum(fault.offset_seconds for fault in faults)
        self.run_at(math.prod(fault.rate for fault in faults))
        self.jump(offset_seconds - self._offset_seconds)
        self._offset_seconds = offset_seconds


class MemberClocks:
    """All that were made and are still read by somebody."""

    def __init__(self) -> None:
        self._clocks: weakref.WeakSet[MemberClock] = weakref.WeakSet()

    def __len__(self) -> int:
        return len(self._clocks)

    def make(self, member: str, true: Clock, *, monotonic: bool) -> MemberClock:
        """One that still runs as the true one does."""
        made = MemberClock(member, true, monotonic=monotonic)
        self._clocks.add(made)
        return made

    def follow(self, present: Iterable[Injection], now: float) -> None:
        """present: what is in force or may come to be; `clock` faults in their time count."""
        if not self._clocks:
            return
        skews = [each.fault for each in present if isinstance(each.fault, ClockSkew) and each.lasts(now)]
        for clock in self._clocks:
            clock.follow([fault for fault in skews if fault.match.member in ("", clock.member)])
