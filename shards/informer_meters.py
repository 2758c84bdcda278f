"""What an informer counts."""

from __future__ import annotations

from shards.metrics import ShardMetrics
from shards.wire import EventType


class InformerMeters:
    """One informer's metrics, with their labels looked up once; without effect where there are none."""

    def __init__(self, metrics: ShardMetrics | None, resource: str) -> None:
        self._metrics = metrics
        self._watched = False
        if metrics is not None:
            self._events = {kind: metrics.watch_events.labels(resource, kind.value) for kind in EventType}
            self._foreign = metrics.foreign_events.labels(resource)
            self._restarts = metrics.watch_restarts.labels(resource)
            self._relists = metrics.relists.labels(resource)

    def event(self, kind: EventType) -> None:
        if self._metrics is not None:
            self._events[kind].inc()

    def foreign(self) -> None:
        if self._metrics is not None:
            self._foreign.inc()

    def watching(self) -> None:
        if self._metrics is not None and self._watched:
            self._restarts.inc()
        self._watched = True

    def listed(self) -> None:
        if self._metrics is not None:
            self._relists.inc()
