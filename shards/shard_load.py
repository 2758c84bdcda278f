"""What a shard has to do: figures of its engines, added up."""

from __future__ import annotations

from collections.abc import Sequence

from shards.reconciling.engine import Engine


def load_of(engines: Sequence[Engine], now: float) -> dict[str, float]:
    """See `shards.shard.Shard.load`. now: reading of the engines' clock."""
    primaries = {id(store): len(store) for store in (engine.stores[engine.controller.primary] for engine in engines)}
    rates = [engine.meter.rates(now) for engine in engines]
    return {
        "objects": float(sum(primaries.values())),
        "queue_depth": float(sum(engine.queue.depth(now) for engine in engines)),
        "parked": float(sum(len(engine.parked) for engine in engines)),
        "failing": float(sum(engine.failing.count() for engine in engines)),
        "waiting": float(sum(engine.waits.count(now) for engine in engines)),
        "paused": float(sum(engine.admission.counts[0] for engine in engines)),
        "quarantined": float(sum(engine.admission.counts[1] for engine in engines)),
        "reconciles_per_second": sum(rate for rate, _ in rates),
        "reconcile_seconds_per_second": sum(seconds for _, seconds in rates),
        "measured_seconds": min(engine.meter.measured_seconds(now) for engine in engines),
    }
