"""What each range costs its owner, from what the members report. Pure.

The unit is seconds of reconciling per second. A report is the mean of a minute; it is smoothed once more, so that a
range is not moved for what was over before the move was. The first reports of a new owner are left out: it has just
reconciled every key once, and would seem to have taken over a heavy range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from fleet.records.record import MemberRecord, ShardRecord
from fleet.records.report_record import ShardLoad, SplitPoint
from shards.keyrange import SPACE, KeyRange

OBJECT_COST = 2e-6
"""Of holding one object, in seconds per second: 100,000 idle objects weigh as much as a fifth of a busy loop, since
they take memory, and a list takes time."""

RANGE_COST = 0.0005
"""Of an idle range without objects: watches, timers and confirmations. Also keeps idle fleets balanced by number."""

SMOOTHING_SECONDS = 60.0
"""After so long a change of a load counts for two thirds, in addition to the minute over which it was measured."""


VARIANCE_SECONDS = 600.0
"""The same of how much a load varies: long enough that one burst is not the rule, short enough to be forgotten."""

MOST_OBJECTS, MOST_SECONDS = 10**9, 10_000.0
"""No shard has more objects than this, or so many reconciles at a time."""

SMOOTHED_PART = 0.5
"""Of the variance of reports, what is left of it in their smoothed mean; a minute's reports overlap."""


class Known(NamedTuple):
    """seconds: reconcile seconds per second, smoothed. objects: of the last report. variance: of the reports."""

    seconds: float
    objects: float
    variance: float = 0.0


class Point(NamedTuple):
    """A `SplitPoint` whose hashes lie in the range. Without a hash above the first one, at is 0 and below as well."""

    at: int
    below: float
    hot: int
    share: float


class _Told(NamedTuple):
    """What was last said of these ranges."""

    ranges: tuple[KeyRange, ...]
    loads: tuple[Known, ...]
    costs: tuple[float, ...]
    variances: tuple[float, ...]


