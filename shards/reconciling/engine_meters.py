"""What the engine of one controller in one shard counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shards.metrics import ShardMetrics
from shards.objects import Key
from shards.queue.waiting_keys import WaitsFor
from shards.queue.workqueue import WorkQueue

_ERRORS = frozenset({"error", "timeout", "terminal"})
"""Results that are failures of the reconcile, as controller-runtime counts them."""

_DONE = frozenset({"success", "terminal", "cancelled"})
"""Results after which the key does not wait for a time of its own. All others are retries, as client-go counts them:
whatever is added with a delay."""

_PRIORITIES = ("0", "-100")
"""Of ordinary and of low-priority keys: controller-runtime's figures."""


class EngineMeters:
    """Reconcile and queue metrics with their labels looked up once."""

    def __init__(self, metrics: ShardMetrics, controller: str, shard: str, max_concurrent: int) -> None:
        names = (controller, controller)
        self._metrics = metrics
        self._controller = controller
        self._results: dict[str, tuple[Callable[[], None], ...]] = {}
        self._retries = metrics.retries.labels(*names)
        self._active = metrics.active.labels(controller)
        self._seconds = metrics.reconcile_seconds.labels(controller)
        self._queue_seconds = metrics.queue_seconds.labels(*names)
        self._work_seconds = metrics.work_seconds.labels(*names)
        self._adds = metrics.adds.labels(*names)
        self._depths = [metrics.queue_depth.labels(*names, priority, shard) for priority in _PRIORITIES]
        self._unfinished = metrics.unfinished.labels(*names, shard)
        self._longest_running = metrics.longest_running.labels(*names, shard)
        self._failing = metrics.failing.labels(controller, shard)
        self._waiting = {each: metrics.waiting.labels(controller, each.value, shard) for each in WaitsFor}
        self._paused = metrics.paused_keys.labels(controller, shard)
        self._quarantined = metrics.quarantined_keys.labels(controller, shard)
        self._counted_adds = 0
        metrics.max_concurrent.labels(controller).set(max_concurrent)

    def started(self, waited_seconds: float) -> None:
        """A key was handed to a reconcile, so long after it was ready."""
        self._queue_seconds.observe(waited_seconds)

    def reconciled(self, result: str, seconds: float) -> None:
        """A reconcile has ended."""
        counts = self._results.get(result)
        if counts is None:
            counts = self._results[result] = tuple(self._counters(result))
        for count in counts:
            count()
        self._seconds.observe(seconds)
        self._work_seconds.observe(seconds)

    def _counters(self, result: str) -> Iterator[Callable[[], None]]:
        """All that count this result."""
        metrics, name = self._metrics, self._controller
        yield metrics.reconciles.labels(name, result).inc
        if result not in _DONE:
            yield self._retries.inc
        if result in _ERRORS:
            yield metrics.reconcile_errors.labels(name).inc
        if result == "timeout":
            yield metrics.timeouts.labels(name).inc
        elif result == "terminal":
            yield metrics.terminal_errors.labels(name).inc

    def measured(
        self, now: float, queue: WorkQueue[Key], active: int, *, failing: int, waiting: Mapping[WaitsFor, int]
    ) -> None:
        """What is the case now: slots that the controller holds, and keys that keep failing, and that wait for long, by
        what for."""
        self._active.set(active)
        for gauge, depth in zip(self._depths, queue.depths(now), strict=True):
            gauge.set(depth)
        self._adds.inc(queue.adds - self._counted_adds)
        self._counted_adds = queue.adds
        in_all, longest = queue.started(now)
        self._unfinished.set(in_all)
        self._longest_running.set(longest)
        self._failing.set(failing)
        for waits_for, gauge in self._waiting.items():
            gauge.set(waiting.get(waits_for, 0))

    def set_aside(self, paused: int, quarantined: int) -> None:
        """Keys that are not reconciled now, whatever changes."""
        self._paused.set(paused)
        self._quarantined.set(quarantined)
