"""Ranges that have left the map, on a worker that is done with them."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import Holder, ShardMap, ShardRecord
from fleet.rules.handover import Phase
from fleet.workers.range_runner import RangeRunner
from shards.keyrange import KeyRange


def forget_former(
    runners: dict[KeyRange, RangeRunner],
    shard_map: ShardMap | None,
    records: Mapping[KeyRange, ShardRecord],
    me: Holder | None,
) -> None:
    """Lets go of runners that have nothing left to do, so that a fleet may be resharded for ever.

    Whom a record names has not given the range back yet: a claim whose answer was lost.
    """
    if shard_map is None or len(runners) <= len(shard_map.ranges):
        return
    present = set(shard_map.ranges)
    for each, runner in list(runners.items()):
        record = records.get(each)
        named = record is not None and me is not None and record.holder == me
        if each not in present and runner.local.phase is Phase.IDLE and not runner.busy and not named:
            del runners[each]
