"""The quantities that a controller runtime is judged by, with their targets, from what the harness measured. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.runtime.comparison import Comparison
from benchmarks.runtime.results import Pick, Result, Results, field

OURS, FOUR, FOUR_LOCAL, PODS = "shardfleet", "shardfleet-4", "shardfleet-4-local", "shardfleet-pods"
U, T, R = "cr-unstructured", "cr-typed", "kube-rs-dynamic"
"""controller-runtime with unstructured objects, the same with typed ones (the best peer in memory), and kube-rs with
dynamic ones (the best in CPU)."""
FLOOR, CLIENT_GO = "floor", "client-go"

JUDGED_AT = 100_000
"""Objects that the targets of a cold sync are meant for: in a smaller cluster the start of a process outweighs them."""
KIB_PER_MIB = 1024
WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
_READS = ("GET",)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much was measured. large, small: objects of the two cold syncs; steady: during the writes."""

    large: int
    small: int
    steady: int
    widgets: int


def quantities(results: Results, plan: Plan) -> list[Comparison]:
    return [
        *_sync(results, plan),
        *_memory(results, plan),
        *_events(results, plan),
        *_work(results, plan),
        *_queue(results),
        *_workers(results, plan),
        *_takeover(results),
    ]


def _against(
    results: Results,
    quantity: str,
    unit: str,
    pick: Pick,
    targets: Mapping[str, float | None],
    *,
    judged: bool,
    **where: object,
) -> list[Comparison]:
    """One line for each peer: ratio of ours to its own, at most the target; None is for a peer that is only shown."""
    return [
        Comparison(
            quantity,
            results.middle(OURS, pick, **where),
            unit,
            peer,
            results.middle(peer, pick, **where),
            results.ratio(OURS, peer, pick, **where),
            "ratio",
            target,
            judged=judged,
        )
        for peer, target in targets.items()
    ]


def _sync(results: Results, plan: Plan) -> list[Comparison]:
    where = {"phase": "sync", "n": plan.large}
    judged = plan.large >= JUDGED_AT
    every = f"{plan.large:,} objects"
    rows: tuple[tuple[str, str, dict[str, float | None]], ...] = (
        (f"cold sync of {every}, CPU", "sync_cpu_s", {U: 0.10, R: 0.33}),
        (f"{every} reconciled once, CPU", "all_cpu_s", {U: 0.25, R: 0.7}),
        (f"{every} reconciled once, wall time", "all_s", {U: 0.9}),
        (f"{every} reconciled once, the server's CPU", "api_cpu_s", {U: 1.0}),
    )
    found: list[Comparison] = []
    for quantity, name, targets in rows:
        found += _against(results, quantity, "s", field(name), targets, judged=judged, **where)
    return found


def _memory(results: Results, plan: Plan) -> list[Comparison]:
    where = {"phase": "sync", "n": plan.large}
    judged = plan.large >= JUDGED_AT
    steady, peak = field("steady_mib"), field("peak_mib")
    highest = results.middle(OURS, lambda line: peak(line) / steady(line), **where)
    rows = _against(
        results,
        f"resident memory with {plan.large:,} objects",
        "MiB",
        steady,
        {U: 0.12, T: 0.35},
        judged=judged,
        **where,
    )
    rows.append(
        Comparison(
            "peak of resident memory, against steady",
            results.middle(OURS, peak, **where),
            "MiB",
            "itself, steady",
            results.middle(OURS, steady, **where),
            highest,
            "ratio",
            1.3,
        )
    )
    quantity = f"memory of an object of 1 KB, {plan.small:,} to {plan.large:,}"
    ours = _slope(results, plan, OURS)
    for peer in (U, T):
        target = 1.2 if peer == U else None
        rows.append(Comparison(quantity, ours, "KiB", peer, _slope(results, plan, peer), ours, "value", target))
    return rows


def _slope(results: Results, plan: Plan, peer: str) -> float | None:
    """KiB for each object more, after a collection."""
    small = results.middle(peer, field("gc_mib"), phase="sync", n=plan.small)
    large = results.middle(peer, field("gc_mib"), phase="sync", n=plan.large)
    if small is None or large is None:
        return None
    return (large - small) * KIB_PER_MIB / (plan.large - plan.small)


