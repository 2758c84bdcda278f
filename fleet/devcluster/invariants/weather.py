"""When faults were in force: what is bounded "after the last fault" counts from their end."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

import msgspec

from fleet.devcluster.recording.journal import FAULT, FAULT_END, Entry


class _Timed(msgspec.Struct):
    until_seconds: float | None = None


class Weather:
    """Takes in the lines of injectors, in order."""

    def __init__(self) -> None:
        self._ends: dict[str, list[float]] = defaultdict(list)
        """By fault, in its own words: when each one that is in force ends by itself."""
        self._last = float("-inf")

    def hears(self, entry: Entry) -> None:
        """entry: verb is one of `journal.FAULTS`."""
        self._last = entry.time
        if entry.verb == FAULT:
            self._ends[entry.note].append(entry.time + _lasting_seconds(entry.note))
        elif entry.verb == FAULT_END and self._ends[entry.note]:
            self._ends[entry.note].pop()

    def last(self, now: float) -> float:
        """When a fault was in force, or struck, last: `now` while one is. Minus infinity for never."""
        ends = [min(end, now) for each in self._ends.values() for end in each]
        return max([self._last, *ends])


@lru_cache(maxsize=256)
def _lasting_seconds(fault: str) -> float:
    """Infinite for a fault that only a release ends, and for words that are no document."""
    try:
        found = msgspec.json.decode(fault, type=_Timed).until_seconds
    except msgspec.DecodeError:
        return float("inf")
    return float("inf") if found is None else found


@lru_cache(maxsize=1024)
def kind_of(resource: str) -> str:
    """The resource without its version: one object is the same in all of them."""
    version, _, plural = resource.rpartition("/")
    return f"{version.rpartition('/')[0]}/{plural}"
