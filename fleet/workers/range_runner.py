"""One range on one worker: carries out what `fleet.rules.handover` decides, one action at a time.

The runner owns the shard object, the tenure and the tasks; `fleet.workers.worker` owns the membership that all runners
share.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from fleet.processes.exitcodes import EX_DEADLINE
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.records.record import Holder, ShardRecord, Standby
from fleet.rules.handover import Action, LocalShard, Phase, Seen, claimed, decide, released
from fleet.workers.held_range import HeldRange
from fleet.workers.range_diary import RangeDiary
from fleet.workers.runner_context import RunnerContext
from shards.errors import NotOwner, Undrained
from shards.gates.watermark import Watermark
from shards.keyrange import KeyRange
from shards.ownership.tenure import Tenure

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2
"""Pause after an action that failed, with jitter."""

CLOSE_SECONDS = 30.0
"""How much longer views may take to close where nothing can act on them any more."""

REOPEN_SECONDS = 30.0
"""Longest pause before a range that failed to open is opened again, before jitter."""


class RangeRunner(HeldRange):
    """`local` is what `decide` sees; the rest is machinery.

    Invariants: a tenure that has not ended exists exactly while acts may happen; it ends before a release is written,
    and with the member epoch of its claim. `_views` are the tasks that open the shard; a reset cancels all of them.

    waits: the last evaluation found an action whose time had not come. stuck: it cannot be drained, and waits for the
    end of the process.
    """

    def __init__(self, each: KeyRange, context: RunnerContext) -> None:
        super().__init__(each)
        self.context = context
        self.tenure: Tenure | None = None
        self._watermark: Watermark | None = None
        self._views: set[asyncio.Task[None]] = set()
        self._retry_at = 0.0
        self._failures = 0
        self._reopen_at = 0.0
        self.waits = False
        self.stuck = False
        self._diary = RangeDiary(each, context.member, context.clock, context.tell)

    # -- deciding ---------------------------------------------------------------------------------------------------

    def evaluate(self, seen: Seen) -> None:
        """Start the next action, unless one is under way. Dropping interrupts whatever runs."""
        action = decide(self.local, seen)
        due = action is not None and self._task is None
        self.waits = due and action is not None and self.context.clock() < self._not_before(action)
        if action is Action.DROP:
            self.drop("its record or its map says so")
        elif action is not None and due and not self.waits:
            self._claiming = action is Action.CLAIM
            if self._claiming and seen.record is not None:
                self._diary.seen_free(seen.record)
            self._start(self._act(action, seen))

    def _not_before(self, action: Action) -> float:
        return max(self._retry_at, self._reopen_at) if action in (Action.CLAIM, Action.OPEN_STANDBY) else self._retry_at

    def drop(self, why: str) -> None:
        """Stop at once, without a release: somebody else decides about this range now."""
        interrupted = self._task
        if self._dropping or (self.local.phase is Phase.IDLE and interrupted is None):
            return
        self._dropping = True
        self.end_tenure()
        self._diary.dropped(self.local.epoch, why)
        if interrupted is not None:
            interrupted.cancel()
        self._start(self._reset(interrupted))

    def end_tenure(self) -> None:
        """From here on nothing more is sent for this range."""
        if self.tenure is not None:
            self.tenure.end()

    async def rest(self, grace_seconds: float) -> None:
        """The process is about to end: what runs here ends in order. The record goes on naming this incarnation."""
        if self.shard is not None:
            with suppress(Undrained):
                await self.shard.drain(grace_seconds)

    async def settled(self) -> None:
        """Returns when no action is under way."""
        while self._task is not None:
            await asyncio.wait([self._task])

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(work, name=f"range {self.range.short}")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task, self._claiming = None, False
        if not task.cancelled() and (error := task.exception()) is not None:
            self._retry_at = self.context.clock() + RETRY_SECONDS * (0.5 + self.context.rng.random())
            if isinstance(error, CasConflict):
                log.info("range %s: its record moved, looking again", self.range.short)
            elif isinstance(error, CoordinationUnavailable):
                log.warning("range %s: no answer (%s)", self.range.short, error)
            else:
                log.error("range %s: %s", self.range.short, error, exc_info=error)
        self.context.wake()

    # -- acting -----------------------------------------------------------------------------------------------------

    async def _act(self, action: Action, seen: Seen) -> None:
        assert seen.me is not None, "decide acts for members only"
        if action is Action.OPEN_STANDBY:
            self.local.phase = Phase.STANDBY
            self._diary.standby_opened(seen.record)
            self._in_background(self._prewarm(self.local))
        elif action is Action.CLOSE_STANDBY:
            await self._close(seen)
        elif action is Action.DRAIN:
            await self._drain(seen)
        else:
            assert seen.record is not None, f"decide asks for {action} only where there is a record"
            writes = {
                Action.CLAIM: self._claim,
                Action.RENOUNCE: self._renounce,
                Action.ANNOUNCE: self._announce,
                Action.WITHDRAW: self._withdraw,
                Action.RELEASE: self._release,
            }
            await writes[action](seen.record, seen.me)

    async def _claim(self, record: ShardRecord, me: Holder) -> None:
        stored = await self._write(claimed(record, me), me)
        self.local.phase, self.local.epoch, self.local.uid = Phase.OWNED, stored.epoch, stored.uid
        until = partial(self.context.deadline, me.epoch)
        self.tenure = Tenure(me.member, me.epoch, self.range, stored.epoch, until)
        watermark = record.watermark if record.holder is None else None
        self._diary.claimed(record, stored, me, watermark=watermark is not None)
        self._in_background(self._activate(self.tenure, watermark, record.epoch, tuple(self._views)))

    async def _renounce(self, record: ShardRecord, me: Holder) -> None:
        """A claim whose answer was lost, for a range that is not this member's any more. It never acted on it."""
        await self._write(released(record, None), me)
        self._diary.renounced(record.epoch)

    async def _announce(self, record: ShardRecord, me: Holder) -> None:
        await self._write(replace(record, standby=Standby(me, record.epoch)), me)
        self._diary.announced(record)

    async def _withdraw(self, record: ShardRecord, me: Holder) -> None:
        await self._write(replace(record, standby=None), me)
        self._diary.withdrawn(record, "there is no synced standby behind it, or not for long")

    async def _close(self, seen: Seen) -> None:
        standing_by = self.local.phase is Phase.STANDBY
        await self._reset()
        if standing_by:
            target = seen.map.target_of(self.range) if seen.map is not None else None
            moved = f"its target is {target or 'nobody'}" if target != self.context.member else ""
            self._diary.standby_closed("its member leaves" if seen.leaving else moved)

    async def _write(self, new: ShardRecord, me: Holder) -> ShardRecord:
        """Over the version that the record carries, and only while this incarnation may act."""
        deadline = self.context.deadline(me.epoch)
        return await self.context.coordination.write_shard(new, new.version, not_after=deadline)

    async def _drain(self, seen: Seen) -> None:
        """R4. A shard whose gate never opened leaves no watermark: its view had not reached its predecessor's."""
        self._diary.draining(self.local.epoch, seen)
        was_open = self.shard is not None and self.shard.open
        await self._cancel_views()
        watermark = None
        if self.shard is not None:
            try:
                watermark = await self.shard.drain(self.context.drain_seconds)
            except Undrained as error:
                self.context.last_words(f"range {self.range.short} cannot be drained ({error}): the process ends")
                # Its tenure is over: what cannot be cancelled may think, but send nothing.
                self.stuck = True
                await self.context.die_in_order(EX_DEADLINE)
                raise
        self.end_tenure()
        self._watermark = watermark if was_open else None
        self.local.phase = Phase.DRAINED
        self._diary.drained(self.local.epoch)

    async def _release(self, record: ShardRecord, me: Holder) -> None:
        await self._write(released(record, self._watermark, self._diary.draining_seconds), me)
        self._diary.released(record.epoch)
        self.local = LocalShard(self.range)
        await self._reset()

    async def _reset(self, interrupted: asyncio.Task[None] | None = None) -> None:
        """Back to idle. What cannot be stopped in time ends the process, before somebody else may act (R2).

        interrupted: an action that was cancelled, and may still be ending. Where nothing could act, it is waited for
        longer: to end the process would cost its other ranges.
        """
        acting = self.local.phase is Phase.OWNED
        self.end_tenure()
        stopping = asyncio.create_task(self._stop(interrupted), name=f"stop of {self.range.short}")
        try:
            done, _ = await asyncio.wait((stopping,), timeout=self.context.stop_seconds)
            if not done and not acting:
                log.warning("range %s takes longer than %g s to close", self.range.short, self.context.stop_seconds)
                done, _ = await asyncio.wait((stopping,), timeout=CLOSE_SECONDS)
            if not done:
                raise TimeoutError
            stopping.result()
        except Exception as error:  # whatever it was, the shard has not said that it stopped
            self.context.last_words(f"range {self.range.short} does not stop ({error!r}): the process ends")
            if acting:
                self.context.die(EX_DEADLINE)
            else:
                self.stuck = True
                await self.context.die_in_order(EX_DEADLINE)
            raise
        finally:
            stopping.cancel()
        self.local = LocalShard(self.range)
        self.shard, self.tenure, self._watermark = None, None, None
        self._dropping = False

    async def _stop(self, interrupted: asyncio.Task[None] | None) -> None:
        if interrupted is not None and not interrupted.done():
            await asyncio.wait([interrupted])
        await self._cancel_views()
        if self.shard is not None:
            await self.shard.stop()

    # -- the view, in the background --------------------------------------------------------------------------------

    async def _prewarm(self, local: LocalShard) -> None:
        shard = self.shard = self.context.make_shard(self.range)
        await shard.prewarm()
        local.synced = True
        self._diary.standby_synced()

    async def _activate(
        self,
        tenure: Tenure,
        watermark: Watermark | None,
        previous_epoch: int,
        prewarming: tuple[asyncio.Task[None], ...],
    ) -> None:
        for task in prewarming:
            await task
        if self.shard is None:
            self.shard = self.context.make_shard(self.range)
        await self.shard.activate(tenure, watermark, previous_epoch=previous_epoch)
        self._failures = 0
        self._diary.open(tenure.shard_epoch)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"view of {self.range.short}")
        self._views.add(task)
        task.add_done_callback(self._view_ended)

    def _view_ended(self, task: asyncio.Task[None]) -> None:
        current = task in self._views
        self._views.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and current:
            self._failed_to_open(error)
        self.context.wake()

    def _failed_to_open(self, error: BaseException) -> None:
        """Back to idle, and open again later and later: each attempt costs a claim and a list."""
        pause = min(REOPEN_SECONDS, RETRY_SECONDS * 2.0**self._failures) * (0.5 + self.context.rng.random())
        self._reopen_at = self.context.clock() + pause
        if not isinstance(error, NotOwner):  # which says nothing about the shard
            self._failures += 1
            log.error("range %s failed to open: %s", self.range.short, error, exc_info=error)
        self.drop(f"it did not open ({error})")

    async def _cancel_views(self) -> None:
        tasks, self._views = self._views, set()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
