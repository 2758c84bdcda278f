"""A shard as the worker that owns it sees it: what it can be told, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fleet.records.report_record import ShardLoad, SplitPoint
from shards.gates.watermark import Watermark
from shards.objects import Key
from shards.ownership.tenure import Tenure
from shards.queue.failing_keys import FailingKey
from shards.queue.waiting_keys import WaitingKey
from shards.reconciling.figures import Figures
from shards.reconciling.key_costs import Middle

YOUNG_SECONDS = 120.0
"""A shard's first minutes say little of what it costs: every owner begins by reconciling all its keys once."""


class OwnedShard(Protocol):
    """What the worker needs of `shards.shard.Shard`."""

    @property
    def open(self) -> bool: ...

    @property
    def closed(self) -> str: ...

    @property
    def view_age(self) -> float: ...

    @property
    def outdated(self) -> bool: ...

    async def prewarm(self) -> None: ...

    async def activate(self, tenure: Tenure, watermark: Watermark | None, *, previous_epoch: int) -> None: ...

    async def drain(self, grace_seconds: float) -> Watermark: ...

    async def stop(self) -> None: ...

    def load(self) -> dict[str, float]: ...

    def middle(self) -> Middle | None: ...

    def failing(self, most: int) -> list[FailingKey]: ...

    def waiting(self, most: int) -> list[WaitingKey]: ...

    def generation_of(self, controller: str, key: Key) -> int | None: ...

    def figures(self) -> list[Figures]: ...

    def namespaces(self) -> Mapping[str, int]: ...

    def measure(self) -> None: ...

    def pulse(self) -> dict[str, float]: ...


def shard_load(shard: OwnedShard) -> ShardLoad:
    """For the member record: rounded, so that the record stays small."""
    load = shard.load()
    return ShardLoad(
        objects=int(load["objects"]),
        queue_depth=int(load["queue_depth"]),
        parked=int(load["parked"]),
        failing=int(load["failing"]),
        waiting=int(load["waiting"]),
        paused=int(load["paused"]),
        quarantined=int(load["quarantined"]),
        reconciles_per_second=round(load["reconciles_per_second"], 3),
        reconcile_seconds_per_second=round(load["reconcile_seconds_per_second"], 3),
        closed=shard.closed,
        young=load["measured_seconds"] < YOUNG_SECONDS,
    )


def split_point(shard: OwnedShard) -> SplitPoint | None:
    """For the member record, of a busy shard."""
    found = shard.middle()
    if found is None:
        return None
    at = f"{found.at:016x}" if found.at else ""
    return SplitPoint(at, round(found.below, 3), f"{found.hot:016x}", round(found.share, 3))
