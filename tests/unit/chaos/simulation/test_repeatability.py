"""One seed is one history: in every process, and after any number of others."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from random import Random

from chaos.simulation.loop import SimulationLoop
from tests.unit.chaos.simulation.small_history import SmallHistory

ROOT = Path(__file__).parents[4]
DIGEST = """
import hashlib
from tests.unit.chaos.simulation.small_history import SmallHistory
for seed in range(20):
    print(hashlib.sha256("\\n".join(SmallHistory(seed).told()).encode()).hexdigest())
"""


def _digests(hash_seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def test_a_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    here = [hashlib.sha256("\n".join(SmallHistory(seed).told()).encode()).hexdigest() for seed in range(20)]
    assert len(set(here)) == 20
    assert _digests(1).split() == _digests(2).split() == here


def _cancelled(seed: int) -> list[int]:
    """The order in which a group cancels its tasks, which it has in a set."""
    loop = SimulationLoop(Random(seed))
    order: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(10)
        finally:
            order.append(number)

    async def main() -> None:
        async with asyncio.timeout(1), asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(wait(number))

    with contextlib.suppress(TimeoutError):
        loop.run_until_complete(main())
    loop.close()
    return order


def test_sets_of_tasks_are_walked_in_an_order_that_the_seed_says() -> None:
    orders = [_cancelled(seed) for seed in range(10)]
    assert orders == [_cancelled(seed) for seed in range(10)]
    assert len({tuple(each) for each in orders}) > 5


def test_histories_leave_nothing_behind_and_say_nothing_of_the_dead() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = []
        for seed in [*range(40), *range(40)]:
            lines = SmallHistory(seed).told()
            assert len(lines) > 20
            assert not any("CancelledError" in each or "GeneratorExit" in each for each in lines)
            if seed == 39:
                gc.collect()
                counts.append(len(gc.get_objects()))
    assert abs(counts[1] - counts[0]) < 100
