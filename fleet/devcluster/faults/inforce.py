"""The faults in force, who of a request is struck, and waiting for a fault to end."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.match import Asked
from fleet.devcluster.faults.words import Fault, Word
from fleet.devcluster.requests import Request

Witness = Callable[[str, Word, Request | None], None]
"""Told of what happens: fault, fault-end, lost, late, refused, truncated or hidden; the fault; the request if any."""

F = TypeVar("F", bound=Fault)


def _always(fault: Fault) -> bool:
    return True


class InForce:
    """Injections in their order. Time is the running loop's.

    on_change: called when one comes, goes, or enters or leaves its time. witness: see `Witness`.
    """

    def __init__(self, rng: random.Random, on_change: Callable[[], None]) -> None:
        self.injections: list[Injection] = []
        self.witness: Witness | None = None
        self.rng = rng
        self._on_change = on_change
        self._numbers = 0
        self._waiters: list[asyncio.Future[None]] = []

    def __iter__(self) -> Iterator[Injection]:
        return iter(tuple(self.injections))

    def add(self, fault: Word, end: Callable[[Injection], None]) -> Injection:
        """end: what the injection's release does."""
        timed = fault.from_seconds > 0 or fault.until_seconds is not None
        self._numbers += 1
        since = asyncio.get_running_loop().time() if timed else -math.inf
        injection = Injection(self._numbers, fault, since, end)
        self.injections.append(injection)
        self.tell("fault", fault)
        for seconds in (fault.from_seconds, fault.until_seconds or 0.0):
            if seconds > 0:
                asyncio.get_running_loop().call_later(seconds, self._changed)
        self._changed()
        return injection

    def remove(self, injection: Injection) -> None:
        injection.released = True
        self.injections.remove(injection)
        self.tell("fault-end", injection.fault)
        self._changed()

    def any(self, kinds: tuple[type[Fault], ...], asked: Asked) -> bool:
        """Whether a fault of those kinds may strike what was asked."""
        return any(isinstance(each.fault, kinds) and each.fault.match.admits(asked) for each in self.injections)

    def striking(
        self, kind: type[F], asked: Asked, when: Callable[[F], bool] = _always
    ) -> Iterator[tuple[Injection, F]]:
        """The faults of that kind that strike what was asked; each is counted as it is given. when: which of them."""
        for each in tuple(self.injections):
            fault = each.fault
            if isinstance(fault, kind) and when(fault) and fault.match.admits(asked) and self.decide(each):
                yield each, fault

    def strike(self, kind: type[F], asked: Asked, when: Callable[[F], bool] = _always) -> F | None:
        """The first of them."""
        return next((fault for _, fault in self.striking(kind, asked, when)), None)

    def decide(self, injection: Injection) -> bool:
        return injection.strikes(asyncio.get_running_loop().time(), self.rng)

    def tell(self, what: str, fault: Word, request: Request | None = None) -> None:
        if self.witness is not None:
            self.witness(what, fault, request)

    async def next_change(self, seconds: float = math.inf) -> None:
        """Waits for the next change, for so long at most. Those who wait go on in the order in which they came."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        timer = None if seconds == math.inf else loop.call_later(seconds, _go_on, waiter)
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _changed(self) -> None:
        waiters, self._waiters = self._waiters, []
        for each in waiters:
            _go_on(each)
        self._on_change()


def _go_on(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
