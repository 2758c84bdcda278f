"""The benchmark of the gate's CPU runs, with fewer turns than it measures."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from benchmarks.staleness.gate_cost import cost


def test_a_turn_measures_the_gate_on_off_and_without_records() -> None:
    # It forks its server, which wants a process without threads.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(cost, 1).result(timeout=60.0)
    for turns in (found.writing, found.idle):
        [turn] = turns
        assert min(turn.on, turn.off, turn.none) > 0
    assert found.live_reads == 0
