"""What stale views cost, and that they cost no more: one stale key among 10,000, watches that are late, the gate's CPU.

    make bench-staleness           three minutes; a table
    JSON=1 make bench-staleness    one object a line
    DOCS=1 make bench-staleness    writes docs/benchmarks.md as well

The first two run in virtual time, two runs at a time; their figures are the same on any machine. The last one measures
CPU, and has the machine for itself as far as this benchmark goes.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.staleness.gate_cost import TURNS, cost
from benchmarks.staleness.quantities import Found, rows
from benchmarks.staleness.report import write
from benchmarks.staleness.stale_key import Plan as KeyPlan
from benchmarks.staleness.stale_key import watched
from benchmarks.staleness.watch_delay import Plan as DelayPlan
from benchmarks.staleness.watch_delay import effects
from benchmarks.table import conclude
from shards.settings import GateSettings

DELAYS_SECONDS = (0.0, 0.05, 1.0, 60.0)
INTERVAL_SECONDS = GateSettings().live_read_after_seconds
"""Between two probes of a key that is held back: so long the gate waits before it reads live."""

UNGATED_SECONDS = 60.0
"""Of the run that shows what happens without a gate."""

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def measure() -> Found:
    with _processes(2) as pool:
        plans = KeyPlan(stale=False), KeyPlan(stale=True), KeyPlan(stale=True, gate=False, seconds=UNGATED_SECONDS)
        keys = [pool.submit(watched, plan, INTERVAL_SECONDS) for plan in plans]
        late = {
            seconds: [pool.submit(effects, DelayPlan(seconds, gate)) for gate in (True, False)]
            for seconds in DELAYS_SECONDS
        }
        fresh, stale, ungated = (each.result() for each in keys)
        done = {seconds: (gated.result(), off.result()) for seconds, (gated, off) in late.items()}
    with _processes(1) as pool:
        return Found(fresh, stale, ungated, done, pool.submit(cost, TURNS).result())


def _processes(count: int) -> ProcessPoolExecutor:
    """That log nothing: without a gate a stale key fails for minutes, and says so each time."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, initializer=logging.disable, initargs=(logging.CRITICAL,))


def main() -> int:
    began = time.strftime("%Y-%m-%d %H:%M")
    found = measure()
    if os.environ.get("DOCS"):
        write(DOCUMENT, found, f"Measured {began}, {os.cpu_count()} cores, {TURNS} turns of the CPU's rounds.")
    return conclude(rows(found))


if __name__ == "__main__":
    sys.exit(main())
