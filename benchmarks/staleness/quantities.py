"""What the three measurements found, as rows with their targets, and as the tables of the documentation. PURE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median, quantiles

import msgspec

from benchmarks.staleness.gate_cost import Cost, Turn
from benchmarks.staleness.stale_key import Watched
from benchmarks.staleness.watch_delay import Effects
from benchmarks.table import Row

WAIT_RATIO = 1.05
CPU_RATIO = 1.03
LEAST_DELAY_SECONDS = 0.05
"""From this delay on the reconcile without a gate must do things twice: else the measurement proves nothing."""


class Found(msgspec.Struct, frozen=True):
    """fresh, stale: the runs without and with a stale key. ungated: with it, and without the gate; a short one.
    late: by the delay of watches in seconds, with the gate and without."""

    fresh: Watched
    stale: Watched
    ungated: Watched
    late: Mapping[float, tuple[Effects, Effects]]
    cost: Cost


def delay_name(seconds: float) -> str:
    if not seconds:
        return "no delay"
    return f"{seconds * 1e3:g} ms" if seconds < 1.0 else f"{seconds:g} s"


def rows(found: Found) -> list[Row]:
    return [*_stale_key(found), *_late(found), *_cost(found.cost)]


def _stale_key(found: Found) -> list[Row]:
    fresh, stale = found.fresh, found.stale
    return [
        Row("p99 queue wait of the others, no key stale", round(fresh.wait_p99_ms, 1), "ms"),
        Row("p99 queue wait of the others, one key stale", round(stale.wait_p99_ms, 1), "ms"),
        Row("the same, ratio", round(stale.wait_p99_ms / fresh.wait_p99_ms, 4), "x", WAIT_RATIO),
        Row("stale key, live reads in all", stale.stale_reads, "reads"),
        Row("stale key, most live reads in one probe interval", stale.most_reads_an_interval, "reads", 1),
        Row("stale key, reconciles", stale.stale_runs, "runs", 2, at_least=True),
        Row("stale key, reconciles on the old view", stale.on_old_view, "runs", 0),
        Row("stale key, the same without the gate", found.ungated.on_old_view, "runs", 1, at_least=True),
        Row("live reads for other keys", stale.other_reads + fresh.other_reads, "reads", 0),
    ]


def _late(found: Found) -> list[Row]:
    made = []
    for seconds, (gated, ungated) in found.late.items():
        name = f"watch delay: {delay_name(seconds)}"
        fires = 1 if seconds >= LEAST_DELAY_SECONDS else None
        made += [
            Row(f"{name}, duplicate creates", gated.duplicate_creates, "objects", 0),
            Row(f"{name}, duplicate calls outside", gated.duplicate_calls, "calls", 0),
            Row(f"{name}, orders not carried out", gated.unfinished, "orders", 0),
            Row(
                f"{name}, duplicate creates without the gate",
                ungated.duplicate_creates,
                "objects",
                fires,
                at_least=True,
            ),
            Row(
                f"{name}, duplicate calls outside without the gate",
                ungated.duplicate_calls,
                "calls",
                fires,
                at_least=True,
            ),
            Row(f"{name}, live reads a reconcile", round(gated.reads_a_reconcile, 3), "", None if seconds else 0),
        ]
    return made


def _cost(cost: Cost) -> list[Row]:
    return [
        *_turns("reconcile with a write", cost.writing),
        *_turns("reconcile without work", cost.idle),
        Row("live reads meanwhile", cost.live_reads, "reads", 0),
    ]


def _turns(what: str, turns: Sequence[Turn]) -> list[Row]:
    switched, recorded = [each.on / each.off for each in turns], [each.on / each.none for each in turns]
    first, _, third = quantiles(switched, n=4, method="inclusive")
    return [
        Row(f"{what}, CPU, gate on", round(median(each.on for each in turns), 1), "µs"),
        Row(f"{what}, CPU, gate off", round(median(each.off for each in turns), 1), "µs"),
        Row(f"{what}, CPU, without records either", round(median(each.none for each in turns), 1), "µs"),
        Row(f"{what}, on / off", round(median(switched), 4), "x", CPU_RATIO),
        Row(f"{what}, on / off, first quartile", round(first, 4), "x"),
        Row(f"{what}, on / off, third quartile", round(third, 4), "x"),
        Row(f"{what}, on / without records", round(median(recorded), 4), "x"),
    ]
