"""How far a reshard has come, read off the map and the shard records. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fleet.records.record import ShardMap, ShardRecord, ShardStatus
from fleet.rules.handover import is_free
from fleet.rules.layout import is_older, is_settled
from shards.keyrange import KeyRange


class ReshardPhase(StrEnum):
    WAITING = "waiting"
    """The coordinator does not follow it yet: it carries another reshard through, or nobody is in office."""
    REFUSED = "refused"
    RUNNING = "running"
    DONE = "done"
    """The layout is in force, and every range has an owner."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What somebody asked for. before: the layout at that moment. config_version, or else request: what the map must
    have come to."""

    before: frozenset[KeyRange]
    config_version: str = ""
    request: int = 0


@dataclass(frozen=True, slots=True)
class ReshardProgress:
    """Ranges: that leave the layout, and of them retired; that are new, and of them activated and owned. why: of a
    refusal."""

    phase: ReshardPhase
    leaving: int = 0
    retired: int = 0
    new: int = 0
    activated: int = 0
    owned: int = 0
    why: str = ""

    @property
    def sentence(self) -> str:
        if self.phase is ReshardPhase.WAITING:
            return "waiting for the coordinator"
        if self.phase is ReshardPhase.REFUSED:
            return f"refused: {self.why}"
        if self.phase is ReshardPhase.DONE:
            return "done: every shard has its owner"
        return (
            f"{self.retired} of {self.leaving} ranges retired, {self.activated} of {self.new} new ones activated,"
            f" {self.owned} owned"
        )


def reshard_progress(goal: Goal, shard_map: ShardMap, shards: Mapping[KeyRange, ShardRecord]) -> ReshardProgress:
    """One look."""
    layout = set(shard_map.ranges)
    if goal.config_version and is_older(shard_map.config_version, goal.config_version):
        if shard_map.config_refused.startswith(f"version {goal.config_version}: "):
            why = shard_map.config_refused.partition(": ")[2]
            return ReshardProgress(ReshardPhase.REFUSED, why=why)
        return ReshardProgress(ReshardPhase.WAITING)
    if goal.request > shard_map.requests_done:
        return ReshardProgress(ReshardPhase.WAITING)
    if goal.request and layout == goal.before:
        return ReshardProgress(
            ReshardPhase.REFUSED, why="the layout was another one by then; the coordinator's log has more"
        )
    leaving, new = goal.before - layout, layout - goal.before
    active = {each for each in new if (r := shards.get(each)) is not None and r.status is ShardStatus.ACTIVE}
    everywhere = {each for each in layout if _owned(shards.get(each), shard_map)}
    return ReshardProgress(
        ReshardPhase.DONE if is_settled(shard_map, shards) and everywhere == layout else ReshardPhase.RUNNING,
        leaving=len(leaving),
        retired=len(leaving - shard_map.retiring),
        new=len(new),
        activated=len(active),
        owned=len(active & everywhere),
    )


def _owned(record: ShardRecord | None, shard_map: ShardMap) -> bool:
    return record is not None and record.holder is not None and not is_free(record, shard_map)
