"""Memory that outlives a worker: which reconciles were running when it died.

Anonymous shared memory, made before the fork, as for heartbeats. A slot for each reconcile that may run at once; a
table of lengths in front of the texts says which slots are taken, so that whoever reads touches no page in vain. A slot
is taken by one store after its text is complete: whatever interrupts the writer, a reader sees all of it or nothing.

When the whole pod dies, this memory goes with it.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass

from shards.objects import Key

SLOTS = 1024
"""As many as queue.maxConcurrentReconciles may be. A page of memory is used only once something was written in it."""

SLOT_BYTES = 640
"""A controller, a namespace and a name of Kubernetes (63, 63 and 253 bytes) and a UID, with room to spare."""

_HEAD = struct.Struct("=dq")
"""since, generation."""
_TEXT_BYTES = SLOT_BYTES - _HEAD.size
_WRITE = struct.Struct(f"=dq{_TEXT_BYTES}s")
_COUNTED = SLOTS
"""Index, behind the lengths, of the word by which a child says that its predecessors' deaths are counted."""
_TABLE_BYTES = 8 * (SLOTS + 1)
FLIGHTS_BYTES = _TABLE_BYTES + SLOTS * SLOT_BYTES


@dataclass(frozen=True, slots=True)
class Flight:
    """One reconcile that was running. generation: of its object's spec, 0 where unknown. since: boot-clock reading."""

    controller: str
    key: Key
    generation: int
    since: float


@dataclass(frozen=True, slots=True)
class Death:
    """One end of a worker with reconciles in flight. name: of the incarnation, so that nobody counts it twice. ended:
    how, in words. words: its last ones. at: seconds since 1970."""

    name: str
    flights: tuple[Flight, ...]
    ended: str
    words: str
    at: float


class Flights:
    """One child's memory: it writes, its supervisor reads once it is dead. In the child it lives on one event loop.

    keep_cancelled: whether a reconcile that others cancelled stays on record. It does in a worker that leaves because
    its memory is full: what had to be cancelled for it may be what filled it.
    """

    def __init__(self, memory: memoryview) -> None:
        """memory: FLIGHTS_BYTES of shared, writable memory."""
        if len(memory) != FLIGHTS_BYTES:
            raise ValueError(f"flights need {FLIGHTS_BYTES} bytes, not {len(memory)}")
        self.keep_cancelled = False
        self._memory = memory
        self._lengths = memory[:_TABLE_BYTES].cast("Q")
        self._free = list(reversed(range(SLOTS)))  # the lowest first: the fewest pages

    # -- in the child ------------------------------------------------------------------------------------------------

    def begins(self, controller: str, key: Key, generation: int, now: float) -> int:
        """Takes a slot. Negative where there is none, or where the text is longer than any that Kubernetes allows."""
        text = f"{controller}\n{key.namespace}\n{key.name}\n{key.uid}".encode()
        if not self._free or len(text) > _TEXT_BYTES:
            return -1
        slot = self._free.pop()
        _WRITE.pack_into(self._memory, _TABLE_BYTES + slot * SLOT_BYTES, now, generation, text)
        self._lengths[slot] = len(text)
        return slot

    def ended(self, number: int, *, cancelled: bool) -> None:
        if number >= 0 and not (cancelled and self.keep_cancelled):
            self._lengths[number] = 0
            self._free.append(number)

    def counted(self) -> None:
        """What this child was told of its predecessors' deaths is written where it lasts."""
        self._lengths[_COUNTED] = 1

    # -- in the supervisor -------------------------------------------------------------------------------------------

    @property
    def are_counted(self) -> bool:
        return bool(self._lengths[_COUNTED])

    def read(self) -> tuple[Flight, ...]:
        """What is in flight, or was when the child died.

        Whatever the memory holds: a child whose C code writes where it likes may have spoilt it before it died, and
        must not take its supervisor along. What makes no sense is left out.
        """
        taken = (self._flight(slot, length) for slot, length in enumerate(self._lengths[:SLOTS]) if length)
        return tuple(flight for flight in taken if flight is not None)

    def clear(self) -> None:
        """Before the next incarnation is forked."""
        for slot, length in enumerate(self._lengths):
            if length:
                self._lengths[slot] = 0

    def _flight(self, slot: int, length: int) -> Flight | None:
        start = _TABLE_BYTES + slot * SLOT_BYTES
        since, generation = _HEAD.unpack_from(self._memory, start)
        text = bytes(self._memory[start + _HEAD.size : start + _HEAD.size + min(length, _TEXT_BYTES)])
        parts = text.decode("utf-8", "replace").split("\n")
        if len(parts) != 4:
            return None
        controller, namespace, name, uid = parts
        return Flight(controller, Key(namespace, name, uid), max(generation, 0), since)


def shared_flights(count: int) -> list[Flights]:
    """For so many children, in shared anonymous memory. Call it before the first fork."""
    memory = memoryview(mmap.mmap(-1, max(count, 1) * FLIGHTS_BYTES))
    return [Flights(memory[i * FLIGHTS_BYTES : (i + 1) * FLIGHTS_BYTES]) for i in range(count)]


MOST_DEATHS = 20
"""That are kept for a child that never gets to count them; the oldest go."""


class DeathBook:
    """What the supervisor keeps of one child's deaths until an incarnation says that they are counted."""

    def __init__(self, flights: Flights) -> None:
        self.flights = flights
        self._uncounted: tuple[Death, ...] = ()

    def died(self, name: str, ended: str, words: str, at: float) -> None:
        """The child is dead, and reaped. Arguments as of Death."""
        if self.flights.are_counted:
            self._uncounted = ()
        if flights := self.flights.read():
            self._uncounted = (*self._uncounted, Death(name, flights, ended, words, at))[-MOST_DEATHS:]
        self.flights.clear()

    def for_the_next(self) -> tuple[Death, ...]:
        """What the next incarnation is told."""
        return self._uncounted