@dataclass(slots=True)
class ShardCosts:
    """A coordinator's memory of loads. reports: version of each member's record that was taken in last, and when.

    What is known changes by `observe` and `follow` alone.
    """

    known: dict[KeyRange, Known] = field(default_factory=dict)
    points: dict[KeyRange, Point] = field(default_factory=dict)
    reports: dict[str, tuple[str, float]] = field(default_factory=dict)
    _observed: Mapping[str, MemberRecord] | None = None
    _followed: tuple[KeyRange, ...] | None = None
    """A layout that all that is known is of."""
    _told: _Told | None = None

    def observe(self, members: Mapping[str, MemberRecord], shards: Mapping[KeyRange, ShardRecord], now: float) -> None:
        """Takes in what members report of what they hold. Cheap where nothing has changed.

        members: does not change afterwards.
        """
        if members is self._observed:
            return
        self._observed = members
        for name in self.reports.keys() - members.keys():
            del self.reports[name]
        for name, member in members.items():
            before = self.reports.get(name)
            if not member.loads or (before is not None and before[0] == member.version):
                continue
            self.reports[name] = (member.version, now)
            passed = now - before[1] if before is not None else math.inf
            for text, load in member.loads.items():
                self._take(text, load, name, shards, passed)

    def _take(
        self, text: str, load: ShardLoad, member: str, shards: Mapping[KeyRange, ShardRecord], passed: float
    ) -> None:
        try:
            each = KeyRange.parse(text)
        except ValueError:
            return  # somebody edited it by hand
        record = shards.get(each)
        if record is None or record.holder is None or record.holder.member != member or load.closed or load.young:
            return
        if not (0 <= load.objects <= MOST_OBJECTS and 0 <= load.reconcile_seconds_per_second <= MOST_SECONDS):
            return  # likewise: no plan can be made of what nobody can have measured
        seconds, variance, known = load.reconcile_seconds_per_second, 0.0, self.known.get(each)
        if known is not None:
            error = seconds - known.seconds
            seconds = known.seconds + error * -math.expm1(-passed / SMOOTHING_SECONDS)
            variance = known.variance + (error**2 - known.variance) * -math.expm1(-passed / VARIANCE_SECONDS)
        new = Known(seconds, float(load.objects), variance)
        if new != known:
            self.known[each], self._told = new, None
            self._followed = self._followed if known is not None else None
        point = _point(each, load.split)
        if point is not None:
            self.points[each] = point
        else:
            self.points.pop(each, None)

    def follow(self, ranges: tuple[KeyRange, ...]) -> None:
        """The layout is this one now: ranges that came out of others begin with their parts of what those cost."""
        if ranges is self._followed:
            return
        self._followed = ranges
        layout = set(ranges)
        if not self.known or self.known.keys() <= layout:
            return
        self._told = None
        gone = {each: known for each, known in self.known.items() if each not in layout}
        for each in ranges:
            if each in self.known:
                continue
            parents = [parent for parent in gone if parent.key is each.key and parent.overlaps(each)]
            # What no report has told of yet is left to the estimate.
            if sum(_width(parent, each) for parent in parents) >= each.last - each.first + 1:
                parts = [(gone[parent], _part(parent, each, self.points.get(parent))) for parent in parents]
                self.known[each] = Known(
                    sum(known.seconds * part for known, part in parts),
                    sum(known.objects * part for known, part in parts),
                    sum(known.variance * part for known, part in parts),
                )
        self.known = {each: known for each, known in self.known.items() if each in layout}
        self.points = {each: point for each, point in self.points.items() if each in layout}

    def loads(self, ranges: tuple[KeyRange, ...]) -> tuple[Known, ...]:
        """By range; of one that nobody has reported yet, by its part of the hashes."""
        return self._of(ranges).loads

    def variances(self, ranges: tuple[KeyRange, ...]) -> tuple[float, ...]:
        """By range: of what `costs` says."""
        return self._of(ranges).variances

    def costs(self, ranges: tuple[KeyRange, ...]) -> tuple[float, ...]:
        """By range, in seconds per second, each above 0."""
        return self._of(ranges).costs

    def _of(self, ranges: tuple[KeyRange, ...]) -> _Told:
        if self._told is None or self._told.ranges is not ranges:
            loads = self._loads(ranges)
            self._told = _Told(
                ranges,
                loads,
                tuple(RANGE_COST + known.objects * OBJECT_COST + known.seconds for known in loads),
                tuple(known.variance * SMOOTHED_PART for known in loads),
            )
        return self._told

    def _loads(self, ranges: tuple[KeyRange, ...]) -> tuple[Known, ...]:
        found = [self.known.get(each) for each in ranges]
        seen = [(each, known) for each, known in zip(ranges, found, strict=True) if known is not None]
        hashes = sum(each.last - each.first + 1 for each, _ in seen) or SPACE
        seconds = sum(known.seconds for _, known in seen) / hashes
        objects = sum(known.objects for _, known in seen) / hashes
        return tuple(
            known
            if known is not None
            else Known(seconds * (each.last - each.first + 1), objects * (each.last - each.first + 1))
            for each, known in zip(ranges, found, strict=True)
        )


def _point(each: KeyRange, told: SplitPoint | None) -> Point | None:
    """None where it says nothing that could be: somebody may have edited it."""
    if told is None:
        return None
    try:
        at, hot = int(told.at or "0", 16), int(told.hot, 16)
    except ValueError:
        return None
    inside = hot in each and (at == 0 or each.first < at <= each.last)
    return Point(at, told.below, hot, told.share) if inside and 0 <= told.below <= 1 and 0 <= told.share <= 1 else None


def _width(parent: KeyRange, child: KeyRange) -> int:
    """Hashes that both have."""
    return max(0, min(parent.last, child.last) - max(parent.first, child.first) + 1)


def _part(parent: KeyRange, child: KeyRange, point: Point | None) -> float:
    """Part of what the parent cost that falls to the child."""
    return _below(parent, child.last + 1, point) - _below(parent, child.first, point)


def _below(parent: KeyRange, end: int, point: Point | None) -> float:
    """Part of what a range costs that lies below a hash, 0 to 1: evenly spread, but for what its point says."""
    if end <= parent.first:
        return 0.0
    if end > parent.last:
        return 1.0
    marks = [(parent.first, 0.0), (parent.last + 1, 1.0)]
    if point is not None and point.at:
        marks.insert(1, (point.at, point.below))
    low, below, high, above = next((a, b, c, d) for (a, b), (c, d) in pairwise(marks) if a <= end < c)
    spread, before = (end - low) / (high - low), 0.0
    jump = min(point.share, above - below) if point is not None and low <= point.hot < high else 0.0
    if point is not None and point.hot < end:
        before = jump
    return below + before + (above - below - jump) * spread
