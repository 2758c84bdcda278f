"""The timer of all runs of an engine."""

from __future__ import annotations

import asyncio

import pytest

from shards.reconciling.run_timer import RunTimer

pytestmark = pytest.mark.looptime


def running() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def timed(timer: RunTimer, seconds: float, work: float) -> tuple[bool, float]:
    """Whether it took too long, and when it ended."""
    task = running()
    timer.begin(task, seconds)
    try:
        await asyncio.sleep(work)
    except asyncio.CancelledError:
        late = timer.end(task)
        if task.cancelling():
            raise
        return late, asyncio.get_running_loop().time()
    return timer.end(task), asyncio.get_running_loop().time()


async def later(seconds: float, timer: RunTimer, work: float) -> tuple[bool, float]:
    await asyncio.sleep(seconds)
    return await timed(timer, 5, work)


async def test_who_takes_too_long_is_cancelled_in_time_and_nobody_else() -> None:
    timer = RunTimer()
    runs = [later(0, timer, 60), later(1, timer, 2), later(2, timer, 60), later(20, timer, 60), later(30, timer, 1)]
    found = await asyncio.gather(*runs)
    assert [(late, round(at, 3)) for late, at in found] == [(True, 5), (False, 3), (True, 7), (True, 25), (False, 31)]


async def test_all_runs_together_have_one_timer() -> None:
    timer, loop = RunTimer(), asyncio.get_running_loop()
    tasks = [asyncio.create_task(timed(timer, 100, 50)) for _ in range(100)]
    await asyncio.sleep(1)
    looks = [each for each in loop._scheduled if "_look" in repr(each)]  # type: ignore[attr-defined]
    assert len(looks) == 1
    await asyncio.gather(*tasks)


async def test_who_is_cancelled_by_somebody_else_was_not_too_slow() -> None:
    timer = RunTimer()
    task = asyncio.create_task(timed(timer, 5, 60))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_late_and_cancelled_by_somebody_else_too_stays_cancelled() -> None:
    timer = RunTimer()

    async def slow_to_clean_up() -> None:
        task = running()
        timer.begin(task, 5)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            try:
                await asyncio.sleep(10)
            finally:
                assert timer.end(task)
                assert task.cancelling() == 1

    task = asyncio.create_task(slow_to_clean_up())
    await asyncio.sleep(6)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_closed_timer_cancels_nobody_and_leaves_nothing_behind() -> None:
    timer, loop = RunTimer(), asyncio.get_running_loop()
    task = asyncio.create_task(timed(timer, 5, 60))
    await asyncio.sleep(1)
    timer.close()
    live = [each for each in loop._scheduled if not each.cancelled()]  # type: ignore[attr-defined]
    assert not [each for each in live if "_look" in repr(each)]
    assert await task == (False, 60)


async def test_who_was_never_begun_is_never_late() -> None:
    assert not RunTimer().end(running())
