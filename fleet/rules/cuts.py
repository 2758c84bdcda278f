"""Changes of single ranges of a layout: one is split at a hash, or two neighbours are merged. Pure.

Whoever proposes them (the planner, or people) says why in one sentence; what carries them out is a reshard, one at a
time, of all that were proposed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fleet.records.cut_request import CutRequest
from shards.keyrange import KeyRange, PartitionKey, ranges_from


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
    result = tuple(boundaries)
    for cut in cuts:
        layout = ranges_from(result, key)
        if isinstance(cut, Split) and cut.range in layout:
            result = tuple(sorted((*result, cut.at)))
        elif isinstance(cut, Merge) and cut.first in layout and cut.second in layout:
            result = tuple(first for first in result if first != cut.second.first)
    return result


def cut_of(request: CutRequest) -> Cut:
    """What somebody asked for. Raises ValueError for what is no cut."""
    why = f"{request.by} asked for it" if request.by else "somebody asked for it"
    if request.at is not None:
        return Split(request.ranges[0], request.at, why)
    return Merge(request.ranges[0], request.ranges[1], why)


def refusal(request: CutRequest, boundaries: Sequence[int], key: PartitionKey) -> str:
    """Why that cannot be done to the layout, and what could; "" where it can."""
    layout = ranges_from(tuple(boundaries), key)
    strange = [each for each in request.ranges if each not in layout]
    if strange:
        return f"the layout has no range {strange[0].short}; fleet status shows those that there are"
    try:
        cut_of(request)
    except ValueError as error:
        return str(error)
    return ""


def _sentence(what: str, why: str) -> str:
    return f"{what}, because {why}" if why else what
