"""Who runs an engine's keys: one task for runs that wait for nothing, and one for each run that waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from shards.limits.loop_turn import LoopTurn
from shards.objects import Key
from shards.reconciling.crew import Crew

pytestmark = pytest.mark.looptime

marked: ContextVar[str] = ContextVar("marked")

Run = Callable[[str], Awaitable[None]]


class Work:
    """Keys that are run by a crew. undisturbed: what the crew says of each. waited: names of tasks, and since when."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.undisturbed: dict[str, bool] = {}
        self.waited: list[tuple[str, float]] = []
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self.crew = Crew(self._turn, self._waits, LoopTurn(lambda: 1.0).then, "queue", "run")

    def _waits(self, task: asyncio.Task[None], since: float) -> None:
        self.waited.append((task.get_name(), since))

    async def _turn(self) -> None:
        name = await self._ready.get()
        key = Key("", name, name)
        self.crew.begins(key, asyncio.get_running_loop().time())
        task = asyncio.current_task()
        assert task is not None
        self.tasks[name] = task
        try:
            await self.run(name)
        finally:
            self.undisturbed[name] = self.crew.ended(key)

    async def add(self, *names: str) -> None:
        for name in names:
            self._ready.put_nowait(name)
        for _ in range(5):
            await asyncio.sleep(0)


@asynccontextmanager
async def working(run: Run) -> AsyncIterator[Work]:
    work = Work(run)
    work.crew.start()
    yield work
    await work.crew.close()
    await asyncio.gather(*work.crew.running.values(), return_exceptions=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def nothing(name: str) -> None: ...


async def waits(name: str) -> None:
    await asyncio.sleep(10)


async def test_runs_that_wait_for_nothing_share_a_task() -> None:
    async with working(nothing) as work:
        await work.add("a", "b", "c")
        assert len(set(work.tasks.values())) == 1
        assert work.waited == []
        assert not work.crew.running


async def test_every_run_that_waits_has_a_task_to_itself() -> None:
    async with working(waits) as work:
        await work.add("a", "b", "c")
        await work.add("d")
        assert len(set(work.tasks.values())) == 4
        assert [name for name, _ in work.waited] == ["run a", "run b", "run c", "run d"]
        assert {key.name: task for key, task in work.crew.running.items()} == work.tasks
        await asyncio.sleep(11)
        assert not work.crew.running
        await work.add("e")
        assert len(set(work.tasks.values())) == 5


async def test_a_run_that_waits_only_for_the_loops_next_turn_waits_too() -> None:
    async with working(lambda name: asyncio.sleep(0)) as work:
        await work.add("a")
        await work.add("b")
        assert work.tasks["a"] is not work.tasks["b"]


async def test_tasks_are_named_after_their_runs_and_the_leader_after_the_queue() -> None:
    names: list[str] = []

    async def notes(name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        names.append(task.get_name())

    async with working(notes) as work:
        await work.add("a", "b")
        assert names == ["run a", "run b"]
        assert work.tasks["a"].get_name() == "queue"


async def test_a_cancelled_run_costs_no_other_one() -> None:
    async with working(waits) as work:
        await work.add("a", "b")
        work.tasks["a"].cancel()
        await work.add("c")
        assert work.undisturbed == {"a": False}
        await asyncio.sleep(11)
        assert work.undisturbed == {"a": False, "b": True, "c": True}


async def test_a_run_that_is_cancelled_in_the_turn_in_which_it_began_to_wait_leaves_the_lead_to_another() -> None:
    async with working(waits) as work:
        work._ready.put_nowait("a")
        while not work.tasks:
            await asyncio.sleep(0)
        work.tasks["a"].cancel()
        await work.add("b")
        assert work.undisturbed == {"a": False}
        assert [key.name for key in work.crew.running] == ["b"]


async def test_a_run_that_cancels_itself_without_waiting_takes_its_task_with_it() -> None:
    async def cancels(name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        if name == "a":
            task.cancel()
        assert task.cancelling() == (name == "a")

    async with working(cancels) as work:
        await work.add("a", "b")
        assert work.undisturbed == {"a": False, "b": True}
        assert work.tasks["a"] is not work.tasks["b"]
        assert work.tasks["a"].done()


async def test_a_context_variable_that_a_run_left_behind_is_not_seen_by_the_next_one() -> None:
    seen: dict[str, str] = {}

    async def marks(name: str) -> None:
        seen[name] = marked.get("nobody")
        marked.set(name)

    marked.set("whoever made the engine")
    async with working(marks) as work:
        await work.add("a", "b", "c")
        assert seen == dict.fromkeys("abc", "whoever made the engine")


async def test_a_context_variable_that_was_reset_costs_nobody_his_task() -> None:
    async def marks(name: str) -> None:
        marked.reset(marked.set(name))

    async with working(marks) as work:
        await work.add("a", "b")
        assert work.tasks["a"] is work.tasks["b"]


async def test_values_of_context_variables_are_never_compared() -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]

    odd: ContextVar[Incomparable] = ContextVar("odd")
    odd.set(Incomparable())

    async def changes(name: str) -> None:
        odd.set(Incomparable())

    async with working(changes) as work:
        await work.add("a", "b")
        assert work.undisturbed == {"a": True, "b": True}


async def test_timeouts_and_groups_of_an_authors_own_work_in_both() -> None:
    found: list[str] = []

    async def author(name: str) -> None:
        async with asyncio.timeout(5):
            async with asyncio.TaskGroup() as group:
                child = group.create_task(asyncio.sleep(1, name))
            found.append(child.result())
        try:
            async with asyncio.timeout(1):
                await asyncio.sleep(60)
        except TimeoutError:
            found.append(f"{name} in time")

    async def quick(name: str) -> None:
        async with asyncio.timeout(5):
            await at_once(name)

    async def at_once(name: str) -> None:
        found.append(name)

    async with working(lambda name: author(name) if name == "a" else quick(name)) as work:
        await work.add("b", "a", "c")
        await asyncio.sleep(5)
        assert found == ["b", "c", "a", "a in time"]
        assert all(work.undisturbed.values())


async def test_an_author_that_raises_in_a_group_without_waiting_leaves_no_cancellation_behind() -> None:
    async def author(name: str) -> None:
        try:
            async with asyncio.TaskGroup():
                raise ValueError(name)
        except* ValueError:
            pass

    async with working(author) as work:
        await work.add("a", "b")
        assert work.undisturbed == {"a": True, "b": True}


async def test_who_is_told_of_a_wait_is_told_when_the_run_began() -> None:
    async with working(waits) as work:
        await asyncio.sleep(3)
        await work.add("a")
        assert work.waited == [("run a", 3.0)]


async def test_after_the_close_nobody_leads_and_runs_go_on() -> None:
    async with working(waits) as work:
        await work.add("a")
        await work.crew.close()
        await work.add("b")
        assert [key.name for key in work.crew.running] == ["a"]
        await asyncio.sleep(11)
        assert work.undisturbed == {"a": True}


async def test_a_close_in_the_turn_in_which_a_run_began_to_wait_cancels_nothing() -> None:
    async with working(waits) as work:
        work._ready.put_nowait("a")
        while not work.tasks:
            await asyncio.sleep(0)
        await work.crew.close()
        await asyncio.sleep(11)
        assert work.undisturbed == {"a": True}
        assert work.tasks["a"].done()
        assert not work.tasks["a"].cancelled()
