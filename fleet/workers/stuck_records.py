"""Which keys that fail, or wait for long, ride on a member's record: enough to see it, few enough for a Lease."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from typing import TypeVar

from fleet.records.report_record import FailingRecord, WaitingRecord
from fleet.workers.range_runner import RangeRunner
from shards.keyrange import KeyRange
from shards.queue.failing_keys import FailingKey
from shards.queue.waiting_keys import WaitingKey

K = TypeVar("K", FailingKey, WaitingKey)

MOST = 20
"""Of one member and of either kind. Each takes up to half a KiB of a Lease that is written every two seconds."""


def failing_records(runners: Iterable[RangeRunner], now: float, today: float) -> tuple[FailingRecord, ...]:
    """Those that have been failing longest. now: boot-clock reading; today: the same moment, in seconds since 1970."""
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
        for each, covered in _longest((each, runner.range) for runner in runners for each in runner.failing(MOST))
    )


def waiting_records(runners: Iterable[RangeRunner], now: float, today: float) -> tuple[WaitingRecord, ...]:
    """Those that have been waiting longest. Arguments as of `failing_records`."""
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
        for each, covered in _longest((each, runner.range) for runner in runners for each in runner.waiting(MOST))
    )


def _longest(found: Iterable[tuple[K, KeyRange]]) -> list[tuple[K, KeyRange]]:
    return nsmallest(MOST, found, key=lambda pair: pair[0].since)
