"""One shard on one worker: its views, its queues, and the fixed order in which they start, drain and stop.

    prewarm: views open and sync (a standby) -> activate: gate, then reconciles -> drain: reconciles end, watermark
    -> stop: views close

The right to act is the tenure that `activate` gets; a shard never acts before, and never again after `drain` or `stop`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite

from shards.authoring.controller import Controller
from shards.errors import NotOwner, Undrained
from shards.features import BUILT
from shards.gate_metrics import shown
from shards.gates.watermark import Watermark
from shards.handover import until_seen, watermark_of
from shards.informers.freshness import keep_fresh
from shards.journal import Note
from shards.keyrange import KeyRange
from shards.objects import Key
from shards.ownership.tenure import Tenure
from shards.queue.failing_keys import FailingKey
from shards.queue.sentences import clause
from shards.queue.waiting_keys import WaitingKey
from shards.reconciling.engine import Engine
from shards.reconciling.figures import Figures, figures_of
from shards.reconciling.key_costs import Middle, middle_of
from shards.runtime import WorkerRuntime
from shards.shard_gate import ShardGate
from shards.shard_load import load_of
from shards.shard_views import ShardView, make_engine, make_views
from shards.stores.store import StoreReader
from shards.view_filters import filter_modes

__all__ = ["Shard", "Undrained", "WorkerRuntime"]


class Shard:
    """All controllers of the fleet on one range. Lives on one event loop; used once.

    open: the handover gate is open and reconciles run.
    """

    def __init__(self, range: KeyRange, controllers: Sequence[Controller], runtime: WorkerRuntime, member: str) -> None:
        """Raises ConfigError for an incomplete controller."""
        self.range = range
        self.open = False
        self._runtime = runtime
        self._member = member
        self._tenure: Tenure | None = None
        self._moved = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._deadline_task: asyncio.Task[None] | None = None
        self._stopped = False
        self._made_at = runtime.clock()
        self._controllers = controllers
        self._views = make_views(range, controllers, runtime, member, self._moved.set)
        self._engines = [make_engine(controller, range, runtime, self._views) for controller in controllers]
        self._gate = ShardGate(range, runtime, self._views, self._engines, self._moved)

    # -- the life of a shard -----------------------------------------------------------------------------------------

    async def prewarm(self) -> None:
        """Opens the informers and returns when all of them are synced. No reconciles. May be called again.

        Waits as long as it takes: the fleet gives a standby its deadline. `trouble` says what keeps it.
        """
        self._open_views()
        for view in self._views.values():
            await view.informer.synced.wait()

    def _open_views(self) -> None:
        if self._stopped:
            raise NotOwner(f"shard {self.range} was stopped")
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(view.informer.run(), name=f"informer {view.name} {self.range.short}")
                for view in self._views.values()
            ]
            informers = [view.informer for view in self._views.values()]
            fresh = keep_fresh(informers, self._runtime.clock)
            self._tasks.append(asyncio.create_task(fresh, name=f"freshness {self.range.short}"))

    async def activate(self, tenure: Tenure, watermark: Watermark | None, *, previous_epoch: int) -> None:
        """The range was claimed: opens the handover gate, then starts the reconciles. Returns when they run.

        watermark: what the release carried, None for nothing. previous_epoch: of the shard, before this claim.
        Raises NotOwner when the tenure ends meanwhile, or the shard is stopped.
        """
        self._tenure = tenure
        await self._gate.activate(
            watermark, previous_epoch, check=lambda: self._check(tenure), open_views=self._open_views
        )
        await self.prewarm()
        self._check(tenure)
        for engine in self._engines:
            engine.start(tenure)
        self.open = True
        self._note("opened")
        self._deadline_task = asyncio.create_task(self._watch_deadline(tenure), name=f"deadline {self.range.short}")
        # Every primary is reconciled once by its new owner, whatever was delayed, parked or failing at the last one.
        for engine in self._engines:
            engine.begin_with_all()

    async def drain(self, grace_seconds: float) -> Watermark:
        """Ends all reconciles (the last ones by cancelling them after the grace), ends the tenure, and says how far the
        views had come. The informers stay open until `stop`.

        Raises Undrained when a reconcile cannot be cancelled: the process must exit and the shard must not be released.
        """
        self.open = False
        self._note("draining")
        if self._tenure is not None:
            grace_seconds = min(grace_seconds, self._tenure.deadline() - self._runtime.clock())
        try:
            await self._end_reconciles(grace_seconds)
        finally:
            if self._tenure is not None:
                self._tenure.end()
        self._note("drained")
        await until_seen(self._engines, self._moved, self.range)
        epoch = self._tenure.shard_epoch if self._tenure is not None else 0
        return watermark_of(self._views, epoch) if self._gate.leaves_mark else Watermark(epoch)

    async def stop(self) -> None:
        """Ends everything, from any state; idempotent. Raises Undrained as `drain` does, after the rest has ended."""
        self._stopped = True
        self.open = False
        if self._tenure is not None:
            self._tenure.end()
        try:
            await self._end_reconciles(0.0)
        finally:
            await self._gate.close()
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for engine in self._engines:
                for view in self._views.values():
                    view.detach(engine)
                self._runtime.metrics.forget_shard(engine.controller.name, str(self.range))
            for name in self._views:
                self._runtime.metrics.forget_view(name, str(self.range))
            self._note("stopped")

    def _note(self, what: str) -> None:
        epoch = self._tenure.shard_epoch if self._tenure is not None else 0
        self._runtime.journal.write(Note(what, self._runtime.clock(), range=str(self.range), epoch=epoch))

    # -- what is asked from outside ----------------------------------------------------------------------------------

    @property
    def views(self) -> Mapping[str, ShardView]:
        """What it sees, by the names that marks and gates use."""
        return self._views

    @property
    def trouble(self) -> str:
        """Why views are not up to date; "" when they are."""
        found = ((name, view.informer.trouble) for name, view in self._views.items())
        return "; ".join(f"{name}: {trouble}" for name, trouble in found if trouble)

    @property
    def closed(self) -> str:
        """Why reconciles have not begun: its gate is closed, or its views are not there; "" once they have."""
        if self.open:
            return ""
        return clause(self.trouble or self._gate.reason or "its views are being listed")

    @property
    def outdated(self) -> bool:
        """Whether its views would be filtered elsewhere if they were opened now: a feature gate was switched, or what
        is known of the server has changed."""
        wanted = filter_modes(self.range, self._controllers, self._runtime)
        return any(view.source.mode is not wanted[view.place] for view in self._views.values())

    @property
    def last_heard(self) -> float:
        """Boot-clock reading at the last byte of the view that has been silent longest; 0.0 before the first."""
        return min(view.informer.last_heard for view in self._views.values())

    @property
    def view_age(self) -> float:
        """Seconds since the view that is furthest behind was known to be current; infinity before it first was."""
        return self._runtime.clock() - min(view.informer.current_at for view in self._views.values())

    @property
    def first_reconcile_at(self) -> float | None:
        """Boot-clock reading at the start of the first reconcile of this tenure."""
        starts = [engine.first_reconcile_at for engine in self._engines if engine.first_reconcile_at is not None]
        return min(starts, default=None)

    def current_keys(self) -> list[str]:
        """Keys whose reconciles run now, as `controller namespace/name`."""
        return [f"{engine.controller.name} {key}" for engine in self._engines for key in engine.running]

    def unsettled(self) -> list[str]:
        """Keys that are ready, running, parked or failing, as `controller namespace/name (which)`."""
        now, found = self._runtime.clock(), []
        for engine in self._engines:
            states = engine.queue.unsettled(now) | dict.fromkeys(engine.parked.parking.keys, "parked")
            found += [f"{engine.controller.name} {key} ({state})" for key, state in states.items()]
        return found

    def load(self) -> dict[str, float]:
        """Figures of now (objects, queue_depth, parked, failing, waiting, paused, quarantined) and, per second, of the
        last minute. measured_seconds: for how long reconciles have run."""
        return load_of(self._engines, self._runtime.clock())

    def middle(self) -> Middle | None:
        """Where half of what its reconciles cost lies on either side; None before any were."""
        return middle_of(engine.meter.costs for engine in self._engines)

    def namespaces(self) -> Counter[str]:
        """How many primaries each namespace has in this shard."""
        stores = {id(store): store for store in map(self._primaries, self._engines)}
        return sum((store.namespaces() for store in stores.values()), Counter[str]())

    def figures(self) -> list[Figures]:
        """What its controllers did lately."""
        return [figures_of(engine, self._runtime) for engine in self._engines]

    def failing(self, most: int) -> list[FailingKey]:
        """Keys that keep failing: of each controller at most so many, the longest first."""
        return [each for engine in self._engines for each in engine.failing.told(engine.controller.name, most)]

    def waiting(self, most: int) -> list[WaitingKey]:
        """Keys that wait for long: of each controller at most so many, the longest first."""
        now = self._runtime.clock()
        return [each for engine in self._engines for each in engine.waits.told(engine.controller.name, most, now)]

    def generation_of(self, controller: str, key: Key) -> int | None:
        """Of the spec of a primary; 0 where nobody knows. None: an open shard of its range does not see it."""
        engine = next((each for each in self._engines if each.controller.name == controller), None)
        return 0 if engine is None or not self.open else engine.generation_of(key)

    def measure(self) -> None:
        """Sets the gauges, for a look that comes now."""
        if self._stopped:  # its series are gone, or about to go, and would stay for good
            return
        for engine in self._engines:
            engine.measure()
            name = engine.controller.name
            on = self._runtime.features_on(name, self.range)
            for feature in BUILT:
                self._runtime.metrics.feature_enabled.labels(feature, name, str(self.range)).set(feature in on)
        now, gauge = self._runtime.clock(), self._runtime.metrics.view_age
        for name, view in self._views.items():
            since, resource = view.informer.current_at, view.source.resource
            gauge.labels(name, str(self.range)).set(now - (since if isfinite(since) else self._made_at))
            place = (name, resource.group, resource.version, resource.plural, str(self.range))
            self._runtime.metrics.gate.store_version.labels(*place).set(shown(view.store.resource_version))
            self._runtime.metrics.filters.view.labels(name, str(self.range), view.source.mode).set(1)

    def pulse(self) -> dict[str, float]:
        """Seconds for the worker's journal, into which it writes what the views hold. view_age: since the view that is
        furthest behind was known to be current. longest_wait: of a ready key."""
        now = self._runtime.clock()
        for view in self._views.values():
            view.informer.notes.view(view.store)
        return {"view_age": self.view_age, "longest_wait": max(each.queue.oldest_age(now) for each in self._engines)}

    # -- the tenure --------------------------------------------------------------------------------------------------

    def _check(self, tenure: Tenure) -> None:
        if self._stopped or not tenure.valid(self._runtime.clock()):
            raise NotOwner(f"the tenure of {self.range} ended before its gate was open")

    async def _watch_deadline(self, tenure: Tenure) -> None:
        """Cancels what runs past the deadline (R2): its requests would not be sent, but its thoughts are stale."""
        while not tenure.ended:
            remaining = tenure.deadline() - self._runtime.clock()
            if remaining <= 0:
                for engine in self._engines:
                    engine.cancel_running()
            await asyncio.sleep(max(remaining, 0.1))

    # -- the end -----------------------------------------------------------------------------------------------------

    async def _end_reconciles(self, grace_seconds: float) -> None:
        if self._deadline_task is not None:
            self._deadline_task.cancel()
        drains = (engine.drain(grace_seconds) for engine in self._engines)
        for outcome in await asyncio.gather(*drains, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def _primaries(self, engine: Engine) -> StoreReader:
        return engine.stores[engine.controller.primary]
