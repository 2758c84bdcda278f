"""Plans, simulated: keys that a change of membership moves, how evenly loads are spread, and what a plan costs.

The servers play no part in it.
"""

from __future__ import annotations

from statistics import median

from benchmarks.rebalancing.bench import Bench, median_and_worst, say
from benchmarks.rebalancing.planning import Moved, moved_keys, plan_times, skewed_spread, uniform_spread
from benchmarks.table import Row

MEMBERS = 64
RANGES = 1024
KEYS = 100_000
MOST_MOVED = 1.05
"""Of the fewest keys that a change of membership can move."""

SPREAD_MEMBERS, SPREAD_RANGES = 8, 256
UNIFORM_SPREAD = 1.05
ZIPF_KEYS, ZIPF_EXPONENT = 10_000, 0.9
ZIPF_SPREAD = 1.10
COARSE_RANGES = 16
SEEDS = 5

PLAN_MILLISECONDS = 50.0
PLANS = 20


async def measure(bench: Bench) -> list[Row]:
    seeds = range(1, bench.size(SEEDS, 1) + 1)
    return [
        *_moved(bench),
        *median_and_worst(
            f"load max over mean, {SPREAD_MEMBERS} members, {SPREAD_RANGES} ranges, uniform",
            [uniform_spread(SPREAD_MEMBERS, SPREAD_RANGES, bench.size(KEYS, 5_000), seed) for seed in seeds],
            "",
            UNIFORM_SPREAD,
        ),
        *_skewed(SPREAD_RANGES, seeds),
        *_skewed(COARSE_RANGES, seeds),
        *_times(bench),
    ]


def _moved(bench: Bench) -> list[Row]:
    highest = bench.size(MEMBERS, 4)
    found = []
    for members in range(2, highest + 1):
        found.append(moved_keys(members, RANGES, bench.size(KEYS, 5_000)))
        if members % 8 == 0:
            say(f"planning: up to {members} members")
    return [*_of(found, "joined", f"N to N+1, N = 2..{highest}"), *_of(found, "left", f"N to N-1, N = 2..{highest}")]


def _of(found: list[Moved], which: str, change: str) -> list[Row]:
    values: list[float] = [getattr(each, which) for each in found]
    worst = max(found, key=lambda each: getattr(each, which))
    name = f"keys moved over ideal, {RANGES} ranges, {change}"
    return [
        Row(f"{name}, median", round(median(values), 3)),
        Row(f"{name}, worst (N = {worst.members})", round(max(values), 3), "", MOST_MOVED),
    ]


def _skewed(ranges: int, seeds: range) -> list[Row]:
    found = [skewed_spread(SPREAD_MEMBERS, ranges, ZIPF_KEYS, ZIPF_EXPONENT, seed) for seed in seeds]
    name = (
        f"load max over the best possible, {SPREAD_MEMBERS} members, {ranges} ranges,"
        f" Zipf {ZIPF_EXPONENT} over {ZIPF_KEYS:,} keys"
    )
    return [
        *median_and_worst(f"{name}, with splitting", [each.over_best for each in found], "", ZIPF_SPREAD),
        Row(f"{name}, without, worst of {len(found)}", round(max(each.whole for each in found), 3)),
        Row(f"ranges then, of {ranges}, most of {len(found)}", max(each.ranges for each in found)),
    ]


def _times(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for name, seconds in plan_times(RANGES, MEMBERS, bench.size(PLANS, 2)).items():
        milliseconds: list[float | None] = [1000 * each for each in seconds]
        what = f"CPU of a plan, {RANGES:,} ranges x {MEMBERS} members, {name}"
        rows += median_and_worst(what, milliseconds, "ms", PLAN_MILLISECONDS, digits=1)
    return rows
