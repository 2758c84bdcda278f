"""Which keys have destructive acts that the breaker pauses, shown in a metric and on the objects themselves."""

from __future__ import annotations

import asyncio
import logging

from shards.authoring.context import Context
from shards.errors import ShardError
from shards.keyrange import KeyRange
from shards.objects import Key
from shards.ownership.degraded import RETRY_SECONDS, marked
from shards.ownership.fence import Fence
from shards.runtime import WorkerRuntime

log = logging.getLogger(__name__)

MARK_SECONDS = 2.0
"""Longest time for one mark: it holds a worker slot, of a server that may be in trouble."""

_ENDED_WELL = ("success", "requeue", "requeue_after")


class Pauses:
    """Of one controller in one shard."""

    def __init__(self, runtime: WorkerRuntime, controller: str, shard: KeyRange) -> None:
        self._runtime = runtime
        self._gauge = runtime.metrics.acts.degraded.labels(controller, str(shard))

    async def after(self, fence: Fence, key: Key, context: Context, outcome: str) -> float:
        """A run of the key has ended, and may still write. Raises nothing that concerns the mark only.

        Returns after how many seconds the key has to run again, because a mark is still to be cleared; 0.0 for never.
        """
        degraded, paused = fence.degraded, bool(context.paused)
        over = outcome in _ENDED_WELL or (outcome == "terminal" and context.gone)
        ended_well = over and not paused
        # A reconcile that reads its primary as a Struct shows no conditions.
        shown = key in degraded.keys or context.acted or marked(context.own_conditions)
        if not paused and not (ended_well and shown):
            return 0.0
        now = self._runtime.clock()
        first_try = degraded.keys.setdefault(key, now) if paused else now
        marked_well = True
        if not degraded.off and first_try <= now:
            marked_well = await self._mark(fence, key, context, cleared=ended_well)
        again = ended_well and not marked_well
        if again:
            degraded.keys[key] = now  # a run that reads no conditions would not know of the mark
        elif ended_well:
            degraded.keys.pop(key, None)
        self._gauge.set(len(degraded.keys))
        return RETRY_SECONDS if again else 0.0

    async def _mark(self, fence: Fence, key: Key, context: Context, *, cleared: bool) -> bool:
        """Whether nothing is left to be written."""
        try:
            async with asyncio.timeout(MARK_SECONDS):
                await context.client.mark(cleared=cleared)
                return True
        except (ShardError, TimeoutError) as error:
            if fence.degraded.failed(key, error, self._runtime.clock()):
                log.warning("%s objects are not marked while acts are paused: %s", fence.controller, error)
                return True
            context.log.info("its mark as degraded is not written: %r", error)
            return False
