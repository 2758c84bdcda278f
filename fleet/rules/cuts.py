"""Changes of single ranges of a layout: one is split at a hash, or two neighbours are merged. Pure.

Whoever proposes them (the planner, or people) says why in one sentence; what carries them out is a reshard, one at a
time, of all that were proposed together.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fleet.records.cut_request import CutRequest
from shards.keyrange import SPACE, KeyRange, PartitionKey

MOST_RANGES = 4096
"""Of a layout: the map is one object, of limited size."""


@dataclass(frozen=True, slots=True)
class Split:
    """The range ends before `at`, and another one begins there. why: a sentence's end, for the log and `fleet plan`.

    Invariant: range.first < at <= range.last. Raises ValueError.
    """

    range: KeyRange
    at: int
    why: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.range.first < self.at <= self.range.last:
            raise ValueError(
                f"{self.at:016x} does not divide {self.range.short}: it must lie above its first hash and in it"
            )

    def __str__(self) -> str:
        return _sentence(f"{self.range.short} is split at {self.at:016x}", self.why)


@dataclass(frozen=True, slots=True)
class Merge:
    """Two neighbours become one range. Invariant: second begins where first ends. Raises ValueError."""

    first: KeyRange
    second: KeyRange
    why: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.first.last + 1 != self.second.first:
            raise ValueError(f"{self.first.short} and {self.second.short} are no neighbours")

    def __str__(self) -> str:
        return _sentence(f"{self.first.short} and {self.second.short} become one shard", self.why)


Cut = Split | Merge


def cut_boundaries(
    boundaries: Sequence[int], cuts: Iterable[Cut], key: PartitionKey = PartitionKey.UID
) -> tuple[int, ...]:
    """The layout after the cuts, one after the other. A cut of ranges that are not there (any more) changes nothing.

    key: of the layout.
    """
    result = list(boundaries)
    for cut in cuts:
        if isinstance(cut, Split) and place_of(cut.range, result, key) is not None:
            insort(result, cut.at)
        elif isinstance(cut, Merge) and place_of(cut.first, result, key) is not None:
            second = place_of(cut.second, result, key)
            if second is not None:
                del result[second]
    return tuple(result)


def place_of(each: KeyRange, boundaries: Sequence[int], key: PartitionKey) -> int | None:
    """Of a range in the layout; None where the layout has none that begins and ends so. Takes no time worth mentioning:
    there may be thousands of cuts of thousands of ranges."""
    i = bisect_left(boundaries, each.first)
    if each.key is not key or i == len(boundaries) or boundaries[i] != each.first:
        return None
    end = boundaries[i + 1] if i + 1 < len(boundaries) else SPACE
    return i if each.last + 1 == end else None


def cut_of(request: CutRequest) -> Cut:
    """What somebody asked for. Raises ValueError for what is no cut."""
    why = f"{request.by} asked for it" if request.by else "somebody asked for it"
    if request.at is not None:
        return Split(request.ranges[0], request.at, why)
    return Merge(request.ranges[0], request.ranges[1], why)


def waiting_cuts(requests: Iterable[CutRequest], done: int) -> tuple[str, ...]:
    """Those that are not done, each in one sentence. done: the last number that was."""
    told = []
    for each in sorted(requests, key=lambda request: request.number):
        if each.number > done:
            try:
                told.append(str(cut_of(each)))
            except ValueError as error:
                told.append(f"request {each.number}: {error}")
    return tuple(told)


def refusal(request: CutRequest, boundaries: Sequence[int], key: PartitionKey) -> str:
    """Why that cannot be done to the layout, and what could; "" where it can."""
    strange = [each for each in request.ranges if place_of(each, boundaries, key) is None]
    if strange:
        return f"the layout has no range {strange[0].short}; fleet status shows those that there are"
    if request.at is not None and len(boundaries) >= MOST_RANGES:
        return f"the layout has {len(boundaries)} ranges, and there may be {MOST_RANGES} at most; merge some first"
    try:
        cut_of(request)
    except ValueError as error:
        return str(error)
    return ""


def _sentence(what: str, why: str) -> str:
    return f"{what}, because {why}" if why else what
