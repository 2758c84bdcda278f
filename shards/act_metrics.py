"""Metrics of acts that cannot be taken back. Part of `shards.metrics.ShardMetrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class ActMetrics:
    """One instance per registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.breaker_open = Gauge(
            "shardfleet_breaker_open",
            "1 while destructive acts of the controller are paused, or let through one at a time to probe.",
            ["controller"],
            registry=registry,
        )
        self.openings = Counter(
            "shardfleet_breaker_openings_total",
            "Times that destructive acts of the controller began to be paused, by cause: live_reads (they failed in a "
            "row), acts (too many within the window).",
            ["controller", "cause"],
            registry=registry,
        )
        self.done = Counter(
            "shardfleet_destructive_acts_total",
            "Acts that cannot be taken back, by act (delete, scale, confirmed), the author's reason for a confirmed "
            "one, and result (ok, absent, conflict, paused, failed, cancelled, late).",
            ["controller", "act", "reason", "result"],
            registry=registry,
        )
        self.degraded = Gauge(
            "shardfleet_degraded_keys",
            "Keys with a destructive act that the breaker pauses.",
            ["controller", "shard"],
            registry=registry,
        )
