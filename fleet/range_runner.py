"""One range on one worker: carries out what `fleet.handover` decides, one action at a time.

The runner owns the shard object, the tenure and the tasks; `fleet.worker` owns the membership that all runners share.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol

from fleet.coordination import (
    CasConflict,
    Coordination,
    CoordinationUnavailable,
    Holder,
    ShardLoad,
    ShardRecord,
    Standby,
)
from fleet.exitcodes import EX_DEADLINE
from fleet.handover import Action, LocalShard, Phase, Seen, claimed, decide, still_mine
from shards.clock import Clock
from shards.errors import Undrained
from shards.keyrange import KeyRange
from shards.tenure import Tenure
from shards.watermark import Watermark

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2
"""Pause after an action that failed, with jitter."""


class OwnedShard(Protocol):
    """What the worker needs of `shards.shard.Shard`."""

    @property
    def open(self) -> bool: ...

    async def prewarm(self) -> None: ...

    async def activate(self, tenure: Tenure, watermark: Watermark | None, *, previous_epoch: int) -> None: ...

    async def drain(self, grace_seconds: float) -> Watermark: ...

    async def stop(self) -> None: ...

    def load(self) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What all runners of a worker share.

    deadline: boot-clock reading until which the member may act. drain_seconds: how long running reconciles may go on in
    a drain before they are cancelled. stop_seconds: how long a stop may take before the process must end (R2).
    die: ends the process at once. wake: asks the worker to evaluate again.
    """

    coordination: Coordination
    make_shard: Callable[[KeyRange], OwnedShard]
    deadline: Callable[[], float]
    drain_seconds: float
    stop_seconds: float
    clock: Clock
    rng: random.Random
    die: Callable[[int], Any]
    wake: Callable[[], None]


