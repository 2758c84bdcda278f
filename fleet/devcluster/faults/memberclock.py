"""The clock of one member of a fleet, under the `clock` faults that are in force."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
