"""The metrics' names, and that a shard that leaves takes its series along."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shards.gate_metrics import shown
from shards.loop_histogram import LoopHistogram
from shards.metrics import RequestMetrics, ShardMetrics
from shards.objects import Resource

PODS = Resource("", "v1", "pods")

UPSTREAM = {
    "controller_runtime_reconcile_total": {"controller", "result"},
    "controller_runtime_reconcile_errors_total": {"controller"},
    "controller_runtime_terminal_reconcile_errors_total": {"controller"},
    "controller_runtime_reconcile_timeouts_total": {"controller"},
    "controller_runtime_reconcile_time_seconds": {"controller"},
    "controller_runtime_max_concurrent_reconciles": {"controller"},
    "controller_runtime_active_workers": {"controller"},
    "workqueue_depth": {"name", "controller", "priority"},
    "workqueue_adds_total": {"name", "controller"},
    "workqueue_queue_duration_seconds": {"name", "controller"},
    "workqueue_work_duration_seconds": {"name", "controller"},
    "workqueue_unfinished_work_seconds": {"name", "controller"},
    "workqueue_longest_running_processor_seconds": {"name", "controller"},
    "workqueue_retries_total": {"name", "controller"},
    "reflector_lists_total": {"name"},
    "reflector_list_duration_seconds": {"name"},
    "reflector_items_per_list": {"name"},
    "reflector_watches_total": {"name"},
    "reflector_short_watches_total": {"name"},
    "reflector_watch_duration_seconds": {"name"},
    "reflector_items_per_watch": {"name"},
    "informer_store_resource_version": {"name", "group", "version", "resource"},
    "rest_client_requests_total": {"code", "method", "host"},
    "rest_client_request_duration_seconds": {"verb", "host"},
    "rest_client_request_size_bytes": {"verb", "host"},
    "rest_client_response_size_bytes": {"verb", "host"},
    "rest_client_rate_limiter_duration_seconds": {"verb", "host"},
}
"""Names of controller-runtime v0.25 and client-go v0.37, with the labels that their dashboards select by."""

ADDED = {"shard", "code"}
"""Labels that are ours, on metrics that are theirs: a sum over them is what theirs says."""


def labels_of(metrics: ShardMetrics | RequestMetrics) -> dict[str, set[str]]:
    """Labels by the name that the page shows."""
    found = {}
    held = vars(metrics) | (vars(metrics.gate) if isinstance(metrics, ShardMetrics) else {})
    for metric in held.values():
        if isinstance(metric, LoopHistogram):
            found[metric._name] = set(metric._labels)
        elif hasattr(metric, "_labelnames"):
            name = f"{metric._name}_total" if metric._type == "counter" else metric._name
            found[name] = set(metric._labelnames)
    return found


def test_what_others_measure_too_has_their_names_and_labels() -> None:
    ours = labels_of(ShardMetrics()) | labels_of(RequestMetrics())
    assert UPSTREAM.keys() <= ours.keys()
    for name, labels in UPSTREAM.items():
        assert labels <= ours[name], name
        assert ours[name] - labels <= ADDED, name


def test_the_rest_has_the_fleet_s_prefix() -> None:
    ours = labels_of(ShardMetrics()).keys() | labels_of(RequestMetrics()).keys()
    assert {name for name in ours - UPSTREAM.keys() if not name.startswith("shardfleet_")} == set()


@pytest.mark.parametrize("made", [ShardMetrics, RequestMetrics])
def test_no_label_can_hold_a_key_a_pid_or_an_epoch(made: type[ShardMetrics]) -> None:
    known = {"controller", "result", "name", "shard", "reason", "resource", "type", "purpose", "how"}
    known |= {"priority", "view", "hook", "waits_for", "group", "version", "state"}
    assert set().union(*labels_of(made()).values()) <= known | {"code", "method", "verb", "host"}


def test_the_series_of_a_shard_go_with_it() -> None:
    registry = CollectorRegistry()
    metrics = ShardMetrics(registry)
    for shard in ("s1", "s2"):
        metrics.queue_depth.labels("sites", "sites", "0", shard).set(3)
        metrics.view_age.labels("v1/sites", shard).set(1)
        metrics.parked.labels("sites", shard).set(1)
        metrics.failing.labels("sites", shard).set(1)
        metrics.waiting.labels("sites", "view", shard).set(1)
        metrics.live_reads.labels("sites", "gate", "found", shard).inc()
        metrics.gate.skips.count("sites", PODS, shard)
        metrics.gate.not_held.labels("sites", "v1/pods", shard).inc()
        metrics.gate.store_version.labels("v1/sites", "", "v1", "sites", shard).set(7)
        metrics.gate.target_version.labels("sites", "", "v1", "sites", shard).set(7)
        metrics.gate.lag_seconds.labels("sites", "v1/sites", shard).set(1)
    metrics.forget_shard("sites", "s1")
    metrics.forget_shard("sites", "never seen")
    metrics.forget_view("v1/sites", "s1")
    shards = {
        sample.labels["shard"] for family in registry.collect() for sample in family.samples if "shard" in sample.labels
    }
    assert shards == {"s2"}


@pytest.mark.parametrize(
    ("controller", "name"),
    [
        ("replicaset", "replicaset_stale_sync_skips_total"),
        ("web-sites", "web_sites_stale_sync_skips_total"),
        ("9lives", "_9lives_stale_sync_skips_total"),
    ],
)
def test_skips_are_counted_under_the_controller_s_name_as_kubernetes_own_do(controller: str, name: str) -> None:
    metrics = ShardMetrics(registry := CollectorRegistry())
    metrics.gate.skips.count(controller, PODS, "s1")
    metrics.gate.skips.count(controller, PODS, "s1")
    [family] = [each for each in text_string_to_metric_families(generate_latest(registry).decode()) if each.samples]
    assert [(each.name, each.labels, each.value) for each in family.samples] == [
        (name, {"group": "", "resource": "pods", "shard": "s1"}, 2)
    ]


@pytest.mark.parametrize(
    ("version", "sample"),
    [("", 0), ("0", 0), ("1234", 1234), ("9" * 40 + "123456789012345", 123456789012345), ("opaque", 0)],
)
def test_a_version_is_shown_by_its_last_fifteen_digits_which_a_float_holds_exactly(version: str, sample: int) -> None:
    assert int(shown(version)) == sample
    assert shown("999999999999999") + 1 != shown("999999999999999")


@pytest.mark.parametrize("made", [ShardMetrics, RequestMetrics])
def test_every_metric_explains_itself(made: type[ShardMetrics]) -> None:
    registry = CollectorRegistry()
    made(registry)
    assert all(family.documentation.endswith(".") for family in registry.collect())


def test_a_loop_histogram_counts_as_the_library_s_own_does() -> None:
    registry = CollectorRegistry()
    histogram = LoopHistogram("h_seconds", "Time.", ("who",), (0.1, 1.0), registry)
    for value in (0.05, 0.1, 0.5, 7.0):
        histogram.labels("me").observe(value)

    page = generate_latest(registry).decode()

    [family] = text_string_to_metric_families(page)
    found = {(sample.name, sample.labels.get("le", "")): sample.value for sample in family.samples}
    assert found[("h_seconds_bucket", "0.1")] == 2
    assert found[("h_seconds_bucket", "1.0")] == 3
    assert found[("h_seconds_bucket", "+Inf")] == found[("h_seconds_count", "")] == 4
    assert found[("h_seconds_sum", "")] == pytest.approx(7.65)
    assert family.type == "histogram"
