"""One worker's part of the fleet's budget of requests, as the map that it follows says."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import Holder, ShardRecord, StoredMap
from fleet.rules.budget_share import Budget, demand_of, part_of
from shards.keyrange import KeyRange


class WorkerBudget:
    """What limits requests is told of its part. None: nothing limits them to a part of the fleet's."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._part = 1.0

    @property
    def demand(self) -> int | None:
        """For the member record."""
        return None if self._budget is None else demand_of(self._budget)

    def follow(self, stored: StoredMap | None, records: Mapping[KeyRange, ShardRecord], me: Holder | None) -> bool:
        """Whether a planned share was lowered, for which others may wait: the member record should say so at once."""
        if self._budget is None or stored is None or me is None:
            return False
        before, self._part = self._part, part_of(stored.map, records.values(), me, self._part)
        self._budget.share(self._part)
        return self._part < before and bool(stored.map.shares)
