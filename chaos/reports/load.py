"""How long reconciles took and how many keys waited, over time, from what the workers noted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from chaos.reports.hearing import Reconciles
from chaos.reports.story import IDLE, Load, Moment, Row

MOMENTS = 240
"""About so many buckets at most: what a page shows side by side."""
_ENOUGH = 10
"""Reconciles, for a p99 of a moment to be worth telling."""
_BUCKETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def load_of(found: Reconciles, rows: Sequence[Row], *, zero: float, began: float, ended: float) -> Load:
    """zero: the recording's time of the start. began, ended: what is shown, in seconds since then."""
    width = _bucket(ended - began)
    count = max(1, math.ceil((ended - began) / width))
    first = zero + began
    seconds: list[list[float]] = [[] for _ in range(count)]
    for at, took in found.done:
        index = math.floor((at - first) / width)
        if 0 <= index < count:
            seconds[index].append(took)
    waiting = _most(found.waits, first, width, count)
    running = _most(found.runs, first, width, count)
    idle = _most(
        [(zero + each.began, zero + each.ended) for row in rows for each in row.phases if each.kind in IDLE],
        first,
        width,
        count,
    )
    moments = []
    for index, taken in enumerate(seconds):
        taken.sort()
        at = began + index * width
        p50, p99, longest = _percentile(taken, 50), _percentile(taken, 99), taken[-1] if taken else None
        moments.append(Moment(at, len(taken), p50, p99, longest, waiting[index], running[index], idle[index]))
    start = math.ceil(max(0.0, -began) / width - 1e-9)  # what was before the start is shown, and not counted
    every = sorted(took for taken in seconds[start:] for took in taken)
    return Load(
        width,
        tuple(moments),
        len(every),
        _percentile(every, 50),
        _percentile(every, 99),
        every[-1] if every else None,
        noted=bool(found.runs),
        worst=max(
            (each for each in moments[start:] if each.ended >= _ENOUGH), key=lambda each: each.p99 or 0.0, default=None
        ),
    )


def _most(spans: Iterable[tuple[float, float]], first: float, width: float, count: int) -> list[int]:
    """How many at once at most, by bucket."""
    most = [0] * count
    at, now = 0, 0
    for time, change in _changes(spans):
        index = max(0, min(count, math.floor((time - first) / width)))
        while at < index:
            at += 1
            if at < count:
                most[at] = now
        now += change
        if time < first:
            most[0] = now
        elif index < count:
            most[index] = max(most[index], now)
    for rest in range(at + 1, count):
        most[rest] = now
    return most


def _changes(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, int]]:
    """In order; of one moment, ends first."""
    changes = []
    for begin, end in spans:
        if end > begin:
            changes += [(begin, 1), (end, -1)]
    yield from sorted(changes)


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The nearest rank."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None


def _bucket(seconds: float) -> float:
    return next((each for each in _BUCKETS if seconds / each <= MOMENTS), math.ceil(seconds / MOMENTS))
