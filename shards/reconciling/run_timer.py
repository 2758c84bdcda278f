"""Runs that take too long: one timer for all runs of an engine. asyncio.timeout would set one for each of them."""

from __future__ import annotations

import asyncio


class RunTimer:
    """Cancels tasks at the end of their time. Lives on one event loop.

    Those that begin first are expected to be due first, as they are where all may take the same time; another one is
    cancelled late, when those before it are through.
    """

    def __init__(self) -> None:
        self._due: dict[asyncio.Task[object], float] = {}
        """Times of the loop, in order of their beginning."""
        self._late: set[asyncio.Task[object]] = set()
        """Cancelled for it, and not ended yet."""
        self._timer: asyncio.TimerHandle | None = None
        """Set while _due is not empty; after the last one has ended it may still be set once."""

    def begin(self, task: asyncio.Task[object], seconds: float) -> None:
        """The task has so many seconds from now on; to be given to `end` by itself."""
        loop = asyncio.get_running_loop()
        due = self._due[task] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._look, loop)

    def end(self, task: asyncio.Task[object]) -> bool:
        """Whether the task took too long; False where it was never begun.

        The request to cancel it counts no more then: see Task.uncancel.
        """
        self._due.pop(task, None)
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def close(self) -> None:
        """Whatever runs is not cancelled any more."""
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while self._due:
            task, due = next(iter(self._due.items()))
            if due > now:
                self._timer = loop.call_at(due, self._look, loop)
                return
            del self._due[task]
            self._late.add(task)
            task.cancel()
        self._timer = None
