"""Which range of a worker opens its views anew: one after the other, so that lists and pauses are never many."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import ShardMap
from fleet.rules.handover import Phase
from fleet.workers.range_runner import RangeRunner
from shards.keyrange import KeyRange


class Turnover:
    """Invariant: the next range has its turn only when the one before reconciles again, or is somebody else's."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._current: KeyRange | None = None

    def next(self, runners: Mapping[KeyRange, RangeRunner], shard_map: ShardMap | None) -> KeyRange | None:
        """The range whose turn it is; None: every view is as the feature gates say."""
        if shard_map is None:
            return None
        if self._current is not None and not self._over(self._current, runners, shard_map):
            return self._current
        self._current = next((each for each, runner in runners.items() if runner.outdated), None)
        return self._current

    def _over(self, each: KeyRange, runners: Mapping[KeyRange, RangeRunner], shard_map: ShardMap) -> bool:
        runner = runners.get(each)
        if runner is None or shard_map.target_of(each) != self._member:
            return True
        standing_by = runner.local.phase is Phase.STANDBY
        running = runner.shard is not None and runner.shard.open
        return not runner.outdated and (standing_by or running)