def _events(results: Results, plan: Plan) -> list[Comparison]:
    slow = {"phase": "latency", "n": plan.steady, "rate": 50}
    fast = {**slow, "rate": 200}
    middle, cpu = field("p50_ms"), field("cpu_ms_per_event")
    rows = [
        Comparison(
            "event to reconcile at 50/s, above the floor",
            results.difference(OURS, FLOOR, middle, **slow),
            "ms",
            U,
            results.difference(U, FLOOR, middle, **slow),
            results.difference(OURS, U, middle, **slow),
            "difference",
            1.0,
        )
    ]
    peers = {U: 0.5, R: 1.0, FLOOR: None}
    return rows + _against(results, "CPU of an event at 200/s", "ms", cpu, peers, judged=True, **fast)


def writes(line: Result) -> float:
    """API requests that change something."""
    return float(sum(count for kind, count in line["by_kind"].items() if kind.split()[0] in WRITES))


def reads(line: Result) -> float:
    return float(sum(count for kind, count in line["by_kind"].items() if kind.split()[0] in _READS))


def _work(results: Results, plan: Plan) -> list[Comparison]:
    where = {"phase": "work", "n": plan.widgets}
    rows = []
    work = f"{plan.widgets:,} widgets, a child and a status each"
    ours = results.by_round(OURS, writes, **where)
    most = max(ours.values(), default=None)
    for peer in (U, R):
        target = 2.0 * plan.widgets if peer == U else None
        rows.append(
            Comparison(
                f"{work}: writes, worst round",
                most,
                "",
                peer,
                results.middle(peer, writes, **where),
                most,
                "value",
                target,
                "exactly",
            )
        )
    rows.append(Comparison(f"{work}: single reads", results.middle(OURS, reads, **where)))
    return rows + _against(results, f"{work}: CPU", "s", field("cpu_s"), {U: 0.7, R: None}, judged=True, **where)


def _queue(results: Results) -> list[Comparison]:
    pick = field("keys_per_core_s_both")
    ours = results.middle(OURS, pick, phase="queue", what="workqueue")
    others = ((U, "priorityqueue", 85_000.0), (CLIENT_GO, "typed-rate-limiting-queue", None), (R, "applier", None))
    return [
        Comparison(
            "queue, put to done, by one core",
            ours,
            "keys/s",
            peer,
            results.middle(peer, pick, phase="queue", what=what),
            ours,
            "value",
            target,
            "at least",
        )
        for peer, what, target in others
    ]


def _workers(results: Results, plan: Plan) -> list[Comparison]:
    """What four worker processes cost together, against one that has everything."""
    where = {"phase": "sync", "n": plan.large}
    judged = plan.large >= JUDGED_AT
    rows = []
    for quantity, unit, name in (("CPU", "s", "workers_cpu_s"), ("memory", "MiB", "workers_pss_mib")):
        pick = field(name)
        for peer, how in ((FOUR, "server-side filter"), (FOUR_LOCAL, "local filter")):
            rows.append(
                Comparison(
                    f"four workers, {how}: sum of {quantity}",
                    results.middle(peer, pick, **where),
                    unit,
                    "one process",
                    results.middle(OURS, pick, **where),
                    results.ratio(peer, OURS, pick, **where),
                    "ratio",
                    1.25 if peer == FOUR else None,
                    judged=judged,
                )
            )
    return rows


def _takeover(results: Results) -> list[Comparison]:
    """From the signal to the first reconcile elsewhere; of a fleet, of one of the dead one's keys."""
    rows = []
    for ours, theirs in (
        ("SIGKILL of a worker", "SIGKILL"),
        ("SIGKILL of a pod", "SIGKILL"),
        ("SIGTERM of a pod", "SIGTERM"),
    ):
        found = {field_: results.middle(PODS, field(field_), how=ours) for field_ in ("seconds", "all_s")}
        quantity = f"takeover after {ours}"
        rows += [
            Comparison(quantity, found["seconds"], "s", peer, results.middle(peer, field("seconds"), how=theirs))
            for peer in (CLIENT_GO, U)
        ]
        rows.append(Comparison(f"{quantity}: of all its keys", found["all_s"], "s"))
    return rows
