"""Metrics of a pod: snapshots, and their sum."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from fleet.health.metrics import FleetMetrics, PodMetrics, snapshot


class _Worker:
    """A process's registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.done = Counter("done_total", "Work done.", ["kind"], registry=self.registry)
        self.depth = Gauge("depth", "Waiting.", registry=self.registry)
        self.seconds = Histogram("seconds", "Time.", buckets=(0.1, 1.0), registry=self.registry)

    def snapshot(self) -> bytes:
        return snapshot(self.registry)


def _page(pod: PodMetrics) -> dict[str, float]:
    """The rendered page as `name{labels}` -> value."""
    body, _ = pod.render()
    return {
        sample.name + "".join(f"{{{name}={value}}}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def test_counters_and_histograms_are_added_up_over_workers() -> None:
    first, second, pod = _Worker(), _Worker(), PodMetrics()
    first.done.labels("a").inc(2)
    second.done.labels("a").inc(3)
    second.done.labels("b").inc()
    first.seconds.observe(0.05)
    second.seconds.observe(0.5)

    pod.update("worker-0", 1, first.snapshot())
    pod.update("worker-1", 1, second.snapshot())

    page = _page(pod)
    assert page["done_total{kind=a}"] == 5
    assert page["done_total{kind=b}"] == 1
    assert [page[f"seconds_bucket{{le={le}}}"] for le in ("0.1", "1.0", "+Inf")] == [1, 2, 2]
    assert page["seconds_count"] == 2
    assert page["seconds_sum"] == 0.55
    assert not [name for name in page if "_created" in name]


def test_a_counter_never_goes_down_when_a_worker_restarts() -> None:
    pod = PodMetrics()
    for incarnation, counted in ((1, 10), (2, 1), (3, 4)):
        worker = _Worker()
        worker.done.labels("a").inc(counted)
        worker.seconds.observe(0.5)
        pod.update("worker-0", incarnation, worker.snapshot())

    page = _page(pod)
    assert page["done_total{kind=a}"] == 15
    assert page["seconds_count"] == 3
    assert page["shardfleet_worker_restarts_total{worker=worker-0}"] == 2


def test_a_series_that_the_new_incarnation_has_not_touched_yet_stays() -> None:
    old, pod = _Worker(), PodMetrics()
    old.done.labels("rare").inc()
    pod.update("worker-0", 1, old.snapshot())
    pod.update("worker-0", 2, _Worker().snapshot())

    assert _page(pod)["done_total{kind=rare}"] == 1


def test_what_a_dead_incarnation_counted_of_one_shard_goes_with_it() -> None:
    pod = PodMetrics()
    for incarnation, shard in ((1, "00-7f"), (2, "80-ff")):
        registry = CollectorRegistry()
        Counter("skips_total", "Skips.", ["shard"], registry=registry).labels(shard).inc(3)
        pod.update("worker-0", incarnation, snapshot(registry))

    assert [name for name in _page(pod) if name.startswith("skips")] == ["skips_total{shard=80-ff}"]


def test_a_late_answer_of_a_dead_incarnation_is_ignored() -> None:
    old, pod = _Worker(), PodMetrics()
    old.done.labels("a").inc(7)
    pod.update("worker-0", 2, _Worker().snapshot())
    pod.update("worker-0", 1, old.snapshot())

    assert "done_total{kind=a}" not in _page(pod)


def test_gauges_are_kept_apart_by_worker_and_go_when_it_is_silent() -> None:
    first, second, pod = _Worker(), _Worker(), PodMetrics()
    first.depth.set(4)
    second.depth.set(6)
    first.done.labels("a").inc()
    pod.update("worker-0", 1, first.snapshot())
    pod.update("worker-1", 1, second.snapshot())
    assert (_page(pod)["depth{worker=worker-0}"], _page(pod)["depth{worker=worker-1}"]) == (4, 6)

    pod.lost("worker-0")

    page = _page(pod)
    assert "depth{worker=worker-0}" not in page
    assert page["depth{worker=worker-1}"] == 6
    assert page["done_total{kind=a}"] == 1
    assert page["shardfleet_worker_up{worker=worker-0}"] == 0


def test_a_metric_that_has_a_worker_label_of_its_own_keeps_it_under_another_name() -> None:
    registry, pod = CollectorRegistry(), PodMetrics()
    Gauge("busy", "Busy.", ["worker"], registry=registry).labels("mine").set(1)

    pod.update("worker-0", 1, snapshot(registry))

    assert _page(pod)["busy{exported_worker=mine}{worker=worker-0}"] == 1


def test_a_value_that_is_no_number_is_left_out() -> None:
    worker, pod = _Worker(), PodMetrics()
    worker.depth.set(float("nan"))

    pod.update("worker-0", 1, worker.snapshot())

    assert "depth{worker=worker-0}" not in _page(pod)


def test_the_format_follows_the_accept_header() -> None:
    pod = PodMetrics()

    assert pod.render()[1].startswith("text/plain; version=0.0.4")
    body, content_type = pod.render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")


def test_the_fleet_s_metrics_all_render() -> None:
    registry, pod = CollectorRegistry(), PodMetrics()
    metrics = FleetMetrics(registry)
    metrics.handovers.labels("drain").inc()
    metrics.lease_renew_seconds.observe(0.02)
    metrics.shards_owned.set(3)

    pod.update("worker-0", 1, snapshot(registry))

    page = _page(pod)
    assert page["shardfleet_handovers_total{phase=drain}"] == 1
    assert page["shardfleet_lease_renew_seconds_count"] == 1
    assert page["shardfleet_shards_owned{worker=worker-0}"] == 3
