"""Processes: their clocks, pauses and deaths."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from random import Random
from typing import TypeVar

import pytest

from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process, current_process

T = TypeVar("T")


@pytest.fixture
def loop() -> Iterator[SimulationLoop]:
    made = SimulationLoop(Random(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield made
        made.close()


def process(loop: SimulationLoop, name: str = "a", seed: int = 1) -> Process:
    return Process(name, 1, loop, Random(seed))


def soon(loop: SimulationLoop, of: Process, callback: Callable[[T], object], argument: T) -> None:
    of.call(lambda: loop.call_soon(callback, argument))


def later(loop: SimulationLoop, of: Process, seconds: float, callback: Callable[[T], object], argument: T) -> None:
    of.call(lambda: loop.call_later(seconds, callback, argument))


# -- whose code runs -------------------------------------------------------------------------------------------------


def test_all_that_a_process_makes_is_its_own(loop: SimulationLoop) -> None:
    a = process(loop)
    seen: list[Process | None] = []

    def see() -> None:
        seen.append(current_process())

    async def main() -> None:
        see()
        loop.call_soon(see)
        loop.call_later(1, see)
        await asyncio.create_task(child())
        loop.at(loop.now + 1, see)

    async def child() -> None:
        await asyncio.sleep(2)
        see()

    a.spawn(main())
    loop.run_forever()
    assert seen == [a, a, a, a, None]
    assert current_process() is None


def test_an_answer_of_the_network_wakes_the_process_as_itself(loop: SimulationLoop) -> None:
    a = process(loop)
    answer: asyncio.Future[int] = loop.create_future()

    async def main() -> tuple[int, Process | None]:
        return await answer, current_process()

    task = a.spawn(main())
    loop.at(1, answer.set_result, 7)
    loop.run_forever()
    assert task.result() == (7, a)


def _interleaved(seed: int, *, shuffled: bool = True) -> str:
    loop = SimulationLoop(Random(seed), shuffled=shuffled)
    said: list[str] = []

    async def main(name: str) -> None:
        for each in range(3):
            said.append(f"{name}{each}")
            await asyncio.sleep(0)

    for name in "abc":
        process(loop, name).spawn(main(name))
    loop.run_forever()
    loop.close()
    return " ".join(said)


def test_processes_that_are_ready_at_one_moment_run_in_an_order_that_the_seed_says() -> None:
    orders = {_interleaved(seed) for seed in range(50)}
    assert len(orders) > 40
    assert all(_interleaved(seed) == _interleaved(seed) for seed in range(5))
    assert _interleaved(3, shuffled=False) == "a0 a1 a2 b0 b1 b2 c0 c1 c2"


def test_within_one_process_the_order_is_that_of_asyncio(loop: SimulationLoop) -> None:
    a, b = process(loop, "a"), process(loop, "b")
    said: list[tuple[str, int]] = []
    for each in range(50):
        for one in (a, b):
            soon(loop, one, said.append, (one.name, each))
    loop.run_forever()
    assert [each for name, each in said if name == "a"] == list(range(50))
    assert [each for name, each in said if name == "b"] == list(range(50))


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_the_clock_of_a_process_is_that_of_its_machine(loop: SimulationLoop) -> None:
    a, b = process(loop, "a", 1), process(loop, "b", 2)
    shared = Process("c", 1, loop, Random(3), clock=a.clock)
    assert len({a.clock(), b.clock(), 0.0}) == 3
    assert a.clock() == shared.clock() == a.call(loop.time)
    assert loop.time() == 0


def test_sleeps_and_timeouts_go_by_the_clock_of_the_process(loop: SimulationLoop) -> None:
    a = process(loop)
    a.run_at(2.0)

    async def main() -> float:
        began = loop.time()
        await asyncio.sleep(3)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.Event().wait()
        return loop.time() - began

    assert loop.run_until_complete(a.spawn(main())) == pytest.approx(4)
    assert loop.now == pytest.approx(2)


def test_a_change_of_rate_moves_the_timers_that_are_set(loop: SimulationLoop) -> None:
    a, b = process(loop, "a"), process(loop, "b")
    said: list[tuple[str, float]] = []
    for each in (a, b):
        later(loop, each, 10, lambda name: said.append((name, round(loop.now, 9))), each.name)
    loop.at(4, a.run_at, 3.0)
    loop.at(5, a.run_at, 1.0)
    loop.run_forever()
    assert said == [("a", 8.0), ("b", 10.0)]


def test_a_clock_that_stands_still_reaches_nothing_until_it_goes_on(loop: SimulationLoop) -> None:
    a = process(loop)
    a.run_at(0.0)
    task = a.spawn(asyncio.sleep(1))
    loop.run_until(100)
    assert not task.done()
    a.run_at(1.0)
    loop.run_forever()
    assert loop.now == 101


def test_a_clock_does_not_run_backwards(loop: SimulationLoop) -> None:
    with pytest.raises(ValueError, match=r"rate: -1\.0 must be at least 0"):
        process(loop).run_at(-1.0)


def test_a_timer_is_never_early_on_the_clock_that_it_goes_by(loop: SimulationLoop) -> None:
    rng = Random(7)
    early: list[float] = []

    async def main() -> None:
        for _ in range(200):
            due = loop.time() + rng.random() / 3
            await asyncio.sleep(due - loop.time())
            early.append(due - loop.time())

    for each in range(20):
        machine = process(loop, f"m{each}", each)
        machine.run_at(rng.uniform(0.9, 1.1))
        machine.spawn(main())
    loop.run_forever()
    assert len(early) == 4000
    assert max(early) <= 1e-9


def test_the_true_time_of_a_reading(loop: SimulationLoop) -> None:
    a = process(loop)
    a.run_at(1.25)
    reading = a.clock() + 5
    assert a.clock.to_true(reading) == pytest.approx(4)
    loop.run_until(4)
    assert a.clock() == pytest.approx(reading)


# -- pauses ------------------------------------------------------------------------------------------------------------


def _held(seed: int) -> list[str]:
    """What a process says that is stopped from 1 to 5: with a timer at 2, and an answer at 3."""
    loop = SimulationLoop(Random(seed))
    a = process(loop, seed=seed)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(f"{text} at {loop.now:g}")

    def stop() -> None:
        soon(loop, a, say, "ready")
        a.pause()

    later(loop, a, 2, say, "timer")
    later(loop, a, 7, say, "later")
    loop.at(1, stop)
    loop.at(3, soon, loop, a, say, "answer")
    loop.at(5, a.resume)
    loop.run_forever()
    loop.close()
    return said


def test_a_paused_process_finds_what_was_ready_then_answers_and_timers_in_either_order() -> None:
    found = {tuple(_held(seed)) for seed in range(20)}
    assert found == {
        ("ready at 5", "timer at 5", "answer at 5", "later at 7"),
        ("ready at 5", "answer at 5", "timer at 5", "later at 7"),
    }


def test_a_process_may_pause_itself_and_others_go_on(loop: SimulationLoop) -> None:
    a, b = process(loop, "a"), process(loop, "b")
    said: list[str] = []

    async def ticks(name: str) -> None:
        for _ in range(3):
            said.append(name)
            if name == "a":
                a.pause()
            await asyncio.sleep(1)

    a.spawn(ticks("a"))
    b.spawn(ticks("b"))
    loop.run_until(10)
    assert sorted(said) == ["a", "b", "b", "b"]
    assert a.paused
    assert a.alive
    a.resume()
    loop.run_until(11)
    assert said.count("a") == 2


def test_pausing_twice_is_pausing_once(loop: SimulationLoop) -> None:
    a = process(loop)
    a.pause()
    soon(loop, a, len, "")
    a.pause()
    a.resume()
    a.resume()
    loop.run_forever()
    assert not a.paused


# -- deaths ------------------------------------------------------------------------------------------------------------


def test_a_killed_process_takes_no_further_step(loop: SimulationLoop) -> None:
    a = process(loop)
    said: list[str] = []
    ends: list[bool] = []

    async def child() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            said.append("was asked to end")
        finally:
            ends.append(a.alive)
            await asyncio.sleep(1)
            said.append("cleaned up")

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(child())

    a.spawn(main())
    loop.at(1, a.kill)
    loop.at(1.5, soon, loop, a, said.append, "called")
    loop.at(1.5, later, loop, a, 1, said.append, "called later")
    loop.at(1.5, lambda: a.spawn(child()))
    loop.run_forever()
    assert (said, ends) == ([], [False, False])
    assert not a.alive
    assert not a.paused
    assert loop.now == 1.5
    assert loop.troubles == []


def test_a_process_that_ends_itself_runs_to_its_next_await(loop: SimulationLoop) -> None:
    a = process(loop)
    said: list[object] = []

    async def main() -> None:
        task = asyncio.create_task(other())
        await asyncio.sleep(1)
        a.kill()
        said.append(a.alive)
        await task
        said.append("too late")

    async def other() -> None:
        await asyncio.sleep(1)
        said.append("too late")

    a.spawn(main())
    loop.run_forever()
    assert said == [False]


def test_a_paused_process_can_be_killed(loop: SimulationLoop) -> None:
    a = process(loop)
    task = a.spawn(asyncio.sleep(1))
    a.pause()
    loop.run_until(2)
    a.kill()
    a.resume()
    loop.run_until(3)
    assert not task.done()


def test_errors_of_the_dead_are_not_told(loop: SimulationLoop) -> None:
    a, b = process(loop, "a"), process(loop, "b")

    async def fail() -> None:
        raise ValueError("lost")

    async def holds() -> None:
        task = asyncio.create_task(fail(), name="probe")
        await asyncio.sleep(10)
        del task

    for each in (a, b):
        each.spawn(holds())
    loop.at(1, a.kill)
    loop.run_forever()
    assert [each.what for each in loop.troubles] == ["a task probe of b/1 died of ValueError: lost"]


def test_generators_of_the_dead_are_dropped(loop: SimulationLoop) -> None:
    a = process(loop)
    said: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(1)
        finally:
            await asyncio.sleep(1)
            said.append("cleaned up")

    async def main() -> None:
        async for _ in numbers():
            pass

    a.spawn(main())
    loop.at(3.5, a.kill)
    loop.run_forever()
    assert said == []


def test_who_waits_for_a_task_of_a_dead_process_waits_for_ever(loop: SimulationLoop) -> None:
    a, b = process(loop, "a"), process(loop, "b")
    task = a.spawn(asyncio.sleep(5))
    waiting = b.spawn(asyncio.wait({task}))
    loop.at(1, a.kill)
    loop.run_until(100)
    assert not waiting.done()
