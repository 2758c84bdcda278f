"""Metrics of shards and of requests.

What controller-runtime or client-go measure too has their names and labels. Counters grow; gauges carry the shard, so
that a shard that leaves a worker takes its series with it (`forget_shard`).
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from shards.act_metrics import ActMetrics
from shards.filter_metrics import FilterMetrics
from shards.gate_metrics import GateMetrics
from shards.loop_histogram import LoopHistogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_QUEUE_SECONDS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
_WATCH_SECONDS = (1.0, 10.0, 60.0, 300.0, 450.0, 600.0, 1800.0)
_ITEMS = (0.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
_BYTES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)


class ShardMetrics:
    """All metrics of the shards of one worker. registry: where they are registered; one instance per registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """registry: None for one of its own."""
        self._registry = registry or CollectorRegistry()
        self._of_a_shard: list[Gauge | Counter] = []
        self._reconciles()
        self._queues()
        self._gates()
        self.gate = GateMetrics(self._registry)
        self._views()
        self.acts = ActMetrics(self._registry)
        self.filters = FilterMetrics(self._registry)

    def _reconciles(self) -> None:
        self.reconciles = self._counter(
            "controller_runtime_reconcile_total",
            "Reconciles that ended, by result: success, requeue, requeue_after, error, terminal, timeout, conflict, "
            "not_ready, breaker_open, not_owner, cancelled.",
            "controller",
            "result",
        )
        self.reconcile_errors = self._counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that failed, by whatever.", "controller"
        )
        self.terminal_errors = self._counter(
            "controller_runtime_terminal_reconcile_errors_total", "Reconciles that failed for good.", "controller"
        )
        self.timeouts = self._counter(
            "controller_runtime_reconcile_timeouts_total", "Reconciles that took too long.", "controller"
        )
        self.reconcile_seconds = self._histogram(
            "controller_runtime_reconcile_time_seconds", "Duration of a reconcile.", _SECONDS, "controller"
        )
        self.max_concurrent = self._gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Reconciles that may run at once on the worker, over all controllers.",
            "controller",
        )
        self.active = self._gauge("controller_runtime_active_workers", "Reconciles that run now.", "controller")
        self.failing = self._shard_gauge(
            "shardfleet_failing_keys", "Keys that keep failing: five times in a row, or for good.", "controller"
        )
        self.paused_keys = self._shard_gauge(
            "shardfleet_paused_keys", "Keys that somebody has paused, by the annotation of their objects.", "controller"
        )
        self.quarantined_keys = self._shard_gauge(
            "shardfleet_quarantined_keys", "Keys that are not reconciled any more: they ended workers.", "controller"
        )
        self.waiting = self._shard_gauge(
            "shardfleet_waiting_keys",
            "Keys that have been waiting for 30 s or more, by what for.",
            "controller",
            "waits_for",
        )
        self.writes = self._counter(
            "shardfleet_writes_total",
            "Writes of the fenced client, by reason and result (ok, conflict, refused, in_doubt, not_sent).",
            "controller",
            "reason",
            "result",
        )

    def _queues(self) -> None:
        """client-go's label is `name`, controller-runtime's `controller` too: the same text in both."""
        names = ("name", "controller")
        self.queue_depth = self._shard_gauge(
            "workqueue_depth", "Keys that wait for a worker slot, by priority: 0, or -100 for low.", *names, "priority"
        )
        self.adds = self._counter("workqueue_adds_total", "Keys that were added, the same one again included.", *names)
        self.queue_seconds = self._histogram(
            "workqueue_queue_duration_seconds", "Time from a key being ready to its start.", _QUEUE_SECONDS, *names
        )
        self.work_seconds = self._histogram(
            "workqueue_work_duration_seconds", "Time for which a key occupied a worker slot.", _QUEUE_SECONDS, *names
        )
        self.unfinished = self._shard_gauge(
            "workqueue_unfinished_work_seconds", "Time that the running reconciles have taken so far, in all.", *names
        )
        self.longest_running = self._shard_gauge(
            "workqueue_longest_running_processor_seconds", "Time that the longest one has taken so far.", *names
        )
        self.retries = self._counter(
            "workqueue_retries_total",
            "Keys that were queued again with a delay, after a failure or because they asked for it.",
            *names,
        )

    def _gates(self) -> None:
        self.feature_enabled = self._shard_gauge(
            "shardfleet_feature_enabled",
            "1 where the feature (VersionGate, ServerSideSharding, SlotLabels) is on now, 0 where it is off.",
            "name",
            "controller",
        )
        self.parked = self._shard_gauge(
            "shardfleet_gate_parked",
            "Keys held back because the view does not show the controller's own writes yet.",
            "controller",
        )
        self.parks = self._counter(
            "shardfleet_gate_parks_total",
            "Times that a key was held back, by what its view had not shown.",
            "controller",
            "resource",
        )
        self.live_reads = self._counter(
            "shardfleet_gate_live_reads_total",
            "Live reads, by purpose and result (found, absent, failed, over_budget).",
            "controller",
            "purpose",
            "result",
            "shard",
        )
        self._of_a_shard.append(self.live_reads)
        self.handover_seconds = self._histogram(
            "shardfleet_handover_gate_seconds",
            "Time from an activation to the opening of its gate, by how it opened: watermark, list.",
            _SECONDS,
            "how",
        )

    def _views(self) -> None:
        """`name`: of the resource, as client-go's reflectors have names of their own."""
        self.lists = self._counter("reflector_lists_total", "Complete lists that were taken.", "name")
        self.list_seconds = self._histogram(
            "reflector_list_duration_seconds", "Time from asking for a list to having all of it.", _SECONDS, "name"
        )
        self.list_items = self._histogram("reflector_items_per_list", "Objects of a list.", _ITEMS, "name")
        self.watches = self._counter("reflector_watches_total", "Watches that were opened.", "name")
        self.short_watches = self._counter(
            "reflector_short_watches_total", "Watches that ended within a second and without an event.", "name"
        )
        self.watch_seconds = self._histogram(
            "reflector_watch_duration_seconds", "Time that a watch lasted.", _WATCH_SECONDS, "name"
        )
        self.watch_items = self._histogram("reflector_items_per_watch", "Events of a watch.", _ITEMS, "name")
        self.watch_events = self._counter(
            "shardfleet_watch_events_total", "Events received, by type as the API spells it.", "resource", "type"
        )
        self.foreign_events = self._counter(
            "shardfleet_foreign_events_total",
            "Events outside the range or scope; above zero under a server-side filter, the server stopped filtering.",
            "resource",
        )
        self.view_age = self._gauge(
            "shardfleet_view_age_seconds",
            "Time since the view was known to be current; before its first list, since it was opened.",
            "view",
            "shard",
        )
        self.hook_failures = self._counter(
            "shardfleet_hook_failures_total",
            "Calls that failed, by function (transform, index, map of a controller, handler) and resource.",
            "hook",
            "resource",
        )
        self.slow_hooks = self._counter(
            "shardfleet_slow_hooks_total", "Calls that held up the loop for more than 5 ms.", "hook", "resource"
        )

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(name, documentation, labels, registry=self._registry)

    def _histogram(self, name: str, documentation: str, buckets: Sequence[float], *labels: str) -> LoopHistogram:
        return LoopHistogram(name, documentation, labels, buckets, self._registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(name, documentation, labels, registry=self._registry)

    def _shard_gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        """One whose series go with their controller's shard."""
        made = self._gauge(name, documentation, *labels, "shard")
        self._of_a_shard.append(made)
        return made

    def forget_shard(self, controller: str, shard: str) -> None:
        """Removes the series of a controller's shard that left this worker."""
        for metric in self._of_a_shard:
            metric.remove_by_labels({"controller": controller, "shard": shard})
        self.gate.forget_shard(controller, shard)
        self.acts.degraded.remove_by_labels({"controller": controller, "shard": shard})

    def forget_view(self, view: str, shard: str) -> None:
        """The same of one view of the shard."""
        self.view_age.remove_by_labels({"view": view, "shard": shard})
        self.gate.store_version.remove_by_labels({"name": view, "shard": shard})
        self.filters.forget_view(view, shard)


class RequestMetrics:
    """Requests of one process to the API server, under client-go's names. One instance per registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """registry: None for one of its own."""
        registry = registry or CollectorRegistry()
        self.requests = Counter(
            "rest_client_requests_total",
            "HTTP requests, watches included, by status code; <error> without an answer.",
            ["code", "method", "host"],
            registry=registry,
        )
        self.seconds = LoopHistogram(
            "rest_client_request_duration_seconds",
            "Time from sending a request to the whole of its answer; watches are not counted.",
            ("verb", "host", "code"),
            _REQUEST_SECONDS,
            registry,
        )
        self.sent_bytes = LoopHistogram(
            "rest_client_request_size_bytes", "Size of a request's body.", ("verb", "host"), _BYTES, registry
        )
        self.received_bytes = LoopHistogram(
            "rest_client_response_size_bytes", "Size of an answer's body.", ("verb", "host"), _BYTES, registry
        )
        self.waited_seconds = LoopHistogram(
            "rest_client_rate_limiter_duration_seconds",
            "Time that a request waited for the worker's limit or for its part of the fleet's.",
            ("verb", "host"),
            _REQUEST_SECONDS,
            registry,
        )
        self.waiting = Gauge("shardfleet_requests_waiting", "Requests that wait for a limit now.", registry=registry)
        self.rate_limit = Gauge(
            "shardfleet_request_rate_limit",
            "Requests per second that the worker may send, as things are; 0 without a limit.",
            registry=registry,
        )
