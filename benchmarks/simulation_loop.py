"""What a step costs on the event loop of the simulation, and on looptime's, which other tests use."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from benchmarks.table import Row, conclude
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process
from shards.testing.virtual_time import run_virtually

TASKS = 10
ROUNDS = 5

Work = Callable[[], Coroutine[Any, Any, None]]


async def turns() -> None:
    """Tasks that only give way to each other."""

    async def one() -> None:
        for _ in range(2000):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(TASKS)))


async def sleeps() -> None:
    """One timer and one step of a task a time."""

    async def one(number: int) -> None:
        for _ in range(1000):
            await asyncio.sleep(0.1 + number / 1000)

    await asyncio.gather(*(one(number) for number in range(TASKS)))


async def letters() -> None:
    """Queues, sleeps and timeouts that do not strike: four steps, two timers a time."""
    boxes: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(TASKS)]

    async def one(number: int) -> None:
        for each in range(300):
            await boxes[(number + 1) % TASKS].put(each)
            await boxes[number].get()
            await asyncio.sleep(0.01 * (number + 1))
            async with asyncio.timeout(5):
                await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(TASKS)))


async def nothing() -> None:
    """A loop that is made and closed."""


def on_ours(work: Work) -> None:
    loop = SimulationLoop(Random(1))
    loop.run_until_complete(Process("a", 1, loop, Random(1)).spawn(work()))
    loop.close()


def on_looptime(work: Work) -> None:
    run_virtually(work())


def microseconds(run: Callable[[Work], None], work: Work, times: int) -> float:
    """CPU of one time of one task: the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        before = time.process_time()
        run(work)
        best = min(best, time.process_time() - before)
    return best / (times * TASKS) * 1e6


def main() -> int:
    rows = []
    for name, work, times in (("a turn", turns, 2000), ("a sleep", sleeps, 1000), ("a letter", letters, 300)):
        ours, theirs = microseconds(on_ours, work, times), microseconds(on_looptime, work, times)
        rows += [
            Row(f"{name}: simulation", round(ours, 2), "us"),
            Row(f"{name}: looptime", round(theirs, 2), "us"),
            Row(f"{name}: looptime / simulation", round(theirs / ours, 1), "x"),
        ]
    rows += [
        Row("a loop: simulation", round(microseconds(on_ours, nothing, 1) * TASKS), "us"),
        Row("a loop: looptime", round(microseconds(on_looptime, nothing, 1) * TASKS), "us"),
    ]
    return conclude(rows)


if __name__ == "__main__":
    sys.exit(main())
