"""The tasks that run an engine's keys: one leads, and a run that has to wait keeps the task that began it.

A task for every key would cost more than most runs do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context

from shards.objects import Key


class Crew:
    """The leader takes keys and runs them itself, one after the other. Lives on one event loop.

    When a run waits for something, another task leads from the next turn of the loop on, and the first one ends with
    its run. So whoever is cancelled is one run and nobody else, and no two runs that wait share a task. Those that do
    not wait can be cancelled by themselves only; one that did so, or left a context variable behind, costs its task as
    well, so that the next key finds none of it.

    turn: what the leader does again and again; it takes one key at most, with `begins` and `ended` around its run, and
    waits for nothing while it leads but where it may be cancelled. waited: called once for a run that waits, with its
    task, and the time that `begins` was told.

    running: the task of each key that runs; of those that do not wait seen by themselves only.
    """

    def __init__(
        self,
        turn: Callable[[], Awaitable[None]],
        waited: Callable[[asyncio.Task[None], float], None],
        next_turn: Callable[[Callable[[], None]], None],
        name: str,
        run_name: str,
    ) -> None:
        """next_turn: has something called in the next turn of the loop.

        name: of the leader's task. run_name: of a task that runs a key, which is put behind it.
        """
        self.running: dict[Key, asyncio.Task[None]] = {}
        self._turn = turn
        self._waited = waited
        self._next_turn = next_turn
        self._name = name
        self._run_name = run_name
        self._context = Context()
        """What every run begins with: that of `start`."""
        self._leader: asyncio.Task[None] | None = None
        self._inside: float | None = None
        """The leader runs a key, since that reading of the clock."""
        self._looking = self._closed = False

    def start(self) -> None:
        self._context = copy_context()
        self._appoint()

    def begins(self, key: Key, now: float) -> None:
        """The leader begins to run the key."""
        leader = self._leader
        assert leader is not None, "only the leader takes keys"
        leader.set_name(f"{self._run_name} {key}")
        self.running[key] = leader
        self._inside = now
        if not self._looking:
            self._looking = True
            self._next_turn(self._look)

    def ended(self, key: Key) -> bool:
        """The run of the key is over, on whatever way. Whether nobody cancelled it."""
        task = self.running.pop(key)
        cancelled = bool(task.cancelling())
        if task is self._leader:
            self._inside = None
            task.set_name(self._name)
            if cancelled or self._closed or self._touched():
                self._appoint()
        return not cancelled

    def follows(self) -> bool:
        """Whether the running task leads no more; it ends then."""
        return asyncio.current_task() is not self._leader

    async def close(self) -> None:
        """Nobody leads any more. Runs go on, and their tasks end with them."""
        self._closed = True
        leader, self._leader = self._leader, None
        if leader is not None and self._inside is None:
            leader.cancel()
            await asyncio.wait((leader,))

    async def _lead(self) -> None:
        me = asyncio.current_task()
        while self._leader is me:
            await self._turn()

    def _appoint(self) -> None:
        if self._closed:
            self._leader = None
            return
        loop = asyncio.get_running_loop()
        self._leader = loop.create_task(self._lead(), name=self._name, context=self._context.copy())

    def _look(self) -> None:
        """In the turn of the loop after that in which a run began: if it still runs, it waits."""
        self._looking = False
        if self._inside is None:
            return
        since, self._inside = self._inside, None
        waiting = self._leader
        self._appoint()
        if waiting is not None:
            self._waited(waiting, since)

    def _touched(self) -> bool:
        """Whether a run that did not wait has left something in the leader's context."""
        now, clean = copy_context(), self._context
        if len(now) != len(clean):
            return True
        # By identity: values of authors may compare in whatever way.
        return len(now) > 0 and any(clean.get(variable, clean) is not value for variable, value in now.items())
