"""The metrics' names, and that a shard that leaves takes its series along."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from shards.metrics import ShardMetrics


def test_names_are_those_that_dashboards_and_alerts_use() -> None:
    registry = CollectorRegistry()
    ShardMetrics(registry)
    names = {family.name for family in registry.collect()}
    assert {
        "shardfleet_reconcile",
        "shardfleet_reconcile_seconds",
        "shardfleet_workqueue_depth",
        "shardfleet_workqueue_retries",
        "shardfleet_gate_parked",
        "shardfleet_gate_parks",
        "shardfleet_gate_live_reads",
        "shardfleet_writes",
        "shardfleet_breaker_open",
        "shardfleet_handover_gate_seconds",
        "shardfleet_foreign_events",
        "shardfleet_watch_restarts",
    } <= names
    assert all(name.startswith("shardfleet_") for name in names)


def test_the_gauges_of_a_shard_go_with_it() -> None:
    registry = CollectorRegistry()
    metrics = ShardMetrics(registry)
    for shard in ("s1", "s2"):
        metrics.queue_depth.labels("sites", shard).set(3)
        metrics.parked.labels("sites", shard).set(1)
    metrics.forget_shard("sites", "s1")
    metrics.forget_shard("sites", "never seen")
    shards = {
        sample.labels["shard"] for family in registry.collect() for sample in family.samples if "shard" in sample.labels
    }
    assert shards == {"s2"}


def test_every_metric_explains_itself() -> None:
    registry = CollectorRegistry()
    ShardMetrics(registry)
    assert all(family.documentation.endswith(".") for family in registry.collect())
