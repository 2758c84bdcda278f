"""Which ranges a worker has runners for: those of the layout, and those of earlier ones until they are over."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import ShardMap, ShardRecord, ShardStatus
from fleet.rules.handover import Phase
from fleet.workers.range_runner import RangeRunner
from fleet.workers.runner_context import RunnerContext
from shards.keyrange import KeyRange


def follow_layout(
    runners: dict[KeyRange, RangeRunner],
    shard_map: ShardMap | None,
    shards: Mapping[KeyRange, ShardRecord],
    context: RunnerContext,
) -> None:
    """Adds what is new. Drops those that nobody will ask for again: idle, outside the layout, with records that are
    retired or gone."""
    if shard_map is None:
        return
    for each in shard_map.ranges:
        if each not in runners:
            runners[each] = RangeRunner(each, context)
    if len(runners) == len(shard_map.boundaries):
        return
    layout = set(shard_map.ranges)
    for each in [each for each in runners if each not in layout]:
        runner, record = runners[each], shards.get(each)
        idle = runner.local.phase is Phase.IDLE and not runner.holding and not runner.busy
        if idle and (record is None or record.status is ShardStatus.RETIRED):
            del runners[each]
