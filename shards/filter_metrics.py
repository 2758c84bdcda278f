"""Metrics of who filters views. Part of `shards.metrics.ShardMetrics`."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge


class FilterMetrics:
    """One instance per registry. `filter`: shard-selector, slot-labels; of a view also local."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.proven = Gauge(
            "shardfleet_server_side_sharding",
            "1 for what is known of the API server's filter on the resource: proven, refuted or unknown. auto uses it "
            "where it is proven.",
            ["resource", "filter", "verdict"],
            registry=registry,
        )
        self.probe_age = Gauge(
            "shardfleet_server_side_sharding_probe_age_seconds",
            "Time since the API server last answered a probe of the filter.",
            ["resource", "filter"],
            registry=registry,
        )
        self.foreign = Counter(
            "shardfleet_server_side_sharding_foreign_total",
            "Objects that came although the filter excludes them: the server stopped filtering.",
            ["resource", "filter"],
            registry=registry,
        )
        self.changes = Counter(
            "shardfleet_server_side_sharding_changes_total",
            "Times that something else became known of the filter, by what.",
            ["resource", "filter", "verdict"],
            registry=registry,
        )
        self.view = Gauge(
            "shardfleet_view_filter",
            "1 for the filter that the view stands on.",
            ["view", "shard", "filter"],
            registry=registry,
        )
        self._foreign: dict[tuple[str, str], int] = {}

    def show(
        self, resource: str, filter: str, verdicts: Sequence[str], verdict: str, age: float | None, foreign: int
    ) -> None:
        """One rung, as it is now. verdicts: all that there are. age: seconds; None: it was never answered."""
        for each in verdicts:
            self.proven.labels(resource, filter, each).set(1 if each == verdict else 0)
        if age is not None:
            self.probe_age.labels(resource, filter).set(age)
        before = self._foreign.get((resource, filter), 0)
        self.foreign.labels(resource, filter).inc(foreign - before)
        self._foreign[resource, filter] = foreign

    def forget_view(self, view: str, shard: str) -> None:
        """Removes the series of a view that left this worker."""
        self.view.remove_by_labels({"view": view, "shard": shard})
