"""Virtual time, and asyncio on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextvars import Context, ContextVar
from random import Random

import pytest

from chaos.simulation import agenda
from chaos.simulation.agenda import NothingLeft, TimeStandsStill
from chaos.simulation.loop import SimulationLoop


@pytest.fixture
def loop() -> SimulationLoop:
    return SimulationLoop(Random(1))


def test_an_hour_takes_no_time_and_is_an_hour(loop: SimulationLoop) -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert loop.run_until_complete(main()) == 3600
    assert loop.now == 3600


def test_timers_go_off_in_the_order_of_their_times_and_then_of_their_making(loop: SimulationLoop) -> None:
    said: list[str] = []
    for text, seconds in (("b", 2.0), ("a", 1.0), ("c", 2.0)):
        loop.call_later(seconds, said.append, text)
    loop.run_forever()
    assert said == ["a", "b", "c"]


def test_ready_handles_of_nobody_run_in_their_order(loop: SimulationLoop) -> None:
    said: list[int] = []
    for each in range(20):
        loop.call_soon(said.append, each)
    loop.run_forever()
    assert said == list(range(20))


def test_a_cancelled_handle_does_not_run(loop: SimulationLoop) -> None:
    said: list[str] = []
    soon, later = loop.call_soon(said.append, "soon"), loop.call_later(1, said.append, "later")
    same_moment: list[asyncio.TimerHandle] = [loop.call_later(1, lambda: same_moment[1].cancel())]
    same_moment.append(loop.call_later(1, said.append, "at the same moment"))
    soon.cancel()
    later.cancel()
    loop.run_forever()
    assert said == []
    assert [each.cancelled() for each in (soon, later, *same_moment)] == [True, True, False, True]
    assert later.when() == 1
    assert len({soon, later}) == 2


def test_a_cancelled_timer_does_not_move_time(loop: SimulationLoop) -> None:
    loop.call_later(5, print).cancel()
    loop.run_forever()
    assert loop.now == 0


def test_cancelled_timers_are_forgotten_long_before_they_are_due(loop: SimulationLoop) -> None:
    async def main() -> None:
        for _ in range(10_000):
            async with asyncio.timeout(3600):
                await asyncio.sleep(0.001)

    loop.run_until_complete(main())
    assert len(loop._timers) < 3000


def test_run_until_stops_in_between_and_goes_on(loop: SimulationLoop) -> None:
    said: list[float] = []
    for each in (1.0, 2.0, 3.0):
        loop.call_at(each, lambda: said.append(loop.now))
    loop.run_until(2.0)
    assert (said, loop.now) == ([1.0, 2.0], 2.0)
    loop.run_until(2.5)
    assert (said, loop.now) == ([1.0, 2.0], 2.5)
    loop.run_until(10.0)
    assert (said, loop.now) == ([1.0, 2.0, 3.0], 10.0)


def test_a_run_can_be_stopped_and_goes_on(loop: SimulationLoop) -> None:
    said: list[float] = []
    for each in (1.0, 2.0, 3.0):
        loop.call_at(each, lambda: said.append(loop.now))
    loop.call_at(2.0, loop.stop)
    assert not loop.run_until(10.0)
    assert (said, loop.now) == ([1.0, 2.0], 2.0)
    assert loop.run_until(10.0)
    assert (said, loop.now) == ([1.0, 2.0, 3.0], 10.0)


def test_what_is_put_at_a_true_time_sees_nothing_of_who_put_it(loop: SimulationLoop) -> None:
    colour = ContextVar("colour", default="none")
    seen: list[str] = []
    context = Context()
    context.run(colour.set, "red")
    context.run(loop.at, 1.0, lambda: seen.append(colour.get()))
    context.run(loop.call_at, 1.0, lambda: seen.append(colour.get()))
    loop.run_forever()
    assert seen == ["none", "red"]


def test_waiting_for_what_cannot_happen_is_an_error(loop: SimulationLoop) -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeft, match=r"nothing is ready at 0\.000 s"):
        loop.run_until_complete(main())
    loop.close()


def test_a_loop_that_does_not_sleep_is_an_error(loop: SimulationLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agenda, "MOST_AT_ONE_MOMENT", 1000)

    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(TimeStandsStill, match=r"1000 steps at 0\.000 s of network"):
        loop.run_until_complete(main())
    loop.close()


def test_timers_that_do_not_move_time_are_an_error(loop: SimulationLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agenda, "MOST_AT_ONE_MOMENT", 1000)

    def again() -> None:
        loop.call_later(0, again)

    again()
    with pytest.raises(TimeStandsStill, match=r"1000 steps at 0\.000 s of timers"):
        loop.run_forever()
    loop.close()


def test_an_error_of_a_callback_ends_nothing_else(loop: SimulationLoop) -> None:
    said: list[float] = []
    for seconds in (1, 2, 2):
        loop.call_later(seconds, int, "no")
        loop.call_later(seconds, lambda: said.append(loop.now))
    loop.run_forever()
    assert said == [1, 2, 2]
    assert [each.at for each in loop.troubles] == [1, 2, 2]


def test_it_has_what_the_product_uses_of_asyncio(loop: SimulationLoop) -> None:
    async def main() -> list[object]:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        event, lock, semaphore = asyncio.Event(), asyncio.Lock(), asyncio.Semaphore(2)
        done: list[object] = []

        async def put() -> None:
            for each in range(3):
                await queue.put(each)
                async with lock, semaphore:
                    await asyncio.sleep(1)
            event.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(put())
            done += [await queue.get() for _ in range(3)]
            await event.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 1)
        done += await asyncio.gather(asyncio.sleep(2, "slow"), asyncio.sleep(1, "fast"))
        one = asyncio.ensure_future(asyncio.sleep(1, "shielded"))
        done.append(await asyncio.shield(one))
        first, _ = await asyncio.wait(
            [asyncio.create_task(asyncio.sleep(each, each)) for each in (2, 1)], return_when=asyncio.FIRST_COMPLETED
        )
        done += [each.result() for each in first]
        with pytest.raises(ExceptionGroup):
            await both()
        assert asyncio.current_task() is not None
        return [*done, loop.now]

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(asyncio.sleep(100))

    async def fail() -> None:
        raise ValueError

    assert loop.run_until_complete(main()) == [0, 1, 2, "slow", "fast", "shielded", 1, 8.5]
    assert loop.troubles == []


def test_plain_functions_run_inline(loop: SimulationLoop) -> None:
    async def main() -> tuple[int, str]:
        good = await asyncio.to_thread(lambda: 7)
        with pytest.raises(ValueError, match="no"):
            await asyncio.to_thread(int, "no")
        return good, await loop.run_in_executor(None, str, 7)

    assert loop.run_until_complete(main()) == (7, "7")


def test_a_plain_function_that_waits_for_the_loop_is_refused(loop: SimulationLoop) -> None:
    async def main() -> None:
        sleep = asyncio.sleep(1)
        with contextlib.closing(sleep):
            await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(sleep, loop).result())

    with pytest.raises(NotImplementedError, match="has no threads"):
        loop.run_until_complete(main())


def test_an_asynchronous_generator_that_is_dropped_is_closed_by_a_task(loop: SimulationLoop) -> None:
    said: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(1)
            said.append(f"closed at {loop.now}")

    async def main() -> None:
        async for _ in numbers():
            break
        await asyncio.sleep(5)

    loop.run_until_complete(main())
    assert said == ["closed at 1.0"]


def test_an_error_that_nobody_asks_for_is_a_trouble(loop: SimulationLoop) -> None:
    async def fail() -> None:
        raise ValueError(object())

    async def main() -> None:
        asyncio.create_task(fail(), name="probe")  # noqa: RUF006  # nobody asks
        await asyncio.sleep(1)
        loop.call_soon(int, "no")
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    said = [(each.at, each.process, each.what) for each in loop.troubles]
    assert said == [
        (0.0, "network", "a task probe of network died of ValueError: <object object at 0x...>"),
        (1.0, "network", "a callback of network died of ValueError: invalid literal for int() with base 10: 'no'"),
    ]


def test_an_error_that_somebody_might_have_asked_for_is_a_trouble_at_the_end(loop: SimulationLoop) -> None:
    async def fail() -> None:
        raise ValueError("lost")

    tasks = [loop.create_task(fail()), loop.create_task(fail())]
    loop.run_until(1)
    tasks[0].exception()
    assert loop.troubles == []
    loop.close()
    assert [each.what for each in loop.troubles] == ["a task task-2 of network died of ValueError: lost"]


def test_simulations_do_not_run_within_one_another(loop: SimulationLoop) -> None:
    async def main() -> None:
        SimulationLoop(Random(2)).run_until(1)

    with pytest.raises(RuntimeError, match="outside of any"):
        loop.run_until_complete(main())


def test_a_closed_loop_is_not_run_again(loop: SimulationLoop) -> None:
    loop.close()
    loop.close()
    assert loop.is_closed()
    with pytest.raises(RuntimeError, match="a history has one loop of its own"):
        loop.run_until(1)


def test_between_runs_it_can_be_entered(loop: SimulationLoop) -> None:
    with loop.entered():
        task = asyncio.create_task(asyncio.sleep(1, "done"))
        assert asyncio.get_running_loop() is loop
        assert loop.is_running()
    assert not loop.is_running()
    assert loop.run_until_complete(task) == "done"
