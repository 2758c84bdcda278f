"""Which hot range should be split, and which cold neighbours merged (`shards.autoSplit`). Pure.

Cuts are for what moves cannot do: while any move would gain, nothing is cut. A range that no move can bring to rest
is split where half of its cost lies on either side, or around its costliest key, which then is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from fleet.rules.cuts import MOST_RANGES, Cut, Merge, Split
from fleet.rules.planner import Situation
from fleet.rules.shard_costs import Known, Point
from shards.keyrange import KeyRange

HOT_PART = 0.1
"""A range is only split if it costs more than this part of a member's fair share: less does not matter to anybody."""

HOT_SECONDS = 0.02
"""And more than so many seconds per second."""

ISOLATE_FROM = 0.5
"""A key that costs at least this part of its range is given a range of its own: no split could halve it."""

COLD_PART = 0.5
"""Neighbours are merged that together cost less than this part of what a range would cost if there were
`shards.count` of them, and less than half of what makes a range hot; or less than half of HOT_SECONDS."""

MOST_TIMES = 4
"""Splits end when there are so many times `shards.count` ranges, and before MOST_RANGES."""


def splits(situation: Situation, points: Mapping[KeyRange, Point], tolerance: float, count: int) -> tuple[Cut, ...]:
    """What relieves the most loaded member, if any is loaded beyond its fair share; for one reshard.

    tolerance: part of its fair share that a member may carry more. count: `shards.count`.
    """
    now = situation
    if len(now.ranges) >= min(MOST_TIMES * count, MOST_RANGES) or not now.able:
        return ()
    load = dict.fromkeys(sorted(now.able), 0.0)
    for target, cost in zip(now.targets, now.costs, strict=True):
        if target in load:
            load[target] += cost
    fair = sum(load.values()) / sum(now.able.values())
    level = {name: load[name] / now.able[name] for name in load}
    for name in sorted(level, key=lambda name: (-level[name], name)):
        if level[name] <= fair * (1 + tolerance):
            return ()
        owned = [i for i, target in enumerate(now.targets) if target == name]
        for i in sorted(owned, key=lambda i: (-now.costs[i], i)):
            if now.costs[i] < max(HOT_SECONDS, HOT_PART * fair):
                break
            point = points.get(now.ranges[i])
            part = f"it takes {100 * now.costs[i] / fair:.0f} % of a fair share"
            if point is not None and (cuts := _split(now.ranges[i], point, part)):
                return cuts
    return ()


def _split(each: KeyRange, point: Point, part: str) -> tuple[Cut, ...]:
    """At the weighted median, or around the hot key; nothing where neither is possible."""
    if point.share < ISOLATE_FROM:
        return (Split(each, point.at, f"{part} and no move would help"),) if point.at else ()
    why = f"{part} and one key in it {100 * point.share:.0f} % of that: the key gets a shard of its own"
    cuts: list[Cut] = []
    if point.hot > each.first:
        cuts.append(Split(each, point.hot, why))
        each = replace(each, first=point.hot)
    if point.hot < each.last:
        cuts.append(Split(each, point.hot + 1, why))
    return tuple(cuts)


def merges(situation: Situation, loads: tuple[Known, ...], count: int) -> tuple[Cut, ...]:
    """The coldest neighbours, where there are more ranges than `shards.count`; of one member, if possible."""
    now, seconds = situation, [known.seconds for known in loads]
    if len(now.ranges) <= count or not now.able:
        return ()
    fair = sum(seconds) / sum(now.able.values())
    limit = max(min(COLD_PART * sum(seconds) / count, HOT_PART * fair / 2), HOT_SECONDS / 2)
    pairs = [
        (now.targets[i] != now.targets[j], seconds[i] + seconds[j], i)
        for i, j in pairwise(range(len(seconds)))
        if seconds[i] + seconds[j] <= limit
    ]
    if not pairs:
        return ()
    _, cost, i = min(pairs)
    part = f"together they take {100 * cost / fair if fair else 0:.1f} % of a fair share"
    why = f"{part}, and there are more shards than shards.count"
    return (Merge(now.ranges[i], now.ranges[i + 1], why),)
