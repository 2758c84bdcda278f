"""Live reads: quorum reads of single objects, within a budget, reported to the circuit breaker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from shards.breaker import Breaker, BreakerSettings, BreakerState, TokenBucket
from shards.client import Transport
from shards.clock import Clock
from shards.errors import ApiError, NotFound, NotReadyYet, Unreachable
from shards.metrics import ShardMetrics
from shards.objects import Object, ObjectName, Resource
from shards.settings import GateSettings

TIMEOUT_SECONDS = 10.0
"""A live read that takes longer is worth less than the next one."""

PATIENCE_SECONDS = 1.0
"""Longest wait for the budget while a reconcile holds a worker slot."""

_BURST_SECONDS = 4.0


@dataclass(slots=True)
class Guards:
    """What bounds one controller on one worker, over all its shards."""

    bucket: TokenBucket
    breaker: Breaker

    @classmethod
    def of(cls, settings: GateSettings, now: float) -> Guards:
        rate = settings.live_reads_per_second
        return cls(TokenBucket(rate, max(1.0, rate * _BURST_SECONDS), now), Breaker(BreakerSettings()))


class LiveReader:
    """Reads objects from the server for one controller."""

    def __init__(
        self, transport: Transport, guards: Guards, clock: Clock, metrics: ShardMetrics, controller: str
    ) -> None:
        self.guards = guards
        self._transport = transport
        self._clock = clock
        self._metrics = metrics
        self._controller = controller

    def admit_destructive(self) -> str | None:
        """None when a destructive act may begin now (the breaker counts it); else why not."""
        refusal = self.guards.breaker.admit(self._clock())
        self._show_breaker()
        return refusal

    def affordable(self) -> bool:
        """Whether a read may be made now, without waiting; it is paid for if so."""
        return self.guards.bucket.take(self._clock())

    async def get(self, resource: Resource, name: ObjectName, *, purpose: str, user_agent: str = "") -> Object | None:
        """The object as the server has it now; None when the server says that it is not there.

        Waits for the budget up to PATIENCE_SECONDS. Raises NotReadyYet when that is not enough, ApiError, Unreachable.
        """
        while not self.guards.bucket.take(self._clock()):
            wait = self.guards.bucket.wait(self._clock())
            if wait > PATIENCE_SECONDS:
                self._count(purpose, "over_budget")
                raise NotReadyYet(f"live reads of {self._controller} are over their budget for {wait:.1f} s")
            await asyncio.sleep(wait)
        return await self.read(resource, name, purpose=purpose, user_agent=user_agent)

    async def read(self, resource: Resource, name: ObjectName, *, purpose: str, user_agent: str = "") -> Object | None:
        """The same, for a read that is paid for."""
        try:
            answer = await self._transport.request(
                "GET",
                resource.path(name.namespace, name.name),
                user_agent=user_agent,
                timeout_seconds=TIMEOUT_SECONDS,
            )
        except NotFound as error:
            if not error.reason:
                # No Status object: some other server's or a proxy's 404, which says nothing about the object.
                self._failed(purpose)
                raise
            self._answered(purpose, "absent")
            return None
        except (ApiError, Unreachable):
            self._failed(purpose)
            raise
        self._answered(purpose, "found")
        found: Object = msgspec.json.decode(answer)
        return found

    def _answered(self, purpose: str, result: str) -> None:
        self.guards.breaker.read_succeeded(self._clock())
        self._show_breaker()
        self._count(purpose, result)

    def _failed(self, purpose: str) -> None:
        self.guards.breaker.read_failed(self._clock())
        self._show_breaker()
        self._count(purpose, "failed")

    def _show_breaker(self) -> None:
        closed = self.guards.breaker.state(self._clock()) is BreakerState.CLOSED
        self._metrics.breaker_open.labels(self._controller).set(0 if closed else 1)

    def _count(self, purpose: str, result: str) -> None:
        self._metrics.live_reads.labels(self._controller, purpose, result).inc()
