"""Which reconciles run now, told to whoever remembers it when this process dies."""

from __future__ import annotations

from typing import Protocol

from shards.objects import Key


class InFlight(Protocol):
    """`fleet.processes.flights.Flights` is the one that remembers. Called for every reconcile: without a system call,
    and in about a microsecond."""

    def begins(self, controller: str, key: Key, generation: int, now: float) -> int:
        """The reconcile of the key begins. generation: of the object's spec, 0 where it is not known. Returns a number
        for `ended`; a negative one: it is not remembered."""
        ...

    def ended(self, number: int, *, cancelled: bool) -> None:
        """That reconcile is over, and this process has survived it. cancelled: it did not come to its own end."""
        ...


class NoFlights:
    """Nobody remembers."""

    def begins(self, controller: str, key: Key, generation: int, now: float) -> int:
        return -1

    def ended(self, number: int, *, cancelled: bool) -> None: ...


NO_FLIGHTS: InFlight = NoFlights()
