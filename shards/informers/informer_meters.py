"""What an informer counts."""

from __future__ import annotations

from typing import Protocol

from shards.clock import Clock
from shards.journal import NO_JOURNAL, Journal, Note
from shards.metrics import ShardMetrics
from shards.objects import Meta
from shards.stores.hooks import HookMeters
from shards.watching.wire import EventType

SHORT_SECONDS = 1.0
"""A watch that ends sooner and brought nothing is a short one (client-go's rule)."""


HANDLER = "handler"
"""What a view's changes are handed to: code of this package. A failure of it is a fault."""


class HookCounts(HookMeters):
    """Counts what authors' functions do to the objects of one resource; without effect where there are no metrics.

    The journal gets what the log gets.
    """

    def __init__(
        self, metrics: ShardMetrics | None, resource: str, clock: Clock | None = None, journal: Journal = NO_JOURNAL
    ) -> None:
        self.tells_values = resource != "v1/secrets"
        self._metrics = metrics
        self._resource = resource
        self._clock = clock
        self._journal = journal

    def made(self, hook: str) -> None:
        """Its counts are there before the first failure: the rate of what appears at 1 would miss that one."""
        if self._metrics is not None:
            self._metrics.hook_failures.labels(hook, self._resource)
            self._metrics.slow_hooks.labels(hook, self._resource)

    def failed(self, hook: str, of: str = "") -> None:
        if self._metrics is not None:
            self._metrics.hook_failures.labels(hook, self._resource).inc()
        self._note(hook, of, "failed")

    def slow(self, hook: str, of: str = "") -> None:
        if self._metrics is not None:
            self._metrics.slow_hooks.labels(hook, self._resource).inc()
        self._note(hook, of, "slow")

    def _note(self, hook: str, of: str, outcome: str) -> None:
        if of and self._journal.on and self._clock is not None:
            note = Note("hook", self._clock(), resource=self._resource, key=of, cause=hook, outcome=outcome)
            self._journal.write(note)


class Witness(Protocol):
    """Who wants to know how a view's server behaves."""

    def foreign(self, meta: Meta) -> None:
        """An object came that does not belong into the view."""

    def reconnected(self) -> None:
        """The view watches anew."""


class InformerMeters:
    """One informer's metrics, with their labels looked up once; without effect where there are none."""

    def __init__(
        self,
        metrics: ShardMetrics | None,
        resource: str,
        clock: Clock,
        journal: Journal = NO_JOURNAL,
        witness: Witness | None = None,
    ) -> None:
        self._witness = witness
        self._watched = False
        self.hooks = HookCounts(metrics, resource, clock, journal)
        self._metrics = metrics
        self._clock = clock
        self._list_began_at = 0.0
        self._watch_began_at: float | None = None
        self._items = 0
        if metrics is not None:
            self._events = {kind: metrics.watch_events.labels(resource, kind.value) for kind in EventType}
            self._foreign = metrics.foreign_events.labels(resource)
            self._lists = metrics.lists.labels(resource)
            self._list_seconds = metrics.list_seconds.labels(resource)
            self._list_items = metrics.list_items.labels(resource)
            self._watches = metrics.watches.labels(resource)
            self._short_watches = metrics.short_watches.labels(resource)
            self._watch_seconds = metrics.watch_seconds.labels(resource)
            self._watch_items = metrics.watch_items.labels(resource)

    def event(self, kind: EventType) -> None:
        if self._metrics is not None:
            self._items += 1
            self._events[kind].inc()

    def foreign(self, meta: Meta) -> None:
        if self._metrics is not None:
            self._foreign.inc()
        if self._witness is not None:
            self._witness.foreign(meta)

    def list_began(self) -> None:
        self._list_began_at = self._clock()

    def listed(self, items: int) -> None:
        """A list is complete."""
        if self._metrics is not None:
            self._lists.inc()
            self._list_seconds.observe(self._clock() - self._list_began_at)
            self._list_items.observe(items)

    def watching(self) -> None:
        """A watch is asked for."""
        self._watch_began_at, self._items = self._clock(), 0
        if self._witness is not None and self._watched:
            self._witness.reconnected()
        self._watched = True
        if self._metrics is not None:
            self._watches.inc()

    def watch_ended(self) -> None:
        """However it ended."""
        if self._metrics is None or self._watch_began_at is None:
            return
        seconds = self._clock() - self._watch_began_at
        self._watch_began_at = None
        self._watch_seconds.observe(seconds)
        self._watch_items.observe(self._items)
        if seconds < SHORT_SECONDS and not self._items:
            self._short_watches.inc()
