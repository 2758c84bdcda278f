"""Whose turn it is: what one process has to run runs in its own order, that of different processes in any."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import Any
from weakref import ref

from chaos.simulation.process_clock import ProcessClock
from chaos.simulation.ready import Ready

_TASKS_KEPT = 64
"""Tasks that a lane remembers before it looks for the first time which of them are still there."""


class Lane:
    """The ready handles of one process, or of the network.

    clock: None = true time. queue: in the order in which they are to run. due: timers that went off while it was held.
    shut: nothing of it runs for now, or ever again where it is also dead. listed: the loop does not have to be told
    of another ready handle. tasks: that were created in it, in order, as long as somebody has them.
    """

    __slots__ = ("clock", "dead", "due", "label", "listed", "made", "most", "queue", "ready_when_shut", "shut", "tasks")

    def __init__(self, label: str, clock: ProcessClock | None = None) -> None:
        self.label = label
        self.clock = clock
        self.queue: deque[Ready] = deque()
        self.due: list[Ready] = []
        self.shut = self.dead = self.listed = False
        self.ready_when_shut = 0
        self.tasks: list[ref[asyncio.Task[Any]]] = []
        self.made = 0
        self.most = _TASKS_KEPT

    def remember(self, task: asyncio.Task[Any]) -> None:
        self.tasks.append(ref(task))
        if len(self.tasks) > self.most:
            self.tasks = [each for each in self.tasks if each() is not None]
            self.most = max(_TASKS_KEPT, 2 * len(self.tasks))

    def hold(self) -> None:
        """What is ready waits, and so does what becomes ready."""
        self.shut = self.listed = True
        self.ready_when_shut = len(self.queue)

    def release(self, *, timers_first: bool) -> None:
        """Back in line: first what was ready, then what has arrived, or what has gone off, whichever comes first."""
        self.shut = False
        arrived = [self.queue.pop() for _ in range(len(self.queue) - self.ready_when_shut)][::-1]
        for each in (self.due, arrived) if timers_first else (arrived, self.due):
            self.queue.extend(each)
        self.due = []

    def bury(self) -> None:
        """Nothing of it runs any more, and what is added to it is gone at once."""
        self.shut = self.dead = self.listed = True
        self.queue.clear()  # the loop may be looking at it
        self.queue = deque(maxlen=0)
        self.due = []


LANE: ContextVar[Lane | None] = ContextVar("lane", default=None)
"""Of the code that runs: its process. None: the network, or whoever directs the simulation."""
