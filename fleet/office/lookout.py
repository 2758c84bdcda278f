"""A pod's lookout: whether every key has a living owner, and no key has two, as records and workers say.

Every agent keeps one, candidates and others, so that the alarm needs no coordinator, no map and no particular pod. It
decides nothing and writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from fleet.health.metrics import FleetMetrics
from fleet.records.coordination import (
    Coordination,
    CoordinationUnavailable,
    CoordinationView,
    MapUnreadable,
    ProtocolMismatch,
)
from fleet.records.record import MemberRecord, ShardMap, ShardRecord
from fleet.rules.coverage import Coverage
from fleet.rules.double_owners import DoubleOwners
from shards.clock import Clock

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Between two looks at a view that is followed anyway."""

CONFIRM_SECONDS = 10.0
"""Between two live reads: of everything where nothing is followed, and of a view that nothing has confirmed."""

BLIND_SECONDS = 25.0
"""A lookout that has not been able to look for so long says nothing about owners, and that it is blind."""


class Records(NamedTuple):
    """What there is to see. confirmed_at: reading at which it was current."""

    map: ShardMap | None
    shards: tuple[ShardRecord, ...]
    members: Mapping[str, MemberRecord]
    confirmed_at: float


class Lookout:
    """`run` looks until cancelled; the rest says what was seen.

    view: of a candidate, which follows members too; None anywhere else. workers: asks the pod's own workers what they
    hold, as `Worker.status` tells it.
    """

    def __init__(
        self,
        coordination: Coordination,
        *,
        view: Callable[[], CoordinationView | None],
        workers: Callable[[], Awaitable[Iterable[Mapping[str, Any]]]],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._coordination = coordination
        self._view = view
        self._workers = workers
        self._clock = clock
        self._rng = rng
        self._last_map: ShardMap | None = None
        self._coverage = Coverage()
        self._double_owners = DoubleOwners()

    @property
    def sees(self) -> bool:
        """Whether what is said here is known to be true of the last seconds."""
        return self._clock() - self._coverage.seen_at <= BLIND_SECONDS

    @property
    def unowned_seconds(self) -> float:
        """For which the key that has waited longest has had no owner; not a number where nobody can know."""
        return self._coverage.longest(self._clock()) if self.sees else float("nan")

    @property
    def unowned_share(self) -> float:
        """Part of the hash space without an owner, 0 to 1; not a number where nobody can know."""
        return self._coverage.share if self.sees else float("nan")

    @property
    def double_owners(self) -> int:
        """Findings of two owners of one key in the last two minutes."""
        return len(self._double_owners.found)

    def measure(self, metrics: FleetMetrics) -> None:
        """Sets the gauges of this agent."""
        metrics.longest_unowned.set(self.unowned_seconds)
        metrics.unowned_share.set(self.unowned_share)
        metrics.ownership_seen.set(int(self.sees))
        metrics.double_owners.set(self.double_owners)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            pause = CONFIRM_SECONDS * (0.8 + 0.4 * self._rng.random())
            try:
                view = self._view()
                if view is not None:
                    pause = LOOK_SECONDS
                    if self._clock() - view.confirmed_at > CONFIRM_SECONDS:
                        await view.confirm()
                    await self.look(_shown(view))
                    if self._coverage.doubtful:
                        await view.confirm()
                        await self.look(_shown(view))
                else:
                    await self.look(await self._read())
            except (CoordinationUnavailable, ProtocolMismatch) as error:
                # Soon enough not to be blind after one failure; every pod has a lookout, and the server enough to do.
                pause = max(pause / 2, LOOK_SECONDS)
                log.info("the lookout cannot see: %s", error)
            except Exception:  # whatever it is, the alarm must not end with it
                log.exception("the lookout")
            await asyncio.sleep(pause)

    async def look(self, records: Records | None) -> None:
        """One look. None: there is nothing to see yet."""
        if records is None:
            return
        claims = self._coverage.observe(
            records.map, records.shards, records.members, confirmed_at=records.confirmed_at, now=self._clock()
        )
        by_range = {each.range: each for each in records.shards}
        workers = await self._workers()
        for each in self._double_owners.look(claims, records.members, by_range, workers, self._clock()):
            log.critical("two owners: %s", each.what)

    async def _read(self) -> Records:
        began = self._clock()
        try:
            stored = await self._coordination.read_map()
        except (MapUnreadable, ProtocolMismatch):
            stored = None
        self._last_map = stored.map if stored is not None else self._last_map
        shards = await self._coordination.list_shards()
        members = {each.name: each for each in await self._coordination.list_members()}
        return Records(self._last_map, tuple(shards), members, began)


def _shown(view: CoordinationView) -> Records | None:
    if not view.synced:
        return None
    last = view.last_map
    shard_map = last.map if last is not None else None
    return Records(shard_map, tuple(view.shards.values()), view.members, view.confirmed_at)
