"""How one controller fares in one shard, for a comparison of one part of a fleet with another."""

from __future__ import annotations

from dataclasses import dataclass

from shards.reconciling.engine import Engine
from shards.reconciling.tally import SPAN_SECONDS
from shards.runtime import WorkerRuntime


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one controller in one shard, over `seconds`: up to five minutes, since the last switch of a feature at most.

    on: names of the features that are on there. parked, failing: keys now. paused: keys with a paused destructive act.
    """

    controller: str
    on: tuple[str, ...]
    seconds: float
    keys: int
    parked: int
    failing: int
    paused: int
    reconciles: int
    requests: int
    live_reads: int
    longest_wait_seconds: float
    longest_parked_seconds: float


def figures_of(engine: Engine, runtime: WorkerRuntime) -> Figures:
    """As of now."""
    now, since, name = runtime.clock(), runtime.gates.since, engine.controller.name
    sums = engine.tally.sums(now)
    oldest = engine.parked.parking.oldest_since()
    waits = now - max(oldest, since) if oldest is not None else 0.0
    return Figures(
        controller=name,
        on=runtime.features_on(name, engine.shard),
        seconds=min(SPAN_SECONDS, now - max(since, engine.made_at)),
        keys=len(engine.stores[engine.controller.primary]),
        parked=len(engine.parked),
        failing=engine.failing.count(),
        paused=len(engine.fence.degraded.keys) if engine.fence is not None else 0,
        reconciles=sums.reconciles,
        requests=sums.requests,
        live_reads=sums.live_reads,
        longest_wait_seconds=max(sums.longest_wait_seconds, engine.queue.oldest_age(now)),
        longest_parked_seconds=max(sums.longest_parked_seconds, waits),
    )
