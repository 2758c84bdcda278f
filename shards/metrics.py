"""Metrics of shards: this package's only door to prometheus_client.

Counters grow; gauges carry the shard, so that a shard that leaves a worker takes its series with it (`forget_shard`).
"""

from __future__ import annotations

from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ShardMetrics:
    """All metrics of the shards of one worker. registry: where they are registered; one instance per registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """registry: None for one of its own."""
        registry = registry or CollectorRegistry()
        self.reconciles = Counter(
            "shardfleet_reconcile_total",
            "Reconciles that ended, by result: success, requeue_after, requeue, error, terminal, timeout, conflict, "
            "not_ready, breaker_open, not_owner, cancelled.",
            ["controller", "result"],
            registry=registry,
        )
        self.reconcile_seconds = Histogram(
            "shardfleet_reconcile_seconds",
            "Duration of a reconcile, requests included.",
            ["controller"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.retries = Counter(
            "shardfleet_workqueue_retries_total",
            "Keys that were queued again after a failure, with exponential delay.",
            ["controller"],
            registry=registry,
        )
        self.queue_depth = Gauge(
            "shardfleet_workqueue_depth",
            "Keys that wait for a worker slot.",
            ["controller", "shard"],
            registry=registry,
        )
        self.parked = Gauge(
            "shardfleet_gate_parked",
            "Keys held back because the view does not show the controller's own writes yet.",
            ["controller", "shard"],
            registry=registry,
        )
        self.parks = Counter(
            "shardfleet_gate_parks_total",
            "Times that a key was held back, by what its view had not shown.",
            ["controller", "resource"],
            registry=registry,
        )
        self.live_reads = Counter(
            "shardfleet_gate_live_reads_total",
            "Live reads, by purpose (gate, delete, author, adopt) and result (found, absent, failed, over_budget).",
            ["controller", "purpose", "result"],
            registry=registry,
        )
        self.writes = Counter(
            "shardfleet_writes_total",
            "Writes of the fenced client, by reason and result (ok, conflict, refused, in_doubt, not_sent).",
            ["controller", "reason", "result"],
            registry=registry,
        )
        self.breaker_open = Gauge(
            "shardfleet_breaker_open",
            "1 while destructive acts of the controller are paused, or let through one at a time to probe.",
            ["controller"],
            registry=registry,
        )
        self.handover_seconds = Histogram(
            "shardfleet_handover_gate_seconds",
            "Time from an activation to the opening of its gate, by how it opened: watermark, list.",
            ["how"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.foreign_events = Counter(
            "shardfleet_foreign_events_total",
            "Events outside the range or scope; above zero under a server-side filter, the server stopped filtering.",
            ["resource"],
            registry=registry,
        )
        self.watch_restarts = Counter(
            "shardfleet_watch_restarts_total",
            "Watches that ended and were opened again.",
            ["resource"],
            registry=registry,
        )
        self.relists = Counter(
            "shardfleet_relists_total", "Complete lists that were taken.", ["resource"], registry=registry
        )
        self.watch_events = Counter(
            "shardfleet_watch_events_total",
            "Events received, by type as the API spells it.",
            ["resource", "type"],
            registry=registry,
        )

    def forget_shard(self, controller: str, shard: str) -> None:
        """Removes the gauges of a shard that left this worker."""
        for gauge in (self.queue_depth, self.parked):
            with suppress(KeyError):
                gauge.remove(controller, shard)
