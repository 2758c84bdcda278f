"""Memory that a child shares with its supervisor: a heartbeat, a deadline, and last words.

The supervisor is the second line behind a worker's own watchdog thread: a C extension that never lets go of the
interpreter lock stops that thread, but not the supervisor. The memory is anonymous and made before the fork, so it
needs no file, no name and no clean-up, and what a child wrote outlives it.
"""

from __future__ import annotations

import mmap
import struct

SLOT_BYTES = 1024
_BEAT, _DEADLINE = 0, 1  # index in doubles
_WORDS_OFFSET = 16
_WORDS_LENGTH = struct.Struct("=I")
WORDS_BYTES_MAX = SLOT_BYTES - _WORDS_OFFSET - _WORDS_LENGTH.size

IDLE_STALE_SECONDS = 15.0
"""Longer than machines stand still that go on as if nothing had happened, shorter than people take to notice."""


class Heartbeat:
    """One child's slot. Times are boot-clock seconds.

    One writer (the child), one reader (the supervisor). Every number is one aligned eight-byte store, so that a reader
    never sees half of it; the two numbers may belong to two different beats, which is harmless: each only grows.
    """

    def __init__(self, memory: memoryview) -> None:
        """memory: SLOT_BYTES of shared, writable memory."""
        if len(memory) != SLOT_BYTES:
            raise ValueError(f"a slot has {SLOT_BYTES} bytes, not {len(memory)}")
        self._bytes = memory
        self._numbers = memory.cast("d")

    def beat(self, now: float, deadline: float) -> None:
        """The loop is alive at `now`, and the child may act until `deadline`: minus infinity while it is no member,
        infinity where nobody is to expect another beat."""
        self._numbers[_DEADLINE] = deadline
        self._numbers[_BEAT] = now

    @property
    def last(self) -> float:
        """The last beat; 0.0 before the first one."""
        return self._numbers[_BEAT]

    @property
    def deadline(self) -> float:
        return self._numbers[_DEADLINE]

    @property
    def of_no_member(self) -> bool:
        """There is nothing that the child may do, and nothing that it could do too late."""
        return self.deadline == float("-inf")

    def frozen(self, now: float, stale_seconds: float) -> bool:
        """The child has not beaten for `stale_seconds` and its deadline has passed; or for IDLE_STALE_SECONDS while it
        is no member: it harms nobody, and nobody else would ever start it again.

        A child that never beat is not frozen: it may still be starting.
        """
        if self.of_no_member:
            stale_seconds = max(stale_seconds, IDLE_STALE_SECONDS)
        return 0.0 < self.last < now - stale_seconds and self.deadline < now

    def say(self, words: str) -> None:
        """Leaves a sentence for the supervisor; cut at WORDS_BYTES_MAX bytes of UTF-8."""
        text = words.encode("utf-8", "replace")[:WORDS_BYTES_MAX]
        start = _WORDS_OFFSET + _WORDS_LENGTH.size
        self._bytes[start : start + len(text)] = text
        _WORDS_LENGTH.pack_into(self._bytes, _WORDS_OFFSET, len(text))

    @property
    def words(self) -> str:
        (length,) = _WORDS_LENGTH.unpack_from(self._bytes, _WORDS_OFFSET)
        start = _WORDS_OFFSET + _WORDS_LENGTH.size
        return bytes(self._bytes[start : start + min(length, WORDS_BYTES_MAX)]).decode("utf-8", "ignore")

    def clear(self) -> None:
        """Before the next incarnation is forked: no beat yet, no deadline, no words."""
        self.beat(0.0, float("inf"))
        self.say("")


def shared_heartbeats(count: int) -> list[Heartbeat]:
    """`count` cleared slots in shared anonymous memory. Call it before the first fork."""
    memory = memoryview(mmap.mmap(-1, max(count, 1) * SLOT_BYTES))
    slots = [Heartbeat(memory[i * SLOT_BYTES : (i + 1) * SLOT_BYTES]) for i in range(count)]
    for slot in slots:
        slot.clear()
    return slots
