"""The benchmark's lines follow from what was measured, and every target of the runtime is among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.runtime.comparison import Comparison
from benchmarks.runtime.quantities import (
    CLIENT_GO,
    FLOOR,
    FOUR,
    FOUR_LOCAL,
    JUDGED_AT,
    OURS,
    PODS,
    Plan,
    R,
    T,
    U,
    quantities,
)
from benchmarks.runtime.results import Result, Results

PLAN = Plan(large=100_000, small=20_000, steady=20_000, widgets=2_000)
SYNC = {"sync_cpu_s": 2.0, "all_cpu_s": 5.0, "all_s": 20.0, "api_cpu_s": 15.0}
COST = {U: 10.0, T: 3.0, R: 4.0, OURS: 1.0, FOUR: 1.2, FOUR_LOCAL: 2.0}
"""How many times as much as ours a peer needs."""


def measured(plan: Plan = PLAN, *, writes: int = 4_000) -> Iterator[Result]:
    """One round in which every peer needs its share of everything."""
    for peer, cost in COST.items():
        for objects in (plan.small, plan.large):
            mib = {"peak_mib": 120.0 * cost, "steady_mib": 100.0 * cost, "gc_mib": 50.0 + cost * objects / 1024}
            workers = {"workers_cpu_s": 5.0 * cost, "workers_pss_mib": 100.0 * cost}
            times = {name: value * cost for name, value in SYNC.items()}
            yield line("sync", peer, n=objects, **mib, **workers, **times)
        yield line("work", peer, n=plan.widgets, cpu_s=cost, by_kind={"POST configmaps": writes, "GET configmaps": 1})
    for peer, above in ((OURS, 0.5), (U, 0.4), (R, 0.3), (FLOOR, 0.0)):
        for rate in (50, 200):
            yield line("latency", peer, n=plan.steady, rate=rate, p50_ms=7.0 + above, cpu_ms_per_event=0.1 + above)
    yield line("queue", OURS, what="workqueue", keys_per_core_s_both=900_000.0)


def line(phase: str, peer: str, **fields: Any) -> Result:
    return {"phase": phase, "peer": peer, "round": 0, **fields}


def found(rows: list[Comparison], quantity: str, peer: str) -> Comparison:
    [row] = [row for row in rows if quantity in row.quantity and row.peer == peer]
    return row


def rows_of(plan: Plan = PLAN, *, writes: int = 4_000) -> list[Comparison]:
    return quantities(Results(measured(plan, writes=writes)), plan)


@pytest.mark.parametrize(
    ("quantity", "peer", "figure", "target"),
    [
        ("cold sync", U, 0.1, 0.10),
        ("cold sync", R, 0.25, 0.33),
        ("reconciled once, CPU", U, 0.1, 0.25),
        ("reconciled once, CPU", R, 0.25, 0.7),
        ("wall time", U, 0.1, 0.9),
        ("server's CPU", U, 0.1, 1.0),
        ("resident memory with", U, 0.1, 0.12),
        ("resident memory with", T, 1 / 3, 0.35),
        ("peak of", "itself, steady", 1.2, 1.3),
        ("memory of an object", U, 1.0, 1.2),
        ("above the floor", U, 0.1, 1.0),
        ("CPU of an event", U, 1.2, 0.5),
        ("CPU of an event", R, 1.5, 1.0),
        ("writes, worst round", U, 4_000.0, 4_000.0),
        ("a status each: CPU", U, 0.1, 0.7),
        ("queue", U, 900_000.0, 85_000.0),
        ("server-side filter: sum of CPU", "one process", 1.2, 1.25),
        ("server-side filter: sum of memory", "one process", 1.2, 1.25),
    ],
)
def test_every_target_has_its_line(quantity: str, peer: str, figure: float, target: float) -> None:
    row = found(rows_of(), quantity, peer)

    assert row.measured == pytest.approx(figure)
    assert row.target == target
    assert row.judged


@pytest.mark.parametrize("writes", [3_999, 4_001])
def test_a_write_too_many_or_too_few_is_a_miss(writes: int) -> None:
    assert not found(rows_of(writes=writes), "writes, worst round", U).ok


def test_reads_are_not_counted_as_writes() -> None:
    assert found(rows_of(), "single reads", "").ours == 1.0


def test_a_small_cluster_is_not_judged_by_the_targets_of_a_cold_sync() -> None:
    plan = Plan(large=JUDGED_AT // 5, small=4_000, steady=20_000, widgets=2_000)
    rows = rows_of(plan)

    assert not found(rows, "cold sync", U).judged
    assert found(rows, "memory of an object", U).judged


def test_where_nothing_was_measured_everything_is_missed() -> None:
    rows = quantities(Results([]), PLAN)

    assert [row.quantity for row in rows if row.target is not None and row.ok] == []


def test_who_died_is_compared_with_a_leader_that_died_in_the_same_way() -> None:
    lines = [
        line("failover", PODS, how="SIGKILL of a worker", seconds=0.5, all_s=0.9),
        line("failover", PODS, how="SIGKILL of a pod", seconds=8.0, all_s=9.0),
        line("failover", CLIENT_GO, how="SIGKILL", seconds=16.0, leading_s=15.0),
        line("failover", CLIENT_GO, how="SIGTERM", seconds=2.0, leading_s=1.0),
    ]
    rows = quantities(Results(lines), PLAN)

    worker, pod = (found(rows, f"after SIGKILL of a {what}", CLIENT_GO) for what in ("worker", "pod"))
    assert (worker.ours, worker.theirs, worker.target) == (0.5, 16.0, None)
    assert (pod.ours, pod.theirs) == (8.0, 16.0)
    assert found(rows, "after SIGKILL of a pod: of all its keys", "").ours == 9.0
    assert found(rows, "after SIGTERM of a pod", CLIENT_GO).theirs == 2.0
