"""The engine of one controller in one shard: keys from its queue, through the gate, into reconciles.

Never two reconciles of one key at once; never one on a view that does not show the controller's own writes; a slow,
failing or parked key never holds up another one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from shards.authoring.controller import Controller
from shards.errors import NotOwner, Undrained
from shards.gates.parking import TICK_SECONDS
from shards.informers.namespaced_store import NamespacedReader
from shards.keyrange import KeyRange
from shards.objects import Key, Resource
from shards.ownership.fence import Fence
from shards.ownership.tenure import Tenure
from shards.ownership.view import Views
from shards.queue.waiting_keys import LongWaits
from shards.queue.workqueue import WorkQueue
from shards.reconciling.admission import Admission
from shards.reconciling.alarm import Alarm
from shards.reconciling.crew import Crew
from shards.reconciling.engine_fence import make_fence, reset_requests
from shards.reconciling.engine_meters import EngineMeters
from shards.reconciling.engine_notes import EngineNotes
from shards.reconciling.first_keys import newest_first, queue_all
from shards.reconciling.gate_meters import GateMeters
from shards.reconciling.load import LoadMeter
from shards.reconciling.parked_keys import ParkedKeys, Relist
from shards.reconciling.reconcile import LOST_SECONDS, Reconciler
from shards.reconciling.resync import resync
from shards.reconciling.tally import Tally
from shards.runtime import WorkerRuntime
from shards.watching.source import Source

log = logging.getLogger(__name__)

CANCEL_SECONDS = 1.0
"""How long a cancelled reconcile may take to clean up."""

HOUSEKEEPING_SECONDS = 1.0
NO_TENURE_SECONDS = 0.1

TROUBLE_SECONDS = 1.0
"""Pause after a fault in the loop itself: it must neither end nor spin."""


class Engine:
    """Reconciles of one controller in one shard, from `start` to `drain`. Lives on one event loop.

    Invariant: `running` holds exactly the keys that the queue has handed out.
    """

    def __init__(
        self,
        controller: Controller,
        shard: KeyRange,
        runtime: WorkerRuntime,
        stores: Views,
        sources: Mapping[Resource, Source],
        relist: Relist,
        current_at: Callable[[], float],
    ) -> None:
        self.controller, self.shard = controller, shard
        self.stores = stores
        self.sources = sources
        self._current_at = current_at
        self.queue: WorkQueue[Key] = WorkQueue(runtime.settings.queue, runtime.rng, runtime.retries_of(controller.name))
        self._alarm = Alarm()
        self._gate_meters = GateMeters(runtime, controller.name, str(shard), stores)
        self.parked = ParkedKeys(
            controller, shard, runtime, stores, self.queue, self._gate_meters, relist=relist, ring=self._alarm.ring
        )
        self.fence: Fence | None = None
        self.first_reconcile_at: float | None = None
        self.meter = LoadMeter(runtime.clock(), shard.key)
        self.tally = Tally()
        self.made_at = runtime.clock()
        most = runtime.settings.queue.max_concurrent_reconciles
        self._meters = EngineMeters(runtime.metrics, controller.name, str(shard), most)
        self._notes = EngineNotes(runtime.journal, controller, shard, stores)
        self._runtime = runtime
        self._reconciler = Reconciler(controller, shard, runtime, stores, self.queue, lambda: self._closed)
        self.failing = self._reconciler.failing
        parts = self.queue, self.parked, self.failing, self._reconciler.waiting, self._notes
        self.admission = Admission(controller.name, runtime, stores[controller.primary], *parts, self.add)
        self.waits = LongWaits(self._reconciler.waiting, self.parked.parking.keys, self.queue.running)
        names = f"queue {controller.name} {shard.short}", f"reconcile {controller.name}"
        self._crew = Crew(self._run, self._reconciler.waits, runtime.turn.then, *names)
        self.running = self._crew.running
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = self._held = False
        self._cleaned_at = runtime.clock()
        runtime.slots.join(controller.name)

    # -- from outside ------------------------------------------------------------------------------------------------

    def start(self, tenure: Tenure) -> None:
        """Reconciles may begin. Raises RuntimeError when they did before, NotOwner after a drain."""
        if self._closed:
            raise NotOwner(f"shard {self.shard} was drained")
        if self.fence is not None:
            raise RuntimeError("this engine was started before")
        runtime, name = self._runtime, self.controller.name

        def pause(key: Key, seconds: float) -> None:
            self.queue.pause(key, seconds, runtime.clock())

        at, tally = self._current_at, self.tally
        self.fence = make_fence(self.controller, tenure, runtime, self.stores, self.sources, pause, tally, at)
        self._crew.start()
        self.meter.begin(runtime.clock())
        own = self.controller.resync_seconds
        if period := runtime.settings.queue.resync_seconds if own is None else own:
            again = resync(period, runtime.rng, self.add_all)
            self._tasks.append(asyncio.create_task(again, name=f"resync {name} {self.shard.short}"))

    def add(self, key: Key, *, low_priority: bool = False) -> None:
        """Something that concerns the key has changed. Without effect before `start` and after `drain`."""
        if self.fence is not None and not self._closed:
            self.queue.add(key, self._runtime.clock(), low_priority=low_priority)
            self._alarm.ring()

    def begin_with_all(self) -> None:
        """Every primary is to be reconciled once, the newest first: in the background, after `start`."""
        first = queue_all(newest_first(self.stores[self.controller.primary]), self.add)
        self._tasks.append(asyncio.create_task(first, name=f"first keys {self.shard.short}"))

    async def add_all(self) -> None:
        """Every primary is to be reconciled once, behind whatever changes meanwhile."""
        await queue_all(self.stores[self.controller.primary].each_key(), self.add)

    def measure(self) -> None:
        """Sets the gauges. While all slots are taken nobody else does."""
        now = self._runtime.clock()
        active = self._runtime.slots.held(self.controller.name)
        self._meters.measured(now, self.queue, active, failing=self.failing.count(), waiting=self.waits.counts(now))
        self._meters.set_aside(*self.admission.counts)
        self._gate_meters.measured(now, self.parked.parking, self.fence)

    def generation_of(self, key: Key) -> int | None:
        """Of its spec; 0 where nobody knows. None: the view shows no such object."""
        primaries = self.stores[self.controller.primary]
        unseen = isinstance(primaries, NamespacedReader) and primaries.blind(key.namespace)
        return 0 if unseen else primaries.generation_of(key)

    def progress(self, resource: Resource) -> None:
        """The view of the resource has moved: keys that wait for it are looked at."""
        if self.parked.moved(resource):
            self._alarm.ring()

    def hold(self) -> None:
        """No key begins until `go_on`: the views may be older than what others wrote. What runs goes on."""
        self._held = True

    def go_on(self) -> None:
        """The views are fresh enough, or nobody asks for that any more. Without effect when nothing was held."""
        self._held = False
        if not self.parked.gated:
            self.parked.release_all()
        self._alarm.ring()

    def cancel_running(self) -> None:
        """The deadline has passed: nothing that runs may go on."""
        for task in self.running.values():
            task.cancel()

    async def drain(self, grace_seconds: float) -> None:
        """Takes no more keys, lets running reconciles end within the grace, cancels the rest. Idempotent.

        Raises Undrained when one cannot be cancelled, or a request that one of them left behind.
        """
        self._closed = True
        self.queue.shut_down()
        await self._crew.close()
        self._alarm.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.parked.close()
        self.admission.close()
        # The grace is what counts from here on.
        self._reconciler.timer.close()
        if self.running:
            await asyncio.wait(self.running.values(), timeout=max(grace_seconds, 0.0))
        if self.running:
            self.cancel_running()
            await asyncio.wait(self.running.values(), timeout=CANCEL_SECONDS)
        if self.running:
            keys = ", ".join(map(str, self.running))
            raise Undrained(f"{self.controller.name} cannot be cancelled: {keys}")
        if self.fence is not None:
            await reset_requests(self.fence, CANCEL_SECONDS)

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        assert self.fence is not None, "nobody runs before the start"
        try:
            await self._turn(self.fence)
        except Exception:  # a fault of this package, in the records of one key: the others must go on
            log.exception("the queue of %s %s", self.controller.name, self.shard.short)
            await asyncio.sleep(TROUBLE_SECONDS)

    async def _turn(self, fence: Fence) -> None:
        """Runs one key, or rests until there may be one."""
        self._alarm.clear()
        now = self._runtime.clock()
        look_at = self.parked.look(fence, now)
        if now - self._cleaned_at >= HOUSEKEEPING_SECONDS:
            self._housekeeping(fence, now)
        if not (self._may_begin(fence, now) and self.queue.depth(now)):
            await self._rest(fence, now, look_at)
            return
        slots, name = self._runtime.slots, self.controller.name
        if not slots.take(name):
            await slots.acquire(name)
            now = self._runtime.clock()
        key, may = None, partial(self._may_begin, fence)
        try:
            if may(now):
                key, now = await self.admission.next_key(fence, now, may, self._alarm.ring)
        finally:
            if key is None:
                slots.release(name)
        if key is not None:
            await self._reconcile(fence, key, now)
            if self._crew.follows() or not self._runtime.turn.over():
                return
        await asyncio.sleep(0)

    async def _rest(self, fence: Fence, now: float, look_at: float | None) -> None:
        """Until something was added, has moved or ended, or a delayed key is due."""
        dues = [due - now for due in (self.queue.next_ready(now), look_at) if due is not None]
        seconds = max(min([*dues, HOUSEKEEPING_SECONDS]), TICK_SECONDS)
        if not fence.tenure.valid(now):
            seconds = NO_TENURE_SECONDS
        elif self._held:
            seconds = HOUSEKEEPING_SECONDS
        await self._alarm.rest(now, seconds)

    def _may_begin(self, fence: Fence, now: float) -> bool:
        return not self._held and fence.tenure.valid(now)

    def _housekeeping(self, fence: Fence, now: float) -> None:
        self._cleaned_at = now
        for key in self.parked.overdue(fence, now):
            self.queue.add(key, now, low_priority=True)
        self.queue.sweep(now)
        self.measure()

    # -- one reconcile -----------------------------------------------------------------------------------------------

    async def _reconcile(self, fence: Fence, key: Key, started: float) -> None:
        if self._notes.on:
            self._notes.started(key, started, started - self.queue.waited_since)
        if self.first_reconcile_at is None:
            self.first_reconcile_at = started
        self._meters.started(started - self.queue.waited_since)
        self.tally.started(started, started - self.queue.waited_since)
        if parked := self.parked.parking.keys.get(key):
            self.tally.parked(started, started - max(parked.since, self._runtime.gates.since))
        self.admission.begins(key, started)
        self._crew.begins(key, started)
        ended = "cancelled"
        decided = False
        try:
            ended = await self._reconciler.run(fence, key, self.parked.take(key))
            decided = True
        finally:
            self._ended(key, started, ended, decided=decided)

    def _ended(self, key: Key, started: float, outcome: str, *, decided: bool) -> None:
        """Every way out of a reconcile. decided: that it was not cancelled, and decided when its key runs again."""
        undisturbed = self._crew.ended(key)
        now = self._runtime.clock()
        self.admission.ended(key, outcome)
        if not self._closed and not (decided and undisturbed):
            # Its key must not be lost.
            self.queue.add_after(key, LOST_SECONDS, now)
        self.queue.done(key, now)
        self._runtime.slots.release(self.controller.name)
        self._alarm.ring()
        self.meter.record(key, now - started, now)
        self._gate_meters.busiest.ran(key)
        self._meters.reconciled(outcome, now - started)
        if self._notes.on:
            self._notes.ended(key, now, outcome, now - started)
