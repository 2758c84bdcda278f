"""One reconcile of one key: calls the author's function, and decides when the key runs again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from inspect import isawaitable
from typing import Any

from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result
from shards.errors import (
    BreakerOpen,
    Conflict,
    ConflictingOwner,
    NotOwner,
    NotReadyYet,
    ShardError,
    TerminalError,
    asked_seconds,
)
from shards.journal import Note
from shards.keyrange import KeyRange
from shards.objects import Key
from shards.ownership.fence import Fence
from shards.ownership.overlay import Live
from shards.ownership.view import Place, View, Views
from shards.queue.failing_keys import FailingKeys
from shards.queue.sentences import clause, sentence
from shards.queue.waiting_keys import WaitingKeys, WaitsFor
from shards.queue.workqueue import WorkQueue
from shards.reconciling.pauses import Pauses
from shards.reconciling.run_timer import RunTimer
from shards.reconciling.threads import in_thread
from shards.runtime import WorkerRuntime

CONFLICT_SECONDS = 0.1
"""Retry after a conflict on a resource without a view; with one, the gate decides by a live read."""

PATIENT_CONFLICTS = 10
"""Conflicts in a row of one key after which they count as failures: something works against it."""

NOT_READY_SECONDS = (0.25, 5.0)
"""First and longest retry of a key that has to wait for something; in between it doubles. No failure is counted."""

OWNER_SECONDS = 1.0
PATIENT_OWNERS = 30
SETTLED_OWNER_SECONDS = 10.0
"""Retry while somebody else's object has the name of a child: constant and short while it may be the child of a
predecessor that is being collected, then longer, because each try costs a create and a live read."""

BREAKER_SECONDS = 5.0
LOST_SECONDS = 1.0
"""Retry of a key whose tenure was over: in case it was not, because a late renewal was acknowledged after all."""


class Reconciler:
    """Runs the function of one controller for keys of one shard. No outcome of one key touches another one.

    closing: whether the shard is being drained; what is cancelled then is not tried again here.
    Invariant: what is kept of a key (failing, waiting, _conflicts, _memories) is dropped when it succeeds without its
    object.
    """

    def __init__(
        self,
        controller: Controller,
        shard: KeyRange,
        runtime: WorkerRuntime,
        stores: Views,
        queue: WorkQueue[Key],
        closing: Callable[[], bool],
    ) -> None:
        self._controller = controller
        self._shard = shard
        self._shard_name = shard.short
        self._runtime = runtime
        self._stores = stores
        self._queue = queue
        self._closing = closing
        self.failing = FailingKeys()
        self.waiting = WaitingKeys()
        self.timer = RunTimer()
        self._pauses = Pauses(runtime, controller.name, shard)
        self._conflicts: dict[Key, int] = {}
        """Conflicts in a row."""
        self._memories: dict[Key, dict[str, Any]] = {}
        """What authors keep between runs. No empty ones."""

    def waits(self, task: asyncio.Task[None], since: float) -> None:
        """The run of the task, begun at that reading of the clock, waits for something: from now on it is timed.

        Before its first wait nothing could cancel it.
        """
        if not self._controller.plain:
            self.timer.begin(task, self._timeout_seconds - (self._runtime.clock() - since))

    @property
    def _timeout_seconds(self) -> float:
        return self._controller.reconcile_timeout_seconds or self._runtime.settings.queue.reconcile_timeout_seconds

    async def run(self, fence: Fence, key: Key, overlay: Mapping[Place, Live] | None) -> str:
        """Calls the author's function. Returns how it ended, for the metrics; the key is queued again where needed."""
        view = View(self._controller.primary, key, self._stores, overlay)
        memory = self._memories.get(key, {})
        context = Context(Request(key.namespace, key.name, key.uid), fence, view, self._shard_name, memory)
        try:
            outcome = await self._ran(fence, key, context, overlay or {})
            if context.acts_matter or fence.degraded.keys:
                seconds = await self._pauses.after(fence, key, context, outcome)
                if seconds:
                    self._queue.add_after(key, seconds, self._runtime.clock())
            return outcome
        finally:
            # Whoever kept the client writes no more: the next reconcile of the key may be running.
            context.revoke("the reconcile has ended")
            if memory and not self._is_gone(key):
                self._memories[key] = memory
            else:
                self._memories.pop(key, None)

    async def _ran(self, fence: Fence, key: Key, context: Context, read: Collection[Place]) -> str:
        """read: what was read live for it."""
        seconds = self._timeout_seconds
        late = self._controller.plain
        try:
            if self._controller.plain:
                call, request = self._controller.call, context.request
                if read:
                    await context.client.relabel(read)
                result = _checked(await in_thread(self._runtime.threads(), call, context, request, seconds))
            else:
                task = asyncio.current_task()
                assert task is not None, "what is timed runs in a task"
                try:
                    result = await self._awaited(context, read)
                finally:
                    late = self.timer.end(task)
                if late:
                    # It swallowed its cancellation: what it says about a run that was cut short counts for nothing.
                    raise TimeoutError
            return self._succeeded(fence, key, context, result)
        except asyncio.CancelledError as error:
            if self._closing():
                raise
            running = asyncio.current_task()
            if running is None or not running.cancelling():
                # Nobody but the timer cancelled this run; else something that it waited for was cancelled.
                return self._timed_out(key, context, seconds) if late else self._failed(fence, key, context, error)
            self._queue.add_after(key, LOST_SECONDS, self._runtime.clock())
            return "cancelled"
        except TimeoutError as error:
            return self._timed_out(key, context, seconds) if late else self._failed(fence, key, context, error)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            # An author's function may raise anything, and libraries exit; it must cost no other key.
            return self._failed(fence, key, context, error)

    def _timed_out(self, key: Key, context: Context, seconds: float) -> str:
        context.log.warning("took longer than %g s and was cancelled", seconds)
        self.waiting.over(key)
        self.failing.failed(key, TimeoutError(), self._runtime.clock())
        self._retry_later(key)
        return "timeout"

    async def _awaited(self, context: Context, read: Collection[Place]) -> Result | None:
        if read:
            await context.client.relabel(read)
        outcome = self._controller.call(context, context.request)
        return _checked(await outcome if isawaitable(outcome) else outcome)

    def _succeeded(self, fence: Fence, key: Key, context: Context, result: Result | None) -> str:
        self._conflicts.pop(key, None)
        self.failing.succeeded(key)
        if not context.sent_back or self._is_gone(key):
            fence.redecided.pop(key, None)
        if result is not None and result.requeue:
            self.waiting.waits(key, WaitsFor.AGAIN, "its reconcile asks to run again", self._runtime.clock())
            self._retry_later(key)
            return "requeue"
        if not context.paused:
            self.waiting.over(key)
        self._queue.forget(key)
        self._go_on(key, context)
        if result is not None and result.requeue_after_seconds:
            self._queue.add_after(key, result.requeue_after_seconds, self._runtime.clock())
            return "requeue_after"
        return "success"

    def _go_on(self, key: Key, context: Context) -> None:
        """An act that was sent back or paused is not done, though the author caught what said so and all is well."""
        now = self._runtime.clock()
        if context.paused:
            self.waiting.waits(key, WaitsFor.BREAKER, clause(context.paused), now)
            self._queue.add_after(key, BREAKER_SECONDS, now)
        elif context.sent_back:
            self._queue.add_after(key, CONFLICT_SECONDS, now)

    def _failed(self, fence: Fence, key: Key, context: Context, error: BaseException) -> str:
        """Decides the retry. What the fleet causes is retried soon; what the key causes backs off."""
        now = self._runtime.clock()
        veil = context.veil() or str
        asked = asked_seconds(error)
        if asked:
            self._queue.pause(key, asked, now)
        if isinstance(error, TerminalError):
            self._conflicts.pop(key, None)
            self.waiting.over(key)
            self._queue.forget(key)
            if self._is_gone(key):
                self.failing.succeeded(key)
                fence.redecided.pop(key, None)
            else:
                self.failing.failed(key, error, now, terminal=True, veil=veil)
            context.log.error("cannot succeed until the object changes: %s", error)
            return "terminal"
        if isinstance(error, NotOwner):
            self._queue.add_after(key, LOST_SECONDS, now)
            return "not_owner"
        if isinstance(error, BreakerOpen):
            times = self.waiting.waits(key, WaitsFor.BREAKER, clause(veil(str(error))), now)
            # Thousands of keys may be paused, and try every few seconds: the breaker has told why, once.
            context.log.log(logging.INFO if times == 1 else logging.DEBUG, "%s", error)
            self._queue.add_after(key, BREAKER_SECONDS, now)
            return "breaker_open"
        if isinstance(error, NotReadyYet):
            context.log.info("waits: %s", error)
            times = self.waiting.waits(key, WaitsFor.READINESS, clause(veil(str(error))), now)
            seconds = error.after_seconds
            if seconds is None:
                seconds = self._patience(times, owner=isinstance(error, ConflictingOwner))
            self._queue.add_after(key, seconds, now)
            return "not_ready"
        if isinstance(error, Conflict):
            self._conflicts[key] = self._conflicts.get(key, 0) + 1
            if self._conflicts[key] <= PATIENT_CONFLICTS:
                gated = not fence.writes.shown(key, self._stores)
                self._queue.add_after(key, 0.0 if gated else CONFLICT_SECONDS, now)
                return "conflict"
        self.failing.failed(key, error, now, veil=veil)
        if asked and not self.failing.lasts(key):
            self.waiting.waits(key, WaitsFor.SERVER, f"it asked for {asked:g} s: {sentence(error, veil)}", now)
        else:
            self.waiting.over(key)
        delay = self._retry_later(key, asked)
        expected = isinstance(error, ShardError)
        context.log.warning("failed, next try in %.3g s: %r", delay, error, exc_info=None if expected else error)
        return "conflict" if isinstance(error, Conflict) else "error"

    def _is_gone(self, key: Key) -> bool:
        """Whether the view does not show the object; a successor under its name is another one."""
        return self._stores[self._controller.primary].name_of(key.uid) is None

    def _retry_later(self, key: Key, asked: float = 0.0) -> float:
        """Counts against the key, and queues it with its delay. Returns that. asked: seconds, by a server."""
        now, queue = self._runtime.clock(), self._runtime.settings.queue
        failures = self._queue.failures(key)
        delay = self._queue.add_rate_limited(key, now, at_least_seconds=asked)
        if self._runtime.journal.on and not self._closing():
            name, covered = self._controller.name, str(self._shard)
            note = Note("retry", now, "", name, covered, key=str(key), uid=key.uid, count=failures, seconds=delay)
            own = self._queue.backoff_seconds(failures)
            note.figures = {
                "base": queue.base_delay_seconds,
                "longest": queue.max_delay_seconds,
                "asked": delay if delay > own else asked,
            }
            self._runtime.journal.write(note)
        return delay

    def _patience(self, waits: int, *, owner: bool) -> float:
        """Seconds until a key that is not ready is tried again. waits: how often in a row it was not."""
        if owner:
            seconds = OWNER_SECONDS if waits <= PATIENT_OWNERS else SETTLED_OWNER_SECONDS
        else:
            first, longest = NOT_READY_SECONDS
            seconds = min(first * 2.0 ** min(waits - 1, 10), longest)
        return seconds * self._runtime.rng.uniform(0.8, 1.0)


def _checked(result: object) -> Result | None:
    """Raises TypeError for what no reconcile may return."""
    if result is None or isinstance(result, Result):
        return result
    raise TypeError(f"a reconcile returns a Result or nothing, not {type(result).__name__}")
