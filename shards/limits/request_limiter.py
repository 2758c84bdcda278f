"""What one worker may ask of the API server: a rate of its own, and its part of the fleet's.

Whoever asks waits here, in the order of arrival, before anything is sent. Leases, map and whatever else ownership hangs
on never come here: they use the transport itself, so that no backlog can cost a worker its membership.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shards.api.client import JSON, Query, Transport
from shards.api.request_meters import NO_METERS, RequestMeters
from shards.clock import Clock
from shards.limits.breaker import TokenBucket
from shards.settings import ClientSettings

PART_SECONDS = 1.0
"""Of its part of the fleet's budget, what a worker may send at once after a quiet time."""

DEMAND_SECONDS = 1.5
"""Over which it is measured, at least: a worker may have to report twice in a row."""

HEADROOM = 1.25
"""What a worker needs of the budget, over what it sends: who has exactly that waits at every little burst."""

HELD_BACK = 2.0
"""The same where requests had to wait: how much would be sent without a limit is not known, and found out in steps."""


class RequestLimiter:
    """Lets requests through at the rates of the settings. Lives on one event loop; without a limit it costs nothing.

    Invariant: `_waiting` is in order of arrival, and while it is not empty `_timer` is set, or the part is 0.
    """

    def __init__(self, settings: ClientSettings, clock: Clock, meters: RequestMeters = NO_METERS) -> None:
        self._clock = clock
        self._meters = meters
        self._own: TokenBucket | None = None
        self._part: TokenBucket | None = None
        self._fleet_rate: float | None = None
        self._own_rate: float | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.part = 1.0
        """What this worker may use of the fleet's budget."""
        self._sent = 0
        self._held_back = False
        self._demand, self._demand_at = 0.0, clock()
        self.change(settings)

    def change(self, settings: ClientSettings) -> None:
        """Other limits from now on, or none. What waits already is let through as they say."""
        now, part = self._clock(), self.part
        self._own_rate, self._fleet_rate = settings.requests_per_second, settings.fleet_requests_per_second
        self._own = _changed(self._own, self._own_rate, settings.burst_requests, 1.0, now)
        self._part = _changed(self._part, self._fleet_rate, _part_burst((self._fleet_rate or 0.0) * part), part, now)
        self._buckets = [bucket for bucket in (self._own, self._part) if bucket is not None]
        self._let_through()

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return sum(not each.done() for each in self._waiting)

    @property
    def rate(self) -> float:
        """Requests per second that may be sent as things are; 0.0 without a limit."""
        rates = [self._own_rate] if self._own_rate is not None else []
        if self._fleet_rate is not None:
            rates.append(self._fleet_rate * self.part)
        return min(rates, default=0.0)

    def share(self, part: float) -> None:
        """So much of the fleet's budget from now on, 0 to 1. What waits already is let through at the new rate; with
        nothing of it, nothing is."""
        if part == self.part:
            return
        self.part = part
        if self._part is not None and self._fleet_rate is not None:
            rate = self._fleet_rate * part
            self._part.change(rate, _part_burst(rate), self._clock())
            self._let_through()

    def demand(self) -> float | None:
        """What part of the fleet's budget this worker needs, by what it sent lately; None without one.

        It rises at once, and falls by halves: a quiet moment between two bursts says little.
        """
        if self._fleet_rate is None:
            return None
        now = self._clock()
        passed = now - self._demand_at
        if passed >= DEMAND_SECONDS:
            factor = HELD_BACK if self._held_back or self.waiting else HEADROOM
            latest = factor * (self._sent / passed + self.waiting) / self._fleet_rate
            self._demand = max(latest, (self._demand + latest) / 2)
            self._sent, self._held_back, self._demand_at = 0, False, now
        return self._demand

    async def take(self, method: str) -> None:
        """Returns when a request may be sent. It is counted then. Whoever is cancelled here takes nothing."""
        if not self._buckets:
            return
        began = self._clock()
        if self._waiting or not self._taken(began):
            self._held_back = True
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            self._let_through()
            await turn
        self._meters.waited(method, self._clock() - began)

    def measure(self) -> None:
        """Sets the gauges."""
        self._meters.limited(self.waiting, self.rate)

    def _taken(self, now: float) -> bool:
        if self._shut or any(bucket.wait(now) for bucket in self._buckets):
            return False
        self._sent += 1
        return all(bucket.take(now) for bucket in self._buckets)

    @property
    def _shut(self) -> bool:
        return self._fleet_rate is not None and self.part <= 0

    def _let_through(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock()
        while self._waiting:
            if self._waiting[0].done():  # cancelled
                self._waiting.popleft()
            elif self._taken(now):
                self._waiting.popleft().set_result(None)
            elif self._shut:
                return
            else:
                wait = max(bucket.wait(now) for bucket in self._buckets)
                self._timer = asyncio.get_running_loop().call_later(wait, self._let_through)
                return


def _changed(
    bucket: TokenBucket | None, rate: float | None, burst: float, part: float, now: float
) -> TokenBucket | None:
    """The bucket for a part of that rate, with what is in it; a new one is full."""
    if rate is None:
        return None
    if bucket is None:
        bucket = TokenBucket(rate, burst, now)
    bucket.change(rate * part, burst, now)
    return bucket


def _part_burst(rate: float) -> float:
    return max(1.0, rate * PART_SECONDS)


class LimitedTransport(Transport):
    """A transport whose requests and watches wait for their turn. A timeout begins when the turn has come."""

    def __init__(self, inner: Transport, limiter: RequestLimiter) -> None:
        self._inner = inner
        self._limiter = limiter

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        accept: str = JSON,
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        """As in Transport."""
        await self._limiter.take(method)
        return await self._inner.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            user_agent=user_agent,
            accept=accept,
            timeout_seconds=timeout_seconds,
            not_after=not_after,
        )

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """As in Transport."""
        await self._limiter.take("GET")
        async with self._inner.stream(
            path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds
        ) as chunks:
            yield chunks

    async def close(self) -> None:
        await self._inner.close()
