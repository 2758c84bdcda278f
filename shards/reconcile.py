"""The engine of one controller in one shard: keys from its queue, through the gate, into reconciles.

Never two reconciles of one key at once; never one on a view that does not show the controller's own writes; a slow,
failing or parked key never holds up another one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from inspect import isawaitable

from shards.context import Context, PlainContext, ReconcileLog, Request
from shards.controller import Controller, Result
from shards.errors import (
    BreakerOpen,
    Conflict,
    ConflictingOwner,
    NotOwner,
    NotReadyYet,
    ShardError,
    TerminalError,
    TooManyRequests,
    Undrained,
)
from shards.fenced import Fence
from shards.gate import TICK_SECONDS, Blocked, Parked, Parking
from shards.keyrange import KeyRange
from shards.live import LiveReader
from shards.load import LoadMeter
from shards.objects import Key, ObjectName, Resource
from shards.runtime import WorkerRuntime
from shards.source import Source
from shards.tenure import Tenure
from shards.view import Live, Place, View, Views, meta_of
from shards.workqueue import WorkQueue

log = logging.getLogger(__name__)

CONFLICT_SECONDS = 0.1
"""Retry after a conflict on a resource without a view; with one, the gate decides by a live read."""

PATIENT_CONFLICTS = 10
"""Conflicts in a row of one key after which they count as failures: something works against it."""

NOT_READY_SECONDS = 0.25
OWNER_SECONDS = 1.0
BREAKER_SECONDS = 5.0
LOST_SECONDS = 1.0
"""Retry of a key whose tenure was over: in case it was not, because a late renewal was acknowledged after all."""

CANCEL_SECONDS = 1.0
"""How long a cancelled reconcile may take to clean up."""

HOUSEKEEPING_SECONDS = 1.0
NO_TENURE_SECONDS = 0.1


class Engine:
    """Reconciles of one controller in one shard, from `start` to `drain`. Lives on one event loop.

    Invariants: `running` holds exactly the keys that the queue has handed out; a key of `overlays` is queued and will
    run on those objects without asking the gate, because a live read has just settled what it asked.
    """

    def __init__(
        self,
        controller: Controller,
        shard: KeyRange,
        runtime: WorkerRuntime,
        stores: Views,
        sources: Mapping[Resource, Source],
    ) -> None:
        self.controller = controller
        self.shard = shard
        self.stores = stores
        self.sources = sources
        self.queue: WorkQueue[Key] = WorkQueue(runtime.settings.queue, runtime.rng)
        self.parking = Parking(runtime.rng)
        self.running: dict[Key, asyncio.Task[None]] = {}
        self.overlays: dict[Key, dict[Place, Live]] = {}
        self.fence: Fence | None = None
        self.first_reconcile_at: float | None = None
        self.meter = LoadMeter(runtime.clock())
        self._runtime = runtime
        self._moved: set[Resource] = set()
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._settling: dict[Key, asyncio.Task[None]] = {}
        self._conflicts: dict[Key, int] = {}
        self._closed = False
        self._cleaned_at = runtime.clock()

    # -- from outside ------------------------------------------------------------------------------------------------

    def start(self, tenure: Tenure) -> None:
        """Reconciles may begin. Raises RuntimeError when they did before, NotOwner after a drain."""
        if self._closed:
            raise NotOwner(f"shard {self.shard} was drained")
        if self.fence is not None:
            raise RuntimeError("this engine was started before")
        runtime, name = self._runtime, self.controller.name
        guards = runtime.guards_of(name)
        self.fence = Fence(
            transport=runtime.transport,
            tenure=tenure,
            clock=runtime.clock,
            metrics=runtime.metrics,
            controller=name,
            product=runtime.product,
            stores=self.stores,
            sources=self.sources,
            live=LiveReader(runtime.transport, guards, runtime.clock, runtime.metrics, name),
            kinds=runtime.kinds,
        )
        self._loop = asyncio.create_task(self._run(self.fence), name=f"queue {name} {self.shard.short}")

    def add(self, key: Key, *, low_priority: bool = False) -> None:
        """Something that concerns the key has changed. Without effect before `start` and after `drain`."""
        if self.fence is not None and not self._closed:
            self.queue.add(key, self._runtime.clock(), low_priority=low_priority)
            self._wake.set()

    def progress(self, resource: Resource) -> None:
        """The view of the resource has moved: keys that wait for it are looked at."""
        if self.parking.keys:
            self._moved.add(resource)
            self._wake.set()

    def cancel_running(self) -> None:
        """The deadline has passed: nothing that runs may go on."""
        for task in self.running.values():
            task.cancel()

    async def drain(self, grace_seconds: float) -> None:
        """Takes no more keys, lets running reconciles end within the grace, cancels the rest. Idempotent.

        Raises Undrained when one cannot be cancelled.
        """
        self._closed = True
        self.queue.shut_down()
        helpers = [task for task in (self._loop, *self._settling.values()) if task is not None]
        for task in helpers:
            task.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
        if self.running:
            await asyncio.wait(self.running.values(), timeout=max(grace_seconds, 0.0))
        if self.running:
            self.cancel_running()
            await asyncio.wait(self.running.values(), timeout=CANCEL_SECONDS)
        if self.running:
            keys = ", ".join(map(str, self.running))
            raise Undrained(f"{self.controller.name} cannot be cancelled: {keys}")

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _run(self, fence: Fence) -> None:
        slots = self._runtime.slots
        while True:
            self._wake.clear()
            now = self._runtime.clock()
            self._unpark(fence, now)
            if now - self._cleaned_at >= HOUSEKEEPING_SECONDS:
                self._housekeeping(fence, now)
            if fence.tenure.valid(now) and self.queue.depth(now):
                await slots.acquire()
                if not self._start_next(fence):
                    slots.release()
            else:
                await self._rest(fence, now)

    async def _rest(self, fence: Fence, now: float) -> None:
        """Until something was added, has moved or ended, or a delayed key is due."""
        due = self.queue.next_ready(now)
        seconds = HOUSEKEEPING_SECONDS if due is None else min(max(due - now, TICK_SECONDS), HOUSEKEEPING_SECONDS)
        if not fence.tenure.valid(now):
            seconds = NO_TENURE_SECONDS
        timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _unpark(self, fence: Fence, now: float) -> None:
        for resource in self._moved:
            for key in self.parking.on(resource):
                if fence.writes.shown(key, self.stores):
                    self.queue.add(key, now)
        self._moved.clear()

    def _start_next(self, fence: Fence) -> bool:
        """Starts the reconcile of the first ready key that the gate lets through. False: there is none."""
        now = self._runtime.clock()
        if not fence.tenure.valid(now):
            return False
        while (key := self.queue.get(now)) is not None:
            overlay = self.overlays.pop(key, None)
            blocked = None if overlay is not None else fence.writes.blocked(key, self.stores)
            if blocked is not None and self._runtime.settings.gate.enabled:
                self._park(fence, key, blocked, now)
                continue
            self.parking.release(key)
            name = f"reconcile {self.controller.name} {key}"
            task = asyncio.create_task(self._reconcile(fence, key, overlay), name=name)
            self.running[key] = task
            task.add_done_callback(partial(self._ended, key))
            return True
        return False

    def _housekeeping(self, fence: Fence, now: float) -> None:
        self._cleaned_at = now
        fence.writes.sweep(self.stores)
        labels = (self.controller.name, str(self.shard))
        self._runtime.metrics.queue_depth.labels(*labels).set(self.queue.depth(now))
        self._runtime.metrics.parked.labels(*labels).set(len(self.parking))

    # -- parked keys -------------------------------------------------------------------------------------------------

    def _park(self, fence: Fence, key: Key, blocked: Blocked, now: float) -> None:
        known = self.parking.keys.get(key)
        probes = known.probes if known is not None else 0
        delay = self.parking.park(key, blocked, now)
        parked = self.parking.keys[key]
        self.queue.done(key, now)
        self.queue.add_after(key, delay, now)
        if known is None:
            for resource in blocked.resources:
                self._runtime.metrics.parks.labels(self.controller.name, str(resource)).inc()
        overdue = blocked.needs_read or now - parked.since >= self._runtime.settings.gate.live_read_after_seconds
        if overdue and parked.probes > probes and key not in self._settling:
            task = asyncio.create_task(self._settle(fence, key, parked), name=f"live read {key}")
            self._settling[key] = task

    async def _settle(self, fence: Fence, key: Key, parked: Parked) -> None:
        """Reads live what the key's writes became; the key then runs once on what was read. Takes no slot."""
        try:
            overlay = await self._read_live(fence, key)
        except ShardError as error:
            self.parking.pause(key, self._runtime.clock())
            log.warning(
                "%s %s waits: %s; live read failed: %s", self.controller.name, key, parked.blocked.reason, error
            )
            return
        except Exception:  # an answer that is no object, say: it must cost this key only, and be asked for again
            self.parking.pause(key, self._runtime.clock())
            log.exception("live read of %s %s", self.controller.name, key)
            return
        finally:
            del self._settling[key]
        # A key that was freed meanwhile may have written again: what was read is too old for it then.
        if overlay is not None and self.parking.keys.get(key) is parked:
            self.overlays[key] = overlay
            self.add(key)

    async def _read_live(self, fence: Fence, key: Key) -> dict[Place, Live] | None:
        """The objects of all writes that the view does not show; None when the budget does not allow it now."""
        view = View(self.controller.primary, key, self.stores)
        overlay: dict[Place, Live] = {}
        for barrier in fence.writes.waiting(key, self.stores):
            resource, name = place = (barrier.resource, barrier.name)
            if place not in overlay:
                if not fence.live.affordable():
                    self._runtime.metrics.live_reads.labels(self.controller.name, "gate", "over_budget").inc()
                    return None
                agent = fence.user_agent(view, resource, "gate")
                found = await fence.live.read(resource, name, purpose="gate", user_agent=agent)
                version = barrier.resource_version if found is None else found["metadata"]["resourceVersion"]
                overlay[place] = Live(found, version)
            body = overlay[place].object
            admitted = body is not None and fence.reached(resource, body)
            live = None if body is None else meta_of(body)
            fence.writes.settle(barrier, live, self.stores[resource], admitted=admitted)
        return overlay

    # -- one reconcile -----------------------------------------------------------------------------------------------

    async def _reconcile(self, fence: Fence, key: Key, overlay: dict[Place, Live] | None) -> None:
        clock, metrics, name = self._runtime.clock, self._runtime.metrics, self.controller.name
        started = clock()
        if self.first_reconcile_at is None:
            self.first_reconcile_at = started
        ended = "cancelled"
        try:
            ended = await self._attempt(fence, key, overlay)
        finally:
            now = clock()
            self.meter.record(now - started, now)
            metrics.reconciles.labels(name, ended).inc()
            metrics.reconcile_seconds.labels(name).observe(now - started)

    def _ended(self, key: Key, task: asyncio.Task[None]) -> None:
        """Every way out of a reconcile, also that of a task that was cancelled before its first step."""
        del self.running[key]
        self.queue.done(key, self._runtime.clock())
        self._runtime.slots.release()
        self._wake.set()

    async def _attempt(self, fence: Fence, key: Key, overlay: dict[Place, Live] | None) -> str:
        """Calls the author's function and decides when the key runs again. Returns how it ended, for the metrics."""
        view = View(self.controller.primary, key, self.stores, overlay)
        extra = {"controller": self.controller.name, "key": str(key), "shard": self.shard.short}
        context = Context(Request(*key), fence, view, ReconcileLog(log, extra))
        seconds = self._runtime.settings.queue.reconcile_timeout_seconds
        timeout = asyncio.timeout(seconds)
        try:
            if self.controller.plain:
                result = await self._in_thread(context, seconds)
            else:
                async with timeout:
                    result = await self._awaited(context)
        except asyncio.CancelledError:
            if self._closed:
                raise
            self.queue.add_after(key, LOST_SECONDS, self._runtime.clock())
            return "cancelled"
        except TimeoutError as error:
            if self.controller.plain or timeout.expired():
                context.log.warning("took longer than %g s and was cancelled", seconds)
                self.queue.add_rate_limited(key, self._runtime.clock())
                return "timeout"
            return self._failed(fence, key, context, error)
        except Exception as error:  # an author's function may raise anything; it must cost no other key
            return self._failed(fence, key, context, error)
        return self._succeeded(fence, key, result)

    async def _awaited(self, context: Context) -> Result | None:
        outcome = self.controller.call(context, context.request)
        return _checked(await outcome if isawaitable(outcome) else outcome)

    async def _in_thread(self, context: Context, seconds: float) -> Result | None:
        """Runs a plain function. A thread cannot be cancelled: the task lives as long as it does, whatever is asked.

        What can be taken from it is the right to write.
        """
        loop = asyncio.get_running_loop()
        plain = PlainContext(context, loop)
        work = loop.run_in_executor(self._runtime.threads(), self.controller.call, plain, context.request)
        cancelled = timed_out = False
        until = loop.time() + seconds
        while not work.done():
            try:
                await asyncio.wait((work,), timeout=None if timed_out else max(until - loop.time(), 0.0))
            except asyncio.CancelledError:
                cancelled = True
                context.client.revoked = "the reconcile was cancelled"
            if not work.done() and loop.time() >= until and not timed_out:
                timed_out = True
                context.client.revoked = f"the reconcile took longer than {seconds:g} s"
                context.log.warning("takes longer than %g s, in a thread that cannot be cancelled", seconds)
        if cancelled:
            raise asyncio.CancelledError
        if timed_out:
            raise TimeoutError
        return _checked(work.result())

    def _succeeded(self, fence: Fence, key: Key, result: Result | None) -> str:
        self.queue.forget(key)
        self._conflicts.pop(key, None)
        primary = self.stores[self.controller.primary].meta(ObjectName(key.namespace, key.name))
        if primary is None or primary.uid != key.uid:
            fence.redecided.pop(key, None)
        if result is not None and result.requeue_after_seconds:
            self.queue.add_after(key, result.requeue_after_seconds, self._runtime.clock())
            return "requeue_after"
        return "success"

    def _failed(self, fence: Fence, key: Key, context: Context, error: Exception) -> str:
        """Decides the retry. What the fleet causes is retried at a short constant; what the key causes backs off."""
        now = self._runtime.clock()
        if isinstance(error, TerminalError):
            self.queue.forget(key)
            context.log.error("cannot succeed until the object changes: %s", error)
            return "terminal"
        if isinstance(error, NotOwner):
            self.queue.add_after(key, LOST_SECONDS, now)
            return "not_owner"
        if isinstance(error, BreakerOpen):
            context.log.warning("%s", error)
            self.queue.add_after(key, BREAKER_SECONDS, now)
            return "breaker_open"
        if isinstance(error, NotReadyYet):
            context.log.info("waits: %s", error)
            owner = isinstance(error, ConflictingOwner)
            self.queue.add_after(key, OWNER_SECONDS if owner else NOT_READY_SECONDS, now)
            return "not_ready"
        if isinstance(error, Conflict):
            self._conflicts[key] = self._conflicts.get(key, 0) + 1
            if self._conflicts[key] <= PATIENT_CONFLICTS:
                gated = not fence.writes.shown(key, self.stores)
                self.queue.add_after(key, 0.0 if gated else CONFLICT_SECONDS, now)
                return "conflict"
        asked = error.retry_after_seconds if isinstance(error, TooManyRequests) else None
        delay = self.queue.add_rate_limited(key, now, at_least_seconds=asked or 0.0)
        self._runtime.metrics.retries.labels(self.controller.name).inc()
        expected = isinstance(error, ShardError)
        context.log.warning("failed, next try in %.3g s: %r", delay, error, exc_info=None if expected else error)
        return "conflict" if isinstance(error, Conflict) else "error"


def _checked(result: object) -> Result | None:
    """Raises TypeError for what no reconcile may return."""
    if result is None or isinstance(result, Result):
        return result
    raise TypeError(f"a reconcile returns a Result or nothing, not {type(result).__name__}")
