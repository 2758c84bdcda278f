"""Tasks of simulated processes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

from chaos.simulation.lane import Lane

T = TypeVar("T")


class SimulationTask(asyncio.Task[T]):
    """lane: whose it is. order: its hash, where other tasks have their address. Sets of tasks are walked in the order
    of hashes: `asyncio.TaskGroup` cancels what it has in that order, `asyncio.wait` returns them in it."""

    __slots__ = ("lane", "order")

    def __init__(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        loop: asyncio.AbstractEventLoop,
        lane: Lane,
        order: int,
        name: str,
        context: Context | None,
    ) -> None:
        self.lane = lane
        self.order = order  # asyncio puts it into a set as it is made
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.order