class RangeRunner:
    """`local` is what `decide` sees; the rest is machinery.

    Invariant: a tenure that has not ended exists exactly while acts may happen; it ends before a release is written.
    """

    def __init__(self, each: KeyRange, context: RunnerContext) -> None:
        self.range = each
        self.context = context
        self.local = LocalShard(each)
        self.shard: OwnedShard | None = None
        self.tenure: Tenure | None = None
        self.takeovers = 0
        self._watermark: Watermark | None = None
        self._task: asyncio.Task[None] | None = None
        self._background: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._dropping = False

    @property
    def holding(self) -> bool:
        """Whether anything of this range may still be acting or named in a record."""
        return self._dropping or self.local.phase in (Phase.OWNED, Phase.DRAINED)

    @property
    def busy(self) -> bool:
        return self._task is not None

    def status(self) -> dict[str, Any]:
        return {
            "phase": self.local.phase.value,
            "open": self.shard is not None and self.shard.open,
            "epoch": self.local.epoch,
            **(self.shard.load() if self.shard is not None else {}),
        }

    def load(self) -> ShardLoad | None:
        """For the member record; None while the range is not held."""
        if self.shard is None or not self.holding:
            return None
        load = self.shard.load()
        return ShardLoad(
            objects=int(load["objects"]),
            queue_depth=int(load["queue_depth"]),
            parked=int(load["parked"]),
            reconciles_per_second=round(load["reconciles_per_second"], 3),
            reconcile_seconds_per_second=round(load["reconcile_seconds_per_second"], 3),
        )

    # -- deciding ---------------------------------------------------------------------------------------------------

    def evaluate(self, seen: Seen) -> None:
        """Start the next action, unless one is under way. Dropping interrupts whatever runs."""
        action = decide(self.local, seen)
        if action is Action.DROP:
            self.drop("its record or its map says so")
        elif action is not None and self._task is None and self.context.clock() >= self._retry_at:
            self._start(self._act(action, seen))

    def drop(self, why: str) -> None:
        """Stop at once, without a release: somebody else decides about this range now."""
        if self._dropping or self.local.phase is Phase.IDLE:
            return
        log.warning("dropping %s: %s", self.range.short, why)
        self._dropping = True
        self.end_tenure()
        if self._task is not None:
            self._task.cancel()
        self._start(self._reset())

    def end_tenure(self) -> None:
        """From here on nothing more is sent for this range."""
        if self.tenure is not None:
            self.tenure.end()

    async def settled(self) -> None:
        """Returns when no action is under way."""
        while self._task is not None:
            await asyncio.wait([self._task])

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(work, name=f"range {self.range.short}")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task = None
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
            self._in_background(self._prewarm())
        elif action is Action.CLOSE_STANDBY:
            await self._reset()
        elif action is Action.DRAIN:
            await self._drain()
        else:
            assert seen.record is not None, f"decide asks for {action} only where there is a record"
            write = {Action.CLAIM: self._claim, Action.ANNOUNCE: self._announce, Action.RELEASE: self._release}[action]
            await write(seen.record, seen.me)

    async def _claim(self, record: ShardRecord, me: Holder) -> None:
        context = self.context
        stored = await context.coordination.write_shard(
            claimed(record, me), record.version, not_after=context.deadline()
        )
        if record.holder is not None:
            self.takeovers += 1
        local = self.local
        local.phase, local.epoch, local.uid, local.announced = Phase.OWNED, stored.epoch, stored.uid, None
        self.tenure = Tenure(me.member, me.epoch, self.range, stored.epoch, until=context.deadline)
        watermark = record.watermark if record.holder is None else None
        log.info("claimed %s at epoch %d%s", self.range.short, stored.epoch, ", with a watermark" if watermark else "")
        self._in_background(self._activate(self.tenure, watermark, record.epoch, self._background))

    async def _announce(self, record: ShardRecord, me: Holder) -> None:
        standby = replace(record, standby=Standby(me, record.epoch))
        await self.context.coordination.write_shard(standby, record.version, not_after=self.context.deadline())
        self.local.announced = record.epoch

    async def _drain(self) -> None:
        """R4. A shard whose gate never opened leaves no watermark: its view had not reached its predecessor's."""
        was_open = self.shard is not None and self.shard.open
        await self._cancel_background()
        watermark = None
        if self.shard is not None:
            try:
                watermark = await self.shard.drain(self.context.drain_seconds)
            except Undrained as error:
                log.critical("range %s cannot be drained (%s): the process ends", self.range.short, error)
                self.context.die(EX_DEADLINE)
                raise
        self.end_tenure()
        self._watermark = watermark if was_open else None
        self.local.phase = Phase.DRAINED

    async def _release(self, record: ShardRecord, me: Holder) -> None:
        if not still_mine(self.local, record, me):
            return
        mark = replace(self._watermark, epoch=record.epoch) if self._watermark is not None else None
        released = replace(record, holder=None, holder_text="", released=record.epoch, watermark=mark)
        await self.context.coordination.write_shard(released, record.version, not_after=self.context.deadline())
        log.info("released %s at epoch %d", self.range.short, record.epoch)
        await self._reset()

    async def _reset(self) -> None:
        """Back to idle. What cannot be stopped in time ends the process, before somebody else may act (R2)."""
        self.end_tenure()
        try:
            async with asyncio.timeout(self.context.stop_seconds):
                await self._cancel_background()
                if self.shard is not None:
                    await self.shard.stop()
        except (TimeoutError, Undrained) as error:
            log.critical("range %s does not stop (%s): the process ends", self.range.short, error)
            self.context.die(EX_DEADLINE)
            raise
        self.local = LocalShard(self.range)
        self.shard, self.tenure, self._watermark = None, None, None
        self._dropping = False

    # -- the view, in the background --------------------------------------------------------------------------------

    async def _prewarm(self) -> None:
        self.shard = self.context.make_shard(self.range)
        await self.shard.prewarm()
        self.local.synced = True

    async def _activate(
        self,
        tenure: Tenure,
        watermark: Watermark | None,
        previous_epoch: int,
        prewarming: asyncio.Task[None] | None,
    ) -> None:
        if prewarming is not None:
            await prewarming
        if self.shard is None:
            self.shard = self.context.make_shard(self.range)
        await self.shard.activate(tenure, watermark, previous_epoch=previous_epoch)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        self._background = asyncio.create_task(work, name=f"view of {self.range.short}")
        self._background.add_done_callback(self._background_ended)

    def _background_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and self._background is task:
            log.error("range %s failed to open: %s", self.range.short, error, exc_info=error)
            self.drop("it failed to open")
        self.context.wake()

    async def _cancel_background(self) -> None:
        task, self._background = self._background, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
