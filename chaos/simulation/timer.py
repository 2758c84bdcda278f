"""What a simulation loop has to call at its time."""

from __future__ import annotations

from chaos.simulation.lane import Lane
from chaos.simulation.ready import Ready


class Timer(Ready):
    """What asyncio calls a TimerHandle. lane: whose it is. reading: seconds on the lane's clock when it is due."""

    __slots__ = ("lane", "reading")
    __hash__ = object.__hash__

    lane: Lane
    reading: float

    def when(self) -> float:
        return self.reading
