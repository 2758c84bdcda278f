from __future__ import annotations

from prometheus_client import CollectorRegistry

from shards.informers.informer_meters import HookCounts, InformerMeters
from shards.metrics import ShardMetrics
from shards.objects import Meta
from shards.stores.hooks import FAILED, Hook
from shards.watching.wire import EventType


class Rig:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.now = 100.0
        self.meters = InformerMeters(ShardMetrics(self.registry), "v1/pods", lambda: self.now)

    def value(self, name: str) -> float:
        return self.registry.get_sample_value(name, {"name": "v1/pods"}) or 0.0


def test_a_list_is_timed_from_its_beginning_to_its_end() -> None:
    rig = Rig()
    rig.meters.list_began()
    rig.now += 2.0
    rig.meters.listed(70)
    assert rig.value("reflector_lists_total") == 1
    assert rig.value("reflector_list_duration_seconds_sum") == 2.0
    assert rig.value("reflector_items_per_list_sum") == 70


def test_a_watch_is_told_with_its_time_and_its_events() -> None:
    rig = Rig()
    rig.meters.watching()
    rig.meters.event(EventType.ADDED)
    rig.meters.event(EventType.BOOKMARK)
    rig.now += 300.0
    rig.meters.watch_ended()
    rig.meters.watch_ended()
    assert rig.value("reflector_watches_total") == 1
    assert rig.value("reflector_watch_duration_seconds_count") == 1
    assert rig.value("reflector_watch_duration_seconds_sum") == 300.0
    assert rig.value("reflector_items_per_watch_sum") == 2
    assert rig.value("reflector_short_watches_total") == 0


def test_a_watch_that_ends_at_once_and_brought_nothing_is_a_short_one() -> None:
    rig = Rig()
    for seconds, events in ((0.5, 0), (0.5, 1), (1.5, 0)):
        rig.meters.watching()
        for _ in range(events):
            rig.meters.event(EventType.ADDED)
        rig.now += seconds
        rig.meters.watch_ended()
    assert rig.value("reflector_short_watches_total") == 1


def test_without_metrics_nothing_is_counted() -> None:
    meters = InformerMeters(None, "v1/pods", lambda: 0.0)
    meters.list_began()
    meters.listed(1)
    meters.watching()
    meters.event(EventType.ADDED)
    meters.foreign(Meta())
    meters.watch_ended()


def test_calls_of_authors_functions_that_fail_or_hold_up_the_loop_are_counted_by_function_and_resource() -> None:
    registry = CollectorRegistry()
    now = 0.0

    def function(argument: object) -> object:
        nonlocal now
        now += 1.0
        return 1 / int(str(argument))

    hook = Hook("transform", function, lambda: now, HookCounts(ShardMetrics(registry), "v1/pods"))
    for argument in (0, 1, 0):
        hook.run(argument, "ns/a")
    labels = {"hook": "transform", "resource": "v1/pods"}
    assert registry.get_sample_value("shardfleet_hook_failures_total", labels) == hook.failures == 2
    assert registry.get_sample_value("shardfleet_slow_hooks_total", labels) == hook.slow == 3


def test_without_metrics_a_hook_fails_uncounted() -> None:
    hook = Hook("transform", int, None, HookCounts(None, "v1/pods"))
    assert hook.run("x", "ns/a") is FAILED
