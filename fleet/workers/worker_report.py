"""What a worker tells of itself with each renewal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import nlargest

from fleet.records.filter_record import FilterRecord
from fleet.records.report_record import RolloutRecord, ShardLoad
from fleet.workers.part_records import part_records
from fleet.workers.range_runner import RangeRunner
from fleet.workers.report import Report
from fleet.workers.spread import Spread
from fleet.workers.stuck_records import failing_records, waiting_records
from shards.keyrange import KeyRange

log = logging.getLogger(__name__)


def report_of(
    said: Report,
    runners: Mapping[KeyRange, RangeRunner],
    *,
    now: float,
    today: float,
    rollout: Callable[[], RolloutRecord | None],
    filters: Callable[[], tuple[FilterRecord, ...]],
    spread: Spread,
) -> Report:
    """said: what others must know; it is all that is told where the figures fail, for a membership must not end with
    them. now: boot-clock reading; today: the same moment, in seconds since 1970."""
    held = {each: runner for each, runner in runners.items() if runner.told_of is not None}
    try:
        loads = _loads(held)
        return replace(
            said,
            loads={str(each): load for each, load in loads.items()},
            failing=failing_records(held.values(), now, today),
            waiting=waiting_records(held.values(), now, today),
            parts=part_records(held.values()),
            rollout=rollout(),
            filters=filters(),
            spread=spread.look(held),
        )
    except Exception:
        log.exception("this member has no figures to tell")
        return said


BUSIEST = 3
"""Shards of a member that say where they could be split: each time one is split at the most, and bytes are scarce."""

BUSY_SECONDS = 0.02
"""Reconcile seconds per second below which nobody would split a shard."""


def _loads(runners: Mapping[KeyRange, RangeRunner]) -> dict[KeyRange, ShardLoad]:
    """Of what is held; of the busiest shards with where they could be split."""
    loads = {each: load for each, runner in runners.items() if (load := runner.load()) is not None}
    busy = (each for each, load in loads.items() if load.reconcile_seconds_per_second >= BUSY_SECONDS)
    for each in nlargest(BUSIEST, busy, key=lambda each: loads[each].reconcile_seconds_per_second):
        loads[each] = replace(loads[each], split=runners[each].split_point())
    return loads
