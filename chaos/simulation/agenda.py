"""What a simulation has to do, and in which order: handles that are ready, by process, and timers.

The scheduling of `SimulationLoop`, without what asyncio asks of a loop.
"""

from __future__ import annotations

import heapq
import math
from itertools import repeat
from random import Random
from typing import Any

from chaos.simulation.lane import Lane
from chaos.simulation.process_clock import ProcessClock
from chaos.simulation.timer import Timer

MOST_AT_ONE_MOMENT = 1_000_000
"""Handles that may run before time moves on."""
_STALE_TIMERS = 1024
"""Timers, cancelled ones included, with which the cancelled ones are looked for."""


class NothingLeft(RuntimeError):
    """What was to happen cannot: nothing is ready, and no timer is set."""


class TimeStandsStill(RuntimeError):
    """Something is always ready: a loop that waits for time to pass without sleeping."""


class Stopped(BaseException):
    """Ends the run, from within a handle."""


class Agenda:
    """rng: for the order among processes. shuffled False: each runs until it waits, in the order of getting ready.

    now: true seconds since the start. Within one process the order is that of asyncio; a handle takes no time.
    """

    def __init__(self, rng: Random, *, shuffled: bool = True) -> None:
        self.now = 0.0
        self._random = rng.random if shuffled else None
        self._ready: list[Lane] = []
        self._timers: list[tuple[float, int, Timer]] = []
        self._number = 0
        self._stale = _STALE_TIMERS

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Hears of what a callback raises."""
        raise NotImplementedError

    def add_timer(self, timer: Timer) -> None:
        """For the time of its lane's clock. Of the dead, none."""
        if timer.lane.dead:
            return
        self._number += 1
        clock = timer.lane.clock
        when = timer.reading if clock is None else clock.to_true(timer.reading)
        heapq.heappush(self._timers, (when, self._number, timer))

    def relist(self, lane: Lane) -> None:
        """It is no longer shut."""
        if lane.queue and lane not in self._ready:
            self._ready.append(lane)
        lane.listed = lane in self._ready

    def drop(self, lane: Lane) -> None:
        """It never runs anything any more."""
        lane.bury()
        for _, _, timer in self._timers:
            if timer.lane is lane:
                timer.cancel()

    def clear(self) -> None:
        self._timers.clear()
        self._ready.clear()

    def rate_changed(self, clock: ProcessClock) -> None:
        """What waits for it is due at another true time."""
        self._timers[:] = [
            (when if timer.lane.clock is not clock else max(self.now, clock.to_true(timer.reading)), number, timer)
            for when, number, timer in self._timers
        ]
        heapq.heapify(self._timers)

    def _run_until(self, until: float) -> None:
        """Runs what is ready, and then what is due up to this true time, inclusive; `now` is that of the last of it.

        Raises NothingLeft where nothing is due and there is no end, TimeStandsStill, and what stops it.
        """
        timers, ready = self._timers, self._ready
        at_one_moment = 0
        while True:
            if ready:
                self._run_ready()
            if len(timers) > self._stale:
                self._forget_cancelled()
            while timers and timers[0][2][0] is None:
                heapq.heappop(timers)
            if not timers or timers[0][0] > until or timers[0][0] == math.inf:
                break
            when, _, timer = heapq.heappop(timers)
            if when > self.now:
                self.now = when
                at_one_moment = 0
            elif (at_one_moment := at_one_moment + 1) > MOST_AT_ONE_MOMENT:
                raise self._stands_still()
            if timers and timers[0][0] <= self.now:
                self._go_off(timer)
                while timers and timers[0][0] <= self.now:
                    self._go_off(heapq.heappop(timers)[2])
                continue
            clock = timer.lane.clock
            if clock is not None and timer.reading > clock.floor:
                clock.floor = timer.reading
            if timer.lane.shut:
                self._go_off(timer)
                continue
            callback, args, context = timer
            try:
                context.run(callback, *args)
            except (SystemExit, KeyboardInterrupt, Stopped):
                raise
            except BaseException as error:
                context.run(self.call_exception_handler, {"callback": callback, "exception": error})
        if until == math.inf:
            raise NothingLeft(f"nothing is ready at {self.now:.3f} s, and no timer is set")

    def _run_ready(self) -> None:
        """Runs all that is ready, and what gets ready by it."""
        ready, random = self._ready, self._random
        index = 0
        for _ in repeat(None, MOST_AT_ONE_MOMENT):
            if not ready:
                return
            if random is not None:
                index = int(random() * len(ready)) if len(ready) > 1 else 0
            lane = ready[index]
            if lane.shut:
                del ready[index]
                continue
            queue = lane.queue
            callback, args, context = queue.popleft()
            if callback is not None:
                try:
                    if args:
                        context.run(callback, *args)
                    else:
                        context.run(callback)
                except (SystemExit, KeyboardInterrupt, Stopped):
                    self._delist(index, lane)
                    raise
                except BaseException as error:
                    context.run(self.call_exception_handler, {"callback": callback, "exception": error})
            if not queue:
                del ready[index]
                lane.listed = lane.shut
        raise self._stands_still()

    def _delist(self, index: int, lane: Lane) -> None:
        if not lane.queue:
            del self._ready[index]
            lane.listed = lane.shut

    def _go_off(self, timer: Timer) -> None:
        """It is ready, or will be when its lane is no longer held."""
        lane = timer.lane
        clock = lane.clock
        if timer[0] is None:
            return
        if clock is not None and timer.reading > clock.floor:
            clock.floor = timer.reading
        if not lane.shut:
            lane.queue.append(timer)
            if not lane.listed:
                lane.listed = True
                self._ready.append(lane)
        elif not lane.dead:
            lane.due.append(timer)

    def _forget_cancelled(self) -> None:
        timers = self._timers
        timers[:] = [each for each in timers if each[2][0] is not None]
        heapq.heapify(timers)
        self._stale = max(_STALE_TIMERS, 2 * len(timers))

    def _stands_still(self) -> TimeStandsStill:
        busy = ", ".join(each.label for each in self._ready)
        steps = f"{MOST_AT_ONE_MOMENT} steps at {self.now:.3f} s"
        return TimeStandsStill(f"{steps} of {busy or 'timers'}: something loops without sleeping")
