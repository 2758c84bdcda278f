"""Which failing keys ride on a member's record: enough to see what is wrong, few enough for a Lease."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from fleet.records.record import FailingRecord
from fleet.workers.range_runner import RangeRunner

MOST = 20
"""Of one member. Each takes up to half a KiB of a Lease that is written every two seconds while it fails."""


def failing_records(runners: Iterable[RangeRunner], now: float, today: float) -> tuple[FailingRecord, ...]:
    """Those that have been failing longest. now: boot-clock reading; today: the same moment, in seconds since 1970."""
    found = [(each, runner.range) for runner in runners for each in runner.failing(MOST)]
    return tuple(
        FailingRecord(
            controller=each.controller,
            key=each.key,
            range=str(covered),
            since=round(today - (now - each.since)),
            count=each.count,
            error=each.error,
            terminal=each.terminal,
        )
        for each, covered in nsmallest(MOST, found, key=lambda pair: pair[0].since)
    )
