"""The event loop of both depths: virtual time, processes, and a seeded order of what is ready at one moment.

The tasks, futures and synchronisation on it are asyncio's own. It has no sockets, no signals and no threads.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack, cast

from chaos.simulation.agenda import Agenda, NothingLeft, Stopped
from chaos.simulation.collector import collector_off
from chaos.simulation.lane import LANE, Lane
from chaos.simulation.ready import Ready
from chaos.simulation.remains import end_tasks, unretrieved
from chaos.simulation.task import SimulationTask
from chaos.simulation.timer import Timer
from chaos.simulation.trouble import Trouble, trouble_of

if TYPE_CHECKING:
    _Base = asyncio.BaseEventLoop  # whose methods are not abstract for the type checker
else:
    _Base = asyncio.AbstractEventLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_HASHES = (1 << 60) - 1
"""Numbers that are their own hash."""


class SimulationLoop(Agenda, _Base):
    """See Agenda. on_trouble: hears of what nobody caught (`Trouble`); without it they are in `troubles`.

    Whose a handle is, its context says (`lane.LANE`). One history has one loop, from `collector_off` to `close`.
    """

    def __init__(
        self, rng: Random, *, shuffled: bool = True, on_trouble: Callable[[Trouble], None] | None = None
    ) -> None:
        super().__init__(rng, shuffled=shuffled)
        self.troubles: list[Trouble] = []
        self._tell = self.troubles.append if on_trouble is None else on_trouble
        self._network = Lane("network")
        self._lanes = [self._network]
        self._made = 0
        self._spread = rng.getrandbits(60) | 1 if shuffled else 1
        self._closed = self._inline = False

    # -- what asyncio asks of a loop ---------------------------------------------------------------------------------

    def time(self) -> float:
        """Seconds: on the clock of the process that asks, true ones for everybody else."""
        lane = LANE.get()
        return self.now if lane is None or lane.clock is None else lane.clock()

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if context is None:
            context = copy_context()
        lane = context.get(LANE) or self._network
        handle = Ready((callback, args, context))
        lane.queue.append(handle)
        if not lane.listed:
            lane.listed = True
            self._ready.append(lane)
        return handle  # type: ignore[return-value]

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self._inline:
            raise NotImplementedError("a simulation has no threads: a plain function cannot wait for its event loop")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if context is None:
            context = copy_context()
        lane = context.get(LANE) or self._network
        clock = lane.clock
        timer = Timer((callback, args, context))
        timer.lane = lane
        timer.reading = (self.now if clock is None else clock()) + delay
        self.add_timer(timer)
        return timer  # type: ignore[return-value]

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if context is None:
            context = copy_context()
        lane = context.get(LANE) or self._network
        timer = Timer((callback, args, context))
        timer.lane = lane
        timer.reading = when
        self.add_timer(timer)
        return timer  # type: ignore[return-value]

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        lane = (LANE.get() if context is None else context.get(LANE)) or self._network
        lane.made += 1
        self._made += 1
        order = self._made * self._spread & _HASHES
        task = SimulationTask(coro, self, lane, order, f"task-{lane.made}" if name is None else str(name), context)
        lane.remember(task)
        if lane.dead:
            end_tasks([task])
        return task

    def run_in_executor(self, executor: object, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        """Runs it in a handle of its own: it takes no time, and may not wait for the loop."""
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(self._run_inline, future, func, args)
        return future

    def _run_inline(self, future: asyncio.Future[T], func: Callable[..., T], args: tuple[Any, ...]) -> None:
        if future.cancelled():
            return
        self._inline = True
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        finally:
            self._inline = False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Somebody died of an error that nobody asked for. Not told of the dead."""
        trouble = None if self._closed else trouble_of(context, self.now)
        if trouble is not None:
            self._tell(trouble)

    default_exception_handler = call_exception_handler

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def _timer_handle_cancelled(self, handle: object) -> None: ...

    # -- what a simulation asks --------------------------------------------------------------------------------------

    def at(self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> asyncio.TimerHandle:
        """Calls it at this true time for nobody: it survives whoever asked for it, and sees nothing of their context.

        A time that has passed is now: after all that is ready.
        """
        timer = Timer((callback, args, Context()))
        timer.lane = self._network
        timer.reading = when
        self._number += 1
        heapq.heappush(self._timers, (when, self._number, timer))
        return timer  # type: ignore[return-value]

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Runs until it is done, as nobody's. Raises NothingLeft where it cannot be, TimeStandsStill, and its error."""
        awaited: asyncio.Future[T] = asyncio.ensure_future(cast("Awaitable[T]", future), loop=self)
        awaited.add_done_callback(_stop, context=Context())
        self._run(math.inf)
        return awaited.result()

    def run_until(self, when: float) -> bool:
        """Runs what happens until this true time, inclusive; then it is that time, even if there was nothing to do.

        False: somebody has called `stop`, and it is as late as it was then.
        """
        if not self._run(when):
            return False
        self.now = max(self.now, when)
        return True

    def run_forever(self) -> None:
        """Runs until nothing is left, or somebody calls `stop`."""
        try:
            self._run(math.inf)
        except NothingLeft:
            return

    def stop(self) -> None:
        """Ends the run at this moment; what is ready may run before. Another run goes on where it ended."""
        self.call_soon(_stop, None, context=Context())

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The loop is the running one within: for code between two runs that asks for it."""
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("another event loop is running in this thread: simulations run outside of any")
        hooks = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._dropped)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """The end of the history: what is left of it is dropped unseen, after the troubles that were not told yet."""
        if self._closed:
            return
        for lane in self._lanes:
            for trouble in [] if lane.dead else unretrieved(lane, self.now):
                self._tell(trouble)
        self._closed = True
        for lane in self._lanes:
            self.bury(lane)
        self.clear()
        self._lanes.clear()

    # -- what processes ask ------------------------------------------------------------------------------------------

    def admit(self, lane: Lane) -> None:
        """From now on it can have handles, timers and tasks."""
        self._lanes.append(lane)
        if lane.clock is not None and self.rate_changed not in lane.clock.listeners:
            lane.clock.listeners.append(self.rate_changed)

    def bury(self, lane: Lane) -> None:
        """Drops what it has ready and set, and ends its tasks. What their cleanup does goes nowhere, where it asks."""
        self.drop(lane)
        tasks = [task for each in lane.tasks if (task := each()) is not None]
        lane.tasks.clear()
        running = end_tasks(tasks)
        if running and not self._closed:
            self.call_soon(end_tasks, running, context=Context())

    def _dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An asynchronous generator that was not exhausted: its rest is run by a task, unless its process is dead."""
        lane = LANE.get() or self._network
        if not (self._closed or lane.dead):
            self.create_task(generator.aclose())

    # -- running -----------------------------------------------------------------------------------------------------

    def _run(self, until: float) -> bool:
        if self._closed:
            raise RuntimeError("the loop is closed: a history has one loop of its own")
        with self.entered(), collector_off():
            try:
                self._run_until(until)
            except Stopped:
                return False
        return True


def _stop(_done: object) -> None:
    raise Stopped
