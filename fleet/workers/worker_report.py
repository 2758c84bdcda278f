"""What a worker tells of itself with each renewal."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import RolloutRecord
from fleet.workers.member import Report
from fleet.workers.part_records import part_records
from fleet.workers.range_runner import RangeRunner
from fleet.workers.spread import Point
from fleet.workers.stuck_records import failing_records, waiting_records
from shards.keyrange import KeyRange


def report_of(
    runners: Mapping[KeyRange, RangeRunner],
    *,
    now: float,
    today: float,
    followed: int,
    leaving: bool,
    rollout: RolloutRecord | None,
    demand: int | None,
    spread: tuple[Point, ...],
) -> Report:
    """now: boot-clock reading; today: the same moment, in seconds since 1970. The rest as in `Report`."""
    loads = {str(each): runner.load() for each, runner in runners.items()}
    return Report(
        followed=followed,
        leaving=leaving,
        loads={each: load for each, load in loads.items() if load is not None},
        failing=failing_records(runners.values(), now, today),
        waiting=waiting_records(runners.values(), now, today),
        parts=part_records(runners.values()),
        rollout=rollout,
        demand=demand,
        spread=spread,
    )
