"""What a worker tells the coordinator with each renewal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.records.filter_record import FilterRecord
from fleet.records.report_record import (
    FailingRecord,
    PartRecord,
    RolloutRecord,
    ShardLoad,
    WaitingRecord,
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a renewal tells the coordinator. followed: version of the map whose losses this worker has acted on."""

    followed: int = 0
    leaving: bool = False
    loads: Mapping[str, ShardLoad] = field(default_factory=dict)
    failing: tuple[FailingRecord, ...] = ()
    waiting: tuple[WaitingRecord, ...] = ()
    parts: tuple[PartRecord, ...] = ()
    rollout: RolloutRecord | None = None
    filters: tuple[FilterRecord, ...] = ()
    demand: int | None = None
    spread: tuple[tuple[int, float], ...] = ()
