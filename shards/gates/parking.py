"""The keys that a gate holds back, and when each is looked at again. PURE."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from shards.gates.own_writes import Blocked
from shards.objects import Key, Resource

FIRST_PROBE_SECONDS = 0.1
LONGEST_PROBE_SECONDS = 5.0
TICK_SECONDS = 0.001
"""A look this much too early counts as due: sums of floating-point seconds would ask for a look in 1e-13 s."""


@dataclass(slots=True)
class Parked:
    """One key that is held back. due: when it is looked at again, though nothing moved. Times in boot seconds.

    probes: looks that were due. skips: all of them, each of which would have been a reconcile.
    """

    blocked: Blocked
    since: float
    due: float
    probes: int = 0
    skips: int = 0


@dataclass(slots=True)
class Parking:
    """The keys that a gate holds back, and when to look at each again. No failure is counted and no slot is taken.

    A key that runs on what was read live, while its view still lags, is no news when it is parked again: its looks go
    on at the distance that they had reached, so that it costs one live read a LONGEST_PROBE_SECONDS in the end, however
    often it is to run.

    Invariant: _on[resource] holds exactly the keys in `keys` whose blocked.resources contain it.
    """

    rng: random.Random
    keys: dict[Key, Parked] = field(default_factory=dict)
    _on: dict[Resource, dict[Key, None]] = field(default_factory=dict)
    _lagging: dict[Key, int] = field(default_factory=dict)
    """Looks so far of the keys that run without their views having caught up."""

    def __len__(self) -> int:
        return len(self.keys)

    def oldest_since(self) -> float | None:
        """Since when the key waits that has been held back longest; None: none is."""
        return next((each.since for each in self.keys.values()), None)

    def park(self, key: Key, blocked: Blocked, now: float) -> float:
        """Holds the key back. Returns the seconds (above zero) until it must be looked at again, whatever happens.

        The delay doubles from 100 ms to 5 s with each look that was due, not with looks that an event caused.
        """
        parked = self.keys.get(key)
        if parked is None:
            probes = self._lagging.pop(key, 0)
            parked = self.keys[key] = Parked(blocked, now, now + self._delay(probes), probes)
        elif now >= parked.due - TICK_SECONDS:
            parked.probes += 1
            parked.due = now + self._delay(parked.probes)
        self._unlink(key, parked.blocked)
        parked.blocked = blocked
        parked.skips += 1
        for resource in blocked.resources:
            self._on.setdefault(resource, {})[key] = None
        return parked.due - now

    def pause(self, key: Key, now: float, at_least_seconds: float = 0.0) -> None:
        """A live read for the key failed: the next look is a long delay away, or as far as the server asked for.
        Without effect on a key that was freed meanwhile."""
        parked = self.keys.get(key)
        if parked is not None:
            parked.due = now + max(self._delay(64), at_least_seconds)

    def release(self, key: Key, *, lagging: bool = False) -> None:
        """The key may run. lagging: though its views have not caught up."""
        parked = self.keys.pop(key, None)
        if parked is not None:
            self._unlink(key, parked.blocked)
            if lagging:
                self._lagging[key] = parked.probes

    def caught_up(self, key: Key) -> None:
        """The key's views show all that it waits for."""
        if self._lagging:
            self._lagging.pop(key, None)

    def sweep(self, waits: Callable[[Key], bool]) -> None:
        """Forgets keys that wait for nothing any more: they may never run again."""
        for key in [key for key in self._lagging if not waits(key)]:
            del self._lagging[key]

    def on(self, resource: Resource) -> tuple[Key, ...]:
        """The keys that progress of this resource could free."""
        return tuple(self._on.get(resource, ()))

    def _unlink(self, key: Key, blocked: Blocked) -> None:
        for resource in blocked.resources:
            keys = self._on.get(resource)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._on[resource]

    def _delay(self, probes: int) -> float:
        return min(FIRST_PROBE_SECONDS * 2.0 ** min(probes, 10), LONGEST_PROBE_SECONDS) * self.rng.uniform(0.8, 1.0)
