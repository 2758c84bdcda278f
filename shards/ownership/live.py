"""Live reads: quorum reads of single objects, within a budget, reported to the circuit breaker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from shards.api.client import Query, Transport
from shards.clock import Clock
from shards.errors import ApiError, NotFound, NotReadyYet, Unreachable
from shards.journal import NO_JOURNAL, Journal, Note
from shards.keyrange import slot_of
from shards.limits.breaker import Breaker, Budget, Cause
from shards.metrics import ShardMetrics
from shards.objects import SLOT_LABEL, Key, Object, ObjectName, Resource
from shards.ownership.view import controller_uid
from shards.settings import GateSettings

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
"""A live read that takes longer is worth less than the next one."""

PATIENCE_SECONDS = 1.0
"""Longest wait for the budget while a reconcile holds a worker slot."""

_BURST_SECONDS = 4.0
_TROUBLE = (401, 408, 429)
"""Answers below 500 that mean that nothing can be asked at present. Others, such as 403, concern one resource only, and
must not pause what the controller does to the others."""

_GATE, _RECONCILE = 0, 1
"""Kinds of reads. Keys that only a read can free, and reconciles that read: neither can starve the other."""


@dataclass(slots=True)
class Guards:
    """What bounds one controller on one worker, over all its shards."""

    budget: Budget
    breaker: Breaker

    @classmethod
    def of(cls, settings: GateSettings, now: float) -> Guards:
        return cls(Budget(*_rate_and_burst(settings), now), Breaker(settings.breaker))

    def change(self, settings: GateSettings, now: float) -> None:
        """Other limits from now on; what was counted so far stays counted."""
        self.budget.change(*_rate_and_burst(settings), now)
        self.breaker.change(settings.breaker)


def in_trouble(error: ApiError | Unreachable) -> bool:
    """Whether nothing can be asked of the server at present."""
    return isinstance(error, Unreachable) or error.status >= 500 or error.status in _TROUBLE


def _rate_and_burst(settings: GateSettings) -> tuple[float, float]:
    rate = settings.live_reads_per_second
    return rate, max(2.0, rate * _BURST_SECONDS)


class LiveReader:
    """Reads objects from the server for one controller."""

    def __init__(
        self,
        transport: Transport,
        guards: Guards,
        clock: Clock,
        metrics: ShardMetrics,
        controller: str,
        journal: Journal = NO_JOURNAL,
        shard: str = "",
        asking: Callable[[str], None] = lambda purpose: None,
    ) -> None:
        """shard: by which its reads are counted. asking: told the purpose of each request before it is sent."""
        self.guards = guards
        self._transport = transport
        self._clock = clock
        self._metrics = metrics
        self._controller = controller
        self._journal = journal
        self._shard = shard
        self._asking = asking
        guards.breaker.on_change = self._changed  # of all shards of a worker one tells, whichever came last
        for cause in Cause:
            metrics.acts.openings.labels(controller, cause)
        self._show_breaker()

    def refuse_destructive(self) -> str | None:
        """Why no destructive act may be prepared now; None when one may."""
        return self.guards.breaker.refusal(self._clock())

    def admit_destructive(self) -> str | None:
        """None when a destructive act may be sent now (the breaker counts it); else why not."""
        return self.guards.breaker.admit(self._clock())

    def affordable(self) -> bool:
        """Whether the gate may read now, without waiting; it is paid for if so."""
        return self.guards.budget.take(_GATE, self._clock())

    def unaffordable(self) -> None:
        """The gate could not read: that is counted too."""
        self._count("gate", "over_budget")

    async def get(
        self, resource: Resource, name: ObjectName, *, purpose: str, user_agent: str = "", subresource: str = ""
    ) -> Object | None:
        """The object as the server has it now; None when the server says that it is not there.

        Waits for the budget up to PATIENCE_SECONDS. Raises NotReadyYet when that is not enough, ApiError, Unreachable.
        """
        budget = self.guards.budget
        wait = budget.reserve(_RECONCILE, self._clock(), PATIENCE_SECONDS)
        if wait is None:
            self._count(purpose, "over_budget")
            seconds = budget.wait(_RECONCILE, self._clock())
            raise NotReadyYet(f"live reads of {self._controller} are over their budget for {seconds:.1f} s")
        if wait:
            await asyncio.sleep(wait)
        return await self.read(resource, name, purpose=purpose, user_agent=user_agent, subresource=subresource)

    async def read(
        self, resource: Resource, name: ObjectName, *, purpose: str, user_agent: str = "", subresource: str = ""
    ) -> Object | None:
        """The same, for a read that is paid for."""
        try:
            path = resource.path(name.namespace, name.name, subresource)
            answer = await self._ask(path, (), purpose, user_agent)
        except NotFound as error:
            if not error.reason:
                # No Status object: some other server's or a proxy's 404, which says nothing about the object.
                raise
            self._answered(purpose, "absent")
            return None
        found: Object = msgspec.json.decode(answer)
        self._answered(purpose, "found")
        return found

    async def children(self, resource: Resource, key: Key, *, purpose: str, user_agent: str = "") -> list[Object]:
        """The objects that the key controls, as the server has them now, for a read that is paid for.

        Those whose slot label somebody removed are missing. Raises ApiError, Unreachable.
        """
        query = (("labelSelector", f"{SLOT_LABEL}={slot_of(key.uid)}"),)
        found = msgspec.json.decode(await self._ask(resource.path(key.namespace), query, purpose, user_agent))
        self._answered(purpose, "found")
        # Items of a list come without what the list says once.
        head = {"kind": found["kind"].removesuffix("List"), "apiVersion": found["apiVersion"]}
        return [{**head, **each} for each in found["items"] if controller_uid(each) == key.uid]

    async def _ask(self, path: str, query: Query, purpose: str, user_agent: str) -> bytes:
        self._asking(purpose)
        try:
            return await self._transport.request(
                "GET", path, query=query, user_agent=user_agent, timeout_seconds=TIMEOUT_SECONDS
            )
        except ApiError as error:
            if not (isinstance(error, NotFound) and error.reason):
                self._failed(purpose, server_in_trouble=in_trouble(error))
            raise
        except Unreachable:
            self._failed(purpose, server_in_trouble=True)
            raise

    def _answered(self, purpose: str, result: str) -> None:
        self.guards.breaker.read_succeeded(self._clock())
        self._count(purpose, result)

    def _failed(self, purpose: str, *, server_in_trouble: bool) -> None:
        if server_in_trouble:
            self.guards.breaker.read_failed(self._clock())
        self._count(purpose, "failed")

    def _show_breaker(self) -> None:
        breaker = self.guards.breaker
        self._metrics.acts.breaker_open.labels(self._controller).set(1 if breaker.opened else 0)

    def _changed(self, cause: Cause | None) -> None:
        self._show_breaker()
        if cause is None:
            log.warning("destructive acts of %s go on", self._controller)
            return
        self._metrics.acts.openings.labels(self._controller, cause).inc()
        log.warning("destructive acts of %s are paused: %s", self._controller, self.guards.breaker.reason)

    def _count(self, purpose: str, result: str) -> None:
        self._metrics.live_reads.labels(self._controller, purpose, result, self._shard).inc()
        if self._journal.on:
            note = Note("live", self._clock(), controller=self._controller, outcome=result, cause=purpose)
            self._journal.write(note)
