"""How a worker lets go of everything: in order on SIGTERM, and in as much order as time allows when it must end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from fleet.records.record import ShardMap
from fleet.rules.handover import Phase
from fleet.workers.range_runner import RangeRunner
from fleet.workers.worker_settings import WorkerSettings
from shards.clock import Clock
from shards.keyrange import KeyRange

log = logging.getLogger(__name__)

REST_SECONDS = 1.0
"""How long the process of a range that cannot be drained goes on, so that reconciles of others end and are not cut off.
All ranges of the worker are without an owner from its end until it has started again: that time comes on top."""

MARGIN_SECONDS = 0.5
"""Before the deadline: the time that the process needs to die, and its sockets to be reset."""


class Departure:
    """leaving: SIGTERM has come. It does not end again."""

    def __init__(
        self,
        settings: WorkerSettings,
        runners: Mapping[KeyRange, RangeRunner],
        *,
        until: Callable[[], float],
        clock: Clock,
        die: Callable[[int], Any],
        wake: Callable[[], None],
    ) -> None:
        """until: boot-clock reading up to which the worker may act. wake: asks it to evaluate its ranges again."""
        self._settings = settings
        self._runners = runners
        self._until = until
        self._clock = clock
        self._die = die
        self._wake = wake
        self._since: float | None = None
        self._pressed = False
        self._empty = asyncio.Event()
        """Nothing is held but by what is stuck, as of the last look."""

    @property
    def leaving(self) -> bool:
        return self._since is not None

    def begin(self) -> None:
        self._since = self._clock()

    def forced(self, shard_map: ShardMap | None) -> bool:
        """Whether ranges are released without a standby."""
        if self._since is None:
            return False
        leaving_for = self._clock() - self._since
        return self._pressed or leaving_for > self._settings.leave_seconds or self._alone(shard_map, leaving_for)

    def _alone(self, shard_map: ShardMap | None, leaving_for: float) -> bool:
        """Nobody else could take over, as far as the map knows: a leaving member need not wait for standbys."""
        nobody = shard_map is not None and set(shard_map.targets) <= {self._settings.name, ""}
        return nobody and leaving_for > 2 * self._settings.renew_seconds

    def looked(self) -> None:
        """All ranges have been evaluated."""
        if all(each.stuck or not each.holding for each in self._runners.values()):
            self._empty.set()
        else:
            self._empty.clear()

    async def die_in_order(self, code: int) -> None:
        """A range cannot be drained, because what runs in it cannot be cancelled: the process ends, and the range is
        not released. Reconciles of its other ranges end first, for up to a second; a worker that leaves anyhow
        releases them as well.
        """
        end_by = min(self._clock() + REST_SECONDS, self._until() - MARGIN_SECONDS)
        if self.leaving:
            self._pressed = True
            self._empty.clear()  # until the look that this asks for
            self._wake()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(end_by - self._clock(), 0.0)):
                    await self._empty.wait()
        else:
            others = [each for each in self._runners.values() if each.local.phase is Phase.OWNED and not each.busy]
            grace = max(end_by - self._clock(), 0.0)
            for ended in await asyncio.gather(*(each.rest(grace) for each in others), return_exceptions=True):
                if isinstance(ended, Exception):  # whatever it was, the process must end
                    log.error("a range did not come to rest: %s", ended, exc_info=ended)
        self._die(code)
