"""Where `stale_replica` sends requests: the front ends of a server by name, and how stale the fault makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from typing import Protocol

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.words import StaleReplica
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from shards.errors import ConfigError

Forward = Callable[[Request], Awaitable[Answer]]
"""What carries a request out."""


class Staleness(Protocol):
    """One reason for which a cache is behind."""

    def end(self) -> None:
        """It catches up, unless there are others. Idempotent."""


class Cache(Protocol):
    """The watch cache of a front end of ours."""

    def stale(self, *, lag_seconds: float = 0.0, frozen: bool = False) -> Staleness: ...


class Replicas:
    """routes, caches: of the front ends, by name; an upstream that is not ours has no cache.

    make: adds a further front end of that name to both; None where there can be no other.
    """

    def __init__(self) -> None:
        self.routes: dict[str, Forward] = {}
        self.caches: dict[str, Cache] = {}
        self.make: Callable[[str], None] | None = None
        self._made: list[str] = []
        self._used: dict[int, str] = {}
        """Names of made ones, by the id of the injection that uses them."""
        self._stale: dict[int, Staleness] = {}

    def check(self, fault: StaleReplica) -> None:
        """Raises ConfigError."""
        known = ", ".join(sorted(self.routes)) or "none"
        if not fault.replica:
            if self.make is None:
                raise ConfigError("replica", f"this field is required here; known are: {known}")
            return
        if fault.replica not in self.routes:
            raise ConfigError("replica", f"there is no front end {fault.replica!r}; known are: {known}")
        if fault.stale and fault.replica not in self.caches:
            field = "frozen" if fault.frozen else "lag_seconds"
            raise ConfigError(field, f"only front ends of an embedded server can be made stale, not {fault.replica!r}")

    def of(self, injection: Injection, fault: StaleReplica) -> Forward:
        """What carries out the requests that the fault moves."""
        return self.routes[self._name(injection, fault)]

    def follow(self, present: Iterable[Injection], now: float) -> None:
        """Makes caches as stale as the faults want them that are in their time. present: all that are not released."""
        moving = [(each, each.fault) for each in present if isinstance(each.fault, StaleReplica)]
        if not (moving or self._used or self._stale):
            return
        wanted = {each.id for each, fault in moving if fault.stale and each.lasts(now)}
        for number in [each for each in self._stale if each not in wanted]:
            self._stale.pop(number).end()
        there = {each.id for each, _ in moving}
        self._used = {number: name for number, name in self._used.items() if number in there}
        for each, fault in moving:
            if each.id in wanted and each.id not in self._stale:
                cache = self.caches[self._name(each, fault)]
                self._stale[each.id] = cache.stale(lag_seconds=fault.lag_seconds, frozen=fault.frozen)

    def _name(self, injection: Injection, fault: StaleReplica) -> str:
        if fault.replica:
            return fault.replica
        if injection.id not in self._used:
            free = [each for each in self._made if each not in self._used.values()]
            self._used[injection.id] = free[0] if free else self._another()
        return self._used[injection.id]

    def _another(self) -> str:
        if self.make is None:
            raise ConfigError("replica", "there is no other front end")
        # Other front ends make some too, and those are known here.
        name = next(each for number in count(1) if (each := f"stale-{number}") not in self.routes)
        self.make(name)
        self._made.append(name)
        return name
