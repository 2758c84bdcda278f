"""What all shards of one worker share."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from shards.api.client import Transport
from shards.api.request_meters import NO_METERS, RequestMeters
from shards.clock import Clock
from shards.features import Feature
from shards.filtering.ladder import FilterLadder, Rung, Switch, Verdict
from shards.filtering.prober import say
from shards.in_flight import NO_FLIGHTS, InFlight
from shards.journal import NO_JOURNAL, Journal
from shards.keyrange import KeyRange
from shards.limits.breaker import TokenBucket
from shards.limits.loop_turn import LoopTurn
from shards.limits.request_limiter import LimitedTransport, RequestLimiter
from shards.metrics import ShardMetrics
from shards.objects import Resource
from shards.ownership.live import Guards
from shards.queue.slots import Slots
from shards.queue.suspects import Suspects
from shards.settings import ShardSettings
from shards.sharing.shared_informer import SharedStreams
from shards.stores.bodies import Bodies
from shards.watching.source import FilterMode
from shards.worker_gates import WorkerGates

FEATURES = {
    FilterMode.SHARD_SELECTOR: Feature.SERVER_SIDE_SHARDING,
    FilterMode.SLOT_LABELS: Feature.SLOT_LABELS,
}
"""By which a filter is switched."""


def switches_of(settings: ShardSettings) -> dict[FilterMode, Switch]:
    return {
        FilterMode.SHARD_SELECTOR: Switch(settings.server_side_sharding),
        FilterMode.SLOT_LABELS: Switch(settings.slot_labels),
    }


MENDS_PER_SECOND = 1.0
MENDS_AT_ONCE = 10.0
"""Of one worker: enough for a label that somebody took away. All children at once are the work of `fleet adopt`."""


@dataclass
class WorkerRuntime:
    """slots: one per reconcile that may run at a time, over all shards. product: first word of every User-Agent.

    settings: as they are now; `change` replaces them, so that whoever uses one looks it up at that moment.
    server_side_sharding: whether the server filters by shardSelector, where nobody asks it; None: not known, filter
    locally. filters: what is known of each filter. Which shards make use of that is what `gates` says. labels: of this
    member, for the canary.
    guards: live-read budget and breaker, per controller. retries: what bounds the retries of its keys.
    kinds: `kind` per resource, as discovered. journal: what this worker did and saw, for a judge.
    streams: the watches that its shards share. in_flight: what remembers which keys run, when the process dies.
    suspects: keys that were in flight when a worker died.
    limiter: what every request of shards waits for. limited: the transport behind it; `transport` itself is only for
    who has waited already. turn: how long they may hold the loop together.
    """

    transport: Transport
    clock: Clock
    rng: random.Random
    settings: ShardSettings
    metrics: ShardMetrics
    slots: Slots
    server_side_sharding: bool | None = None
    product: str = "fleet/0.1.0"
    guards: dict[str, Guards] = field(default_factory=dict)
    retries: dict[str, TokenBucket] = field(default_factory=dict)
    bodies: defaultdict[Resource, Bodies] = field(default_factory=lambda: defaultdict(Bodies))
    """How the stores of one resource keep bodies; one dictionary serves all shards of the worker."""
    kinds: dict[Resource, str] = field(default_factory=dict)
    journal: Journal = NO_JOURNAL
    meters: RequestMeters = NO_METERS
    streams: SharedStreams = field(default_factory=SharedStreams)
    in_flight: InFlight = NO_FLIGHTS
    labels: Mapping[str, str] = field(default_factory=dict)
    gates: WorkerGates = field(init=False)
    filters: FilterLadder = field(init=False)
    mends: TokenBucket = field(init=False)
    """Writes that do no more than give a child its slot label."""
    limiter: RequestLimiter = field(init=False)
    limited: Transport = field(init=False)
    turn: LoopTurn = field(init=False)
    suspects: Suspects = field(init=False)
    _threads: ThreadPoolExecutor | None = None

    def __post_init__(self) -> None:
        self.limiter = RequestLimiter(self.settings.client, self.clock, self.meters)
        self.turn = LoopTurn(self.clock)
        self.mends = TokenBucket(MENDS_PER_SECOND, MENDS_AT_ONCE, self.clock())
        self.suspects = Suspects(self.slots)
        self.gates = WorkerGates(self.settings.rollout, self.labels, self.clock)
        self.filters = FilterLadder(self.clock, self.rng, told=self._filter_changed)
        if self.server_side_sharding is not None:
            self.filters.assume(FilterMode.SHARD_SELECTOR, self.server_side_sharding)
        self.filters.follow(switches_of(self.settings))
        self.limited = LimitedTransport(self.transport, self.limiter)

    def change(self, settings: ShardSettings) -> None:
        """Follows what may change while a worker runs: `client`, `gate`, the feature gates and their canary.

        Of the rest, what this worker began with stays.
        """
        self.settings = replace(
            self.settings,
            client=settings.client,
            gate=settings.gate,
            server_side_sharding=settings.server_side_sharding,
            slot_labels=settings.slot_labels,
            canary=settings.canary,
        )
        self.limiter.change(settings.client)
        for guards in self.guards.values():
            guards.change(settings.gate, self.clock())
        self.filters.follow(switches_of(self.settings))
        self.gates.change(self.settings.rollout)

    def _filter_changed(self, rung: Rung) -> None:
        say(rung)
        self.metrics.filters.changes.labels(str(rung.resource), rung.mode, rung.verdict).inc()

    def measure(self) -> None:
        """Sets the gauges of what its shards share, for a look that comes now."""
        self.limiter.measure()
        now = self.clock()
        for rung in self.filters.rungs.values():
            age = None if rung.probed_at is None else now - rung.probed_at
            self.metrics.filters.show(str(rung.resource), rung.mode, list(Verdict), rung.verdict, age, rung.foreign)

    def features_on(self, controller: str, shard: KeyRange) -> tuple[str, ...]:
        """Names of the features that are on there: those that the server cannot do are not, whatever their switch."""
        unable = [feature for mode, feature in FEATURES.items() if not self.filters.any_usable(mode)]
        return tuple(str(each) for each in self.gates.on(controller, shard) if each not in unable)

    def guards_of(self, controller: str) -> Guards:
        guards = self.guards.get(controller)
        if guards is None:
            guards = self.guards[controller] = Guards.of(self.settings.gate, self.clock())
        return guards

    def retries_of(self, controller: str) -> TokenBucket:
        bucket = self.retries.get(controller)
        if bucket is None:
            queue = self.settings.queue
            bucket = self.retries[controller] = TokenBucket(queue.retries_per_second, queue.retry_burst, self.clock())
        return bucket

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
