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
from fleet.devcluster.wire.requests import Request

Witness = Callable[[str, Word, Request | None], None]
"""Told of what happens: fault, fault-end, lost, late, refused, truncated or hidden; the fault; the request if any."""

F = TypeVar("F", bound=Fault)


def loop_seconds() -> float:
    """The running loop's clock; 0 where none runs, which serves for faults that look at no time."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0


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
        self._waiters: list[asyncio.Future[float]] = []
        self._timers: dict[int, list[asyncio.TimerHandle]] = {}
        """Of the injections whose time has not come, or is not over, by id."""

    def __iter__(self) -> Iterator[Injection]:
        return iter(tuple(self.injections))

    def add(self, fault: Word, end: Callable[[Injection], None]) -> Injection:
        """end: what the injection's release does."""
        timed = fault.from_seconds > 0 or fault.until_seconds is not None
        self._numbers += 1
        since = loop_seconds() if timed else -math.inf
        injection = Injection(self._numbers, fault, since, end)
        self.injections.append(injection)
        self.tell("fault", fault)
        if timed:
            self._set_timers(injection)
        self._changed()
        return injection

    def _set_timers(self, injection: Injection) -> None:
        def turn(mark: Callable[[], None]) -> None:
            mark()
            self._changed()

        loop = asyncio.get_running_loop()
        timers = self._timers[injection.id] = []
        if injection.fault.from_seconds > 0:
            timers.append(loop.call_at(injection.begins_at, turn, injection.begin))
        if injection.ends_at < math.inf:
            timers.append(loop.call_at(injection.ends_at, turn, injection.finish))

    def remove(self, injection: Injection) -> None:
        injection.released = True
        for timer in self._timers.pop(injection.id, ()):
            timer.cancel()
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
        return injection.strikes(loop_seconds(), self.rng)

    def tell(self, what: str, fault: Word, request: Request | None = None) -> None:
        if self.witness is not None:
            self.witness(what, fault, request)

    async def next_change(self, due: float = math.inf) -> float:
        """Waits for the next change, or until it is `due`; answers what time it is, which is then `due` at least.

        Those who wait go on in the order in which they came.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[float] = loop.create_future()
        self._waiters.append(waiter)
        timer = None if due == math.inf else loop.call_at(due, _go_on, waiter, due)
        try:
            return max(await waiter, loop.time())
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


def _go_on(waiter: asyncio.Future[float], reached: float = -math.inf) -> None:
    """reached: the time that has come at least, as a timer may fire a rounding error early."""
    if not waiter.done():
        waiter.set_result(reached)
