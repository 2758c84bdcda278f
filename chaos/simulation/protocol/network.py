"""What belongs to no process: what happens at a true time, whoever asked for it and whatever became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol


class TrueTime(Protocol):
    """See `chaos.simulation.loop.SimulationLoop`."""

    @property
    def now(self) -> float: ...

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any: ...

    def at(self, when: float, callback: Callable[..., object], *args: Any) -> Any: ...

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any: ...


class Network:
    """Calls at true times, and hands over to processes.

    at: calls at that true time; the call survives whoever asks for it.
    """

    def __init__(self, loop: TrueTime) -> None:
        self._loop = loop
        self.at = loop.at

    @property
    def now(self) -> float:
        return self._loop.now

    def hand_over(self, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """In that process, in its turn: when it runs again where it is paused, never where it is dead."""
        self._loop.call_soon(callback, *args, context=context)

    def on_clock(self, context: Context, reading: float, callback: Callable[..., object]) -> asyncio.TimerHandle:
        """In that process, when its clock shows this."""
        timer: asyncio.TimerHandle = self._loop.call_at(reading, callback, context=context)
        return timer
