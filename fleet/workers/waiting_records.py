"""Which keys that wait for long ride on a member's record: enough to see what is going on, few enough for a Lease."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from fleet.records.record import WaitingRecord
from fleet.workers.range_runner import RangeRunner

MOST = 20
"""Of one member, as of failing keys."""


def waiting_records(runners: Iterable[RangeRunner], now: float, today: float) -> tuple[WaitingRecord, ...]:
    """Those that have been waiting longest. now: boot-clock reading; today: the same moment, in seconds since 1970."""
    found = [(each, runner.range) for runner in runners for each in runner.waiting(MOST)]
    return tuple(
        WaitingRecord(
            controller=each.controller,
            key=each.key,
            range=str(covered),
            since=round(today - (now - each.since)),
            times=each.times,
            waits_for=str(each.waits_for),
            why=each.why,
        )
        for each, covered in nsmallest(MOST, found, key=lambda pair: pair[0].since)
    )
