"""What all shards of one worker share."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from shards.bodies import Bodies
from shards.client import Transport
from shards.clock import Clock
from shards.journal import NO_JOURNAL, Journal
from shards.live import Guards
from shards.metrics import ShardMetrics
from shards.objects import Resource
from shards.settings import ShardSettings
from shards.shared_informer import SharedStreams


@dataclass
class WorkerRuntime:
    """slots: one per reconcile that may run at a time, over all shards. product: first word of every User-Agent.

    server_side_sharding: whether the server proved that it filters by shardSelector; None: not known, filter locally.
    guards: live-read budget and breaker, per controller. kinds: `kind` per resource, as discovered.
    journal: what this worker did and saw, for a judge. streams: the watches that its shards share.
    """

    transport: Transport
    clock: Clock
    rng: random.Random
    settings: ShardSettings
    metrics: ShardMetrics
    slots: asyncio.Semaphore
    server_side_sharding: bool | None = None
    product: str = "fleet/0.1.0"
    guards: dict[str, Guards] = field(default_factory=dict)
    bodies: defaultdict[Resource, Bodies] = field(default_factory=lambda: defaultdict(Bodies))
    """How the stores of one resource keep bodies; one dictionary serves all shards of the worker."""
    kinds: dict[Resource, str] = field(default_factory=dict)
    journal: Journal = NO_JOURNAL
    streams: SharedStreams = field(default_factory=SharedStreams)
    _threads: ThreadPoolExecutor | None = None

    def guards_of(self, controller: str) -> Guards:
        guards = self.guards.get(controller)
        if guards is None:
            guards = self.guards[controller] = Guards.of(self.settings.gate, self.clock())
        return guards

    def threads(self) -> ThreadPoolExecutor:
        """Where plain reconcile functions run; made when the first one does."""
        if self._threads is None:
            most = self.settings.queue.max_concurrent_reconciles
            self._threads = ThreadPoolExecutor(most, thread_name_prefix="reconcile")
        return self._threads

    def close(self) -> None:
        """Ends idle threads; those that still run a reconcile end with it."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
