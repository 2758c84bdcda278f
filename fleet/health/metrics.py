"""What a pod's processes measure, and how it becomes one page; the fleet's door to prometheus_client.

Every process has an ordinary registry and hands out snapshots of it. The agent merges them by stable slot names
(`PodMetrics`): series never carry a pid, so their number is bounded, and a restarted worker goes on counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from fleet.health.range_steps import Cause, RangeStep, Step
from fleet.health.telemetry import Telemetry
from fleet.records.quarantine import QuarantineEntry

_RENEW_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_UNOWNED_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SUMMED = frozenset({"counter", "histogram", "summary"})
"""Types whose samples only grow, so that they can be added up over processes; all others are kept apart by worker."""


def new_registry() -> CollectorRegistry:
    """One per process; never the library's global one, which every import could write to."""
    return CollectorRegistry()


class FleetMetrics(Telemetry):
    """What a worker or an agent measures about the fleet. Labels are bounded: no keys, no pids, no epochs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._dropped = 0
        self.member_epoch = Gauge("shardfleet_member_epoch", "Epoch of this member.", registry=registry)
        self.lease_renew_seconds = Histogram(
            "shardfleet_lease_renew_seconds",
            "Time from sending a renewal of the member Lease to its answer.",
            buckets=_RENEW_BUCKETS,
            registry=registry,
        )
        self.lease_renew_failures = Counter(
            "shardfleet_lease_renew_failures_total",
            "Renewals of the member Lease that failed or got no answer.",
            registry=registry,
        )
        self.shards_owned = Gauge("shardfleet_shards_owned", "Shards held by this member.", registry=registry)
        self.unowned_ranges = Gauge(
            "shardfleet_unowned_ranges",
            "Ranges of the map that nobody holds, as the coordinator sees it.",
            registry=registry,
        )
        self.longest_unowned = Gauge(
            "shardfleet_unowned_seconds",
            "Time for which the key that has waited longest has had no living owner, as Leases say.",
            registry=registry,
        )
        self.unowned_share = Gauge(
            "shardfleet_unowned_share", "Part of the hash space without a living owner, 0 to 1.", registry=registry
        )
        self.ownership_seen = Gauge(
            "shardfleet_ownership_seen", "1 while this agent can see who owns what.", registry=registry
        )
        self.double_owners = Gauge(
            "shardfleet_double_owners",
            "Findings of two owners of one key in the last two minutes.",
            registry=registry,
        )
        self.handovers = Counter(
            "shardfleet_handovers_total", "Steps of ranges on this member.", ["phase"], registry=registry
        )
        self.drain_seconds = Histogram(
            "shardfleet_handover_drain_seconds",
            "Time from refusing new keys of a shard to its release.",
            buckets=_UNOWNED_BUCKETS,
            registry=registry,
        )
        self.unowned_seconds = Histogram(
            "shardfleet_handover_unowned_seconds",
            "Time from the old owner's refusing new keys of a shard to its gate being open here.",
            buckets=_UNOWNED_BUCKETS,
            registry=registry,
        )
        self.takeovers = Counter(
            "shardfleet_takeovers_total",
            "Shards claimed after their owner was gone, by how it went.",
            ["cause"],
            registry=registry,
        )
        self.fences = Counter("shardfleet_fences_total", "Members fenced by this coordinator.", registry=registry)
        self.histories_lost = Counter(
            "shardfleet_record_histories_lost_total",
            "Times that this process found that the fleet's own records went back.",
            registry=registry,
        )
        self.coordinator = Gauge(
            "shardfleet_coordinator", "1 while this process is the coordinator.", registry=registry
        )
        self.coordinator_epoch = Gauge(
            "shardfleet_coordinator_epoch", "Epoch of this process's last term as coordinator.", registry=registry
        )
        self.frozen = Gauge(
            "shardfleet_frozen", "1 while somebody has ordered that nothing moves by choice.", registry=registry
        )
        self.map_version = Gauge("shardfleet_map_version", "Version of the map that is followed.", registry=registry)
        self.loop_blocks = Counter(
            "shardfleet_loop_blocks_total", "Times that the event loop stood still for a second.", registry=registry
        )
        self.loop_blocked_seconds = Counter(
            "shardfleet_loop_blocked_seconds_total", "Time that it stood still.", registry=registry
        )
        self.keys_quarantined = Counter(
            "shardfleet_keys_quarantined_total",
            "Keys that were quarantined because they ended workers.",
            registry=registry,
        )
        self.recycles = Counter(
            "shardfleet_worker_recycles_total", "Workers that left because memory was short.", registry=registry
        )
        self.log_lines_dropped = Counter(
            "shardfleet_log_lines_dropped_total", "Log lines that found the queue full.", registry=registry
        )

    def renewed(self, seconds: float) -> None:
        self.lease_renew_seconds.observe(seconds)

    def renewal_failed(self) -> None:
        self.lease_renew_failures.inc()

    def range_step(self, step: RangeStep) -> None:
        self.handovers.labels(step.step).inc()
        if step.step is Step.CLAIMED and step.cause in (Cause.RESTART, Cause.FENCE):
            self.takeovers.labels(step.cause).inc()
        elif step.step is Step.RELEASED:
            self.drain_seconds.observe(step.seconds)
        elif step.step is Step.OPEN and step.unowned_seconds is not None:
            self.unowned_seconds.observe(step.unowned_seconds)

    def history_lost(self) -> None:
        self.histories_lost.inc()

    def fenced(self) -> None:
        self.fences.inc()

    def key_quarantined(self, entry: QuarantineEntry) -> None:
        self.keys_quarantined.inc()

    def recycled(self) -> None:
        self.recycles.inc()

    def dropped(self, lines: int) -> None:
        """Log lines that were dropped so far."""
        self.log_lines_dropped.inc(lines - self._dropped)
        self._dropped = lines

    def blocked(self, times: int, seconds: float) -> None:
        """The event loop stood still so often and so long since the last call."""
        self.loop_blocks.inc(times)
        self.loop_blocked_seconds.inc(seconds)


class Family(msgspec.Struct, frozen=True, array_like=True):
    """One metric of a snapshot. samples: name, labels, value; the value is None where it was not a finite number."""

    name: str
    type: str
    help: str
    samples: list[tuple[str, dict[str, str], float | None]]


_families = msgspec.json.Decoder(list[Family])


def snapshot(registry: CollectorRegistry) -> bytes:
    """Everything in the registry, as JSON that `PodMetrics.update` reads.

    Samples named `_created` are left out: they are start times, and a sum of them means nothing.
    """
    return msgspec.json.encode(
        [
            Family(
                metric.name,
                metric.type,
                metric.documentation,
                [
                    (sample.name, dict(sample.labels), sample.value)
                    for sample in metric.samples
                    if not (metric.type in _SUMMED and sample.name.endswith("_created"))
                ],
            )
            for metric in registry.collect()
        ]
    )


class _Series(NamedTuple):
    """One line of the page: family, sample name, labels in their order."""

    family: str
    sample: str
    labels: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Slot:
    """The latest snapshot of one child name. live: the last attempt to read it succeeded."""

    incarnation: int
    live: bool = True
    summed: dict[_Series, float] = field(default_factory=dict)
    apart: dict[_Series, float] = field(default_factory=dict)


class PodMetrics(Collector):
    """The pod's page: counters and histograms added up over its processes, gauges labelled `worker`.

    A counter never goes down when a worker restarts: the last totals of dead incarnations stay in the sum, but not
    those of one shard, which go with it: else a pod would keep a series of every shard that it ever had. What a
    worker counted after its last snapshot dies with it, and a restarted agent begins again at what the living know.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._slots: dict[str, _Slot] = {}
        self._dead: dict[_Series, float] = {}
        self._kinds: dict[str, tuple[str, str]] = {}  # family -> type, help; the first one seen stays

    def update(self, worker: str, incarnation: int, families: bytes) -> None:
        """Takes a snapshot of `worker`. One of an incarnation that is known to be over is ignored."""
        known = self._slots.get(worker)
        if known is not None:
            if incarnation < known.incarnation:
                return
            if incarnation > known.incarnation:
                for series, total in known.summed.items():
                    if not any(label == "shard" for label, _ in series.labels):
                        self._dead[series] = self._dead.get(series, 0.0) + total
        slot = self._slots[worker] = _Slot(incarnation)
        for family in _families.decode(families):
            kind, _ = self._kinds.setdefault(family.name, (family.type, family.help))
            into = slot.summed if kind in _SUMMED else slot.apart
            for name, labels, value in family.samples:
                if value is not None:
                    into[_Series(family.name, name, tuple(labels.items()))] = value

    def lost(self, worker: str) -> None:
        """`worker` does not answer: its gauges go, its counts stay."""
        if (slot := self._slots.get(worker)) is not None:
            slot.live = False

    def collect(self) -> Iterator[Metric]:
        """One Metric per family; families and series in the order in which they were first seen."""
        metrics = {name: Metric(name, text, kind) for name, (kind, text) in self._kinds.items()}
        totals = dict(self._dead)
        for slot in self._slots.values():
            for series, value in slot.summed.items():
                totals[series] = totals.get(series, 0.0) + value
        for series, value in totals.items():
            metrics[series.family].add_sample(series.sample, dict(series.labels), value)
        for worker, slot in self._slots.items():
            for series, value in slot.apart.items() if slot.live else ():
                metrics[series.family].add_sample(series.sample, _labelled(series.labels, worker), value)
        yield from (metric for metric in metrics.values() if metric.samples)
        yield from self._about_workers()

    def _about_workers(self) -> Iterable[Metric]:
        up = Metric("shardfleet_worker_up", "1 while the process answers the agent.", "gauge")
        restarts = Metric("shardfleet_worker_restarts", "Restarts of the process by its supervisor.", "counter")
        for worker, slot in self._slots.items():
            up.add_sample(up.name, {"worker": worker}, float(slot.live))
            restarts.add_sample(f"{restarts.name}_total", {"worker": worker}, float(slot.incarnation - 1))
        return up, restarts

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The page and its content type, in the best format that an Accept header asks for."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def _labelled(labels: tuple[tuple[str, str], ...], worker: str) -> dict[str, str]:
    """A label of that name which the metric already has gives way, as in a Prometheus scrape."""
    own = {("exported_worker" if name == "worker" else name): value for name, value in labels}
    return {"worker": worker} | own
