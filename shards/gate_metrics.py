"""What the gates of shards measure. A door to prometheus_client.

Versions are shown by their last 15 decimal digits, as client-go shows them: a sample is a float, and more digits than
those would not be exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from shards.loop_histogram import LoopHistogram
from shards.objects import Resource

_WAIT_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)
_DIGITS = 15


def shown(resource_version: str) -> float:
    """A resource version as a sample: its last 15 digits; 0 for none, or for one that is no number."""
    return float(resource_version[-_DIGITS:]) if resource_version.isdecimal() else 0.0


def skips_name(controller: str) -> str:
    """The name of the counter of a controller's skips, without its `_total`: as KEP-5647 names those of Kubernetes.

    What is no letter, digit or underscore becomes an underscore, and one stands before a digit. Names of controllers
    have no underscores, so that two of them never have one metric.
    """
    word = "".join(each if each.isalnum() else "_" for each in controller)
    return f"{'_' if word[:1].isdigit() else ''}{word}_stale_sync_skips"


class StaleSyncSkips(Collector):
    """A counter of each controller, with its name in the metric's: `<controller>_stale_sync_skips_total`.

    Written from one event loop only.
    """

    LABELS = ("group", "resource", "shard")

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: defaultdict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
        registry.register(self)

    def count(self, controller: str, resource: Resource, shard: str, times: int = 1) -> None:
        """A key of the shard was not reconciled, because its view of the resource did not show what it must.

        times: 0 for a series that is there before the first: the rate of what appears at 1 would miss that one.
        """
        counts, labels = self._counts[controller], (resource.group, resource.plural, shard)
        counts[labels] = counts.get(labels, 0.0) + times

    def forget_shard(self, controller: str, shard: str) -> None:
        counts = self._counts[controller]
        for labels in [each for each in counts if each[-1] == shard]:
            del counts[labels]

    def describe(self) -> list[CounterMetricFamily]:
        return []

    def collect(self) -> Iterator[CounterMetricFamily]:
        for controller, counts in self._counts.items():
            text = f"Syncs of {controller} that were skipped because of a stale view, by what was stale."
            family = CounterMetricFamily(skips_name(controller), text, labels=self.LABELS)
            for labels, count in counts.items():
                family.add_metric(labels, count)
            yield family


class GateMetrics:
    """Metrics of the gates of all shards of one worker, their breakers, and what the gates compare."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._of_a_shard: list[Gauge | Counter] = []
        self.skips = StaleSyncSkips(registry)
        self._of_views()
        self._of_keys()
        self.breaker_state = Gauge(
            "shardfleet_breaker_state",
            "1 for the state of the controller's breaker, 0 for the others.",
            ("controller", "state"),
            registry=registry,
        )

    def _of_views(self) -> None:
        place = ("group", "version", "resource", "shard")
        self.store_version = Gauge(
            "informer_store_resource_version",
            "Resource version of a view: its last 15 digits.",
            ("name", *place),
            registry=self._registry,
        )
        self.target_version = self._gauge(
            "shardfleet_gate_target_resource_version",
            "Highest version that the controller knows of in the shard, and waits for: its last 15 digits.",
            "controller",
            *place,
        )
        self.lag_seconds = self._gauge(
            "shardfleet_gate_lag_seconds",
            "Since when a view does not show a version that the controller knows of; 0 when it shows all.",
            "controller",
            "resource",
            "shard",
        )

    def _of_keys(self) -> None:
        of_shard = ("controller", "shard")
        self.longest_wait = self._gauge(
            "shardfleet_gate_longest_wait_seconds", "How long the key has waited that is parked longest.", *of_shard
        )
        self.consecutive_skips = self._gauge(
            "shardfleet_gate_consecutive_skips", "Most skips in a row of a key that is parked now.", *of_shard
        )
        self.in_doubt = self._gauge(
            "shardfleet_gate_in_doubt_writes", "Writes whose answer was lost, and that no live read settled.", *of_shard
        )
        self.not_held = Counter(
            "shardfleet_gate_off_skips_total",
            "Reconciles on a view that did not show the controller's own writes, because VersionGate is off.",
            ("controller", "resource", "shard"),
            registry=self._registry,
        )
        self._of_a_shard.append(self.not_held)
        self.histories_lost = Counter(
            "shardfleet_histories_lost_total",
            "Times that a shard of the controller found that the server's history of a resource went back.",
            ("controller", "resource"),
            registry=self._registry,
        )
        self.wait_seconds = LoopHistogram(
            "shardfleet_gate_wait_seconds",
            "Time for which a key was held back by the gate.",
            ("controller",),
            _WAIT_SECONDS,
            self._registry,
        )
        self.busiest_key = self._gauge(
            "shardfleet_busiest_key_reconciles_per_second",
            "Reconciles per second of the key that had most of them in the last full minute.",
            *of_shard,
        )
        self.busiest_share = self._gauge(
            "shardfleet_busiest_key_share", "Its part of all reconciles of the shard in that minute, 0 to 1.", *of_shard
        )

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        """One whose series go with their controller's shard."""
        made = Gauge(name, documentation, labels, registry=self._registry)
        self._of_a_shard.append(made)
        return made

    def forget_shard(self, controller: str, shard: str) -> None:
        """Removes the series of a controller's shard that left this worker."""
        self.skips.forget_shard(controller, shard)
        for metric in self._of_a_shard:
            metric.remove_by_labels({"controller": controller, "shard": shard})
