"""A simulated process: code that shares a clock, is paused as a whole, and dies as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, ParamSpec, TypeVar

from chaos.simulation.lane import LANE, Lane
from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process_clock import ProcessClock

T = TypeVar("T")
P = ParamSpec("P")

_LONGEST_UPTIME_SECONDS = 1 << 20


class Process(Lane):
    """label: name and count of starts, "a/2". clock: its boot clock; that of its machine where it is given one.

    rng: for its uptime, and for what a paused process finds first. All that code running in it creates (tasks, timers,
    callbacks) is its own.
    """

    __slots__ = ("_context", "_loop", "_rng", "name")

    clock: ProcessClock

    def __init__(
        self, name: str, count: int, loop: SimulationLoop, rng: Random, *, clock: ProcessClock | None = None
    ) -> None:
        super().__init__(f"{name}/{count}", clock or ProcessClock(loop, float(rng.randrange(_LONGEST_UPTIME_SECONDS))))
        self.name = name
        self._loop = loop
        self._rng = rng
        self._context = Context()
        self._context.run(LANE.set, self)
        loop.admit(self)

    @property
    def alive(self) -> bool:
        return not self.dead

    @property
    def paused(self) -> bool:
        return self.shut and not self.dead

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Runs it as a task of this process."""
        return self._loop.create_task(coro, name=name, context=self._context.copy())

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls it here and now as if the process did."""
        return self._context.copy().run(function, *args, **kwargs)

    def run_at(self, rate: float) -> None:
        """Its clock goes at this rate; what it waits for comes sooner or later."""
        self.clock.run_at(rate)

    def pause(self) -> None:
        """SIGSTOP: nothing of it runs; its clock and what is on the wire go on."""
        if not self.shut:
            self.hold()

    def resume(self) -> None:
        """SIGCONT. What was ready goes on; then come answers and timers, whichever the seed says first: event loops
        differ in that, and so does what a process was about when it was stopped."""
        if self.paused:
            self.release(timers_first=self._rng.random() < 0.5)
            self._loop.relist(self)

    def kill(self) -> None:
        """SIGKILL: nothing of it runs any more. `finally` blocks do run, within this call, and have to be without
        consequence: what they would send or tell, its wire and its observers drop as long as they ask `alive`.

        Called by the process itself, it returns, and the handle that called it runs on up to its next await.
        """
        if not self.dead:
            self.call(self._loop.bury, self)


def current_process() -> Process | None:
    """Whose code runs. None: nobody's."""
    lane = LANE.get()
    return lane if isinstance(lane, Process) else None
