"""Which key of one engine runs next: past those that are not to be reconciled at all, or not now.

Paused by somebody, quarantined, held back by the gate, or suspected of having ended a worker beside another one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from shards.objects import Key
from shards.ownership.fence import Fence
from shards.queue.failing_keys import FailingKeys
from shards.queue.suspects import Again
from shards.queue.waiting_keys import WaitingKeys
from shards.queue.workqueue import WorkQueue
from shards.reconciling.engine_notes import EngineNotes
from shards.reconciling.parked_keys import ParkedKeys
from shards.runtime import WorkerRuntime
from shards.stores.store import StoreReader

log = logging.getLogger(__name__)

LOOKS_AT_ONCE = 100
"""Keys that are held back in a row before other tasks of the loop get their turn."""

SURVIVED = frozenset(
    {"success", "requeue", "requeue_after", "error", "terminal", "timeout", "conflict", "not_ready", "breaker_open"}
)
"""Ends of a reconcile that are its own. One that was cancelled by others might still have ended the process."""


class Admission:
    """Asked for every key that the queue hands out. A key that is paused or quarantined is done there, and costs
    nothing until it is queued again: by a change of its object, or by whoever lets it run.

    paused: keys whose objects were seen to ask for that.
    """

    def __init__(
        self,
        controller: str,
        runtime: WorkerRuntime,
        primaries: StoreReader,
        queue: WorkQueue[Key],
        parked: ParkedKeys,
        failing: FailingKeys,
        waiting: WaitingKeys,
        notes: EngineNotes,
        again: Again,
    ) -> None:
        """again: queues a key."""
        self._notes = notes
        self.paused: set[Key] = set()
        self._controller = controller
        self._suspects = runtime.suspects
        self._in_flight = runtime.in_flight
        self._clock = runtime.clock
        self._primaries = primaries
        self._queue = queue
        self._parked = parked
        self._failing = failing
        self._waiting = waiting
        self._again = again
        self._flights: dict[Key, int] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """Keys that are paused, and keys that are quarantined, as far as they were to run here."""
        return len(self.paused), sum(again == self._again for again in self._suspects.quarantined.values())

    async def next_key(
        self, fence: Fence, now: float, may_begin: Callable[[float], bool], ring: Callable[[], None]
    ) -> tuple[Key | None, float]:
        """The first ready key that may run, for a slot that the caller holds, and the time; None: none so far.

        It waits only for a key that is to run with nothing else in flight. may_begin: asked then. ring: see ParkedKeys.
        """
        for _ in range(LOOKS_AT_ONCE):
            key = self._queue.get(now)
            if key is None:
                return None, now
            if not self._held_back(fence, key, now, ring):
                if not self._suspects.runs_alone(self._controller, key):
                    return key, now
                may = await self._alone(key, may_begin)
                return key if may else None, self._clock()
        return None, now

    def _held_back(self, fence: Fence, key: Key, now: float, ring: Callable[[], None]) -> bool:
        try:
            if self._set_aside(key, now) or self._parked.held_back(fence, key, now, ring):
                return True
        except Exception as error:  # whatever is wrong with the records of one key, the others must go on
            self._failing.failed(key, error, now)
            log.exception("the gate of %s %s", self._controller, key)
            self._queue.add_rate_limited(key, now)
            self._queue.done(key, now)
            return True
        suspects = self._suspects
        if suspects.deaths and suspects.must_wait(self._controller, key, self._again):
            self._queue.done(key, now)
            self._note(key, now, "turn")
            return True
        return False

    def _set_aside(self, key: Key, now: float) -> bool:
        """Whether the key is not to run, whatever its views show."""
        if self._primaries.paused(key):
            self.paused.add(key)
        else:
            if self.paused:
                self.paused.discard(key)
            suspects = self._suspects
            if not (suspects.deaths and suspects.is_quarantined(self._controller, key, self._again)):
                return False
        # Nobody waits for it, and nobody is to be told that it fails.
        self._parked.give_up(key)
        self._failing.succeeded(key)
        self._waiting.over(key)
        self._queue.forget(key)
        self._queue.done(key, now)
        self._note(key, now, "paused" if key in self.paused else "quarantined")
        return True

    def _note(self, key: Key, now: float, why: str) -> None:
        if self._notes.on:
            self._notes.aside(key, now, why)

    async def _alone(self, key: Key, may_begin: Callable[[float], bool]) -> bool:
        """Returns when the key runs with nothing else. False: it may not run any more, and is queued again."""
        may = False
        try:
            await self._suspects.alone()
            may = may_begin(self._clock())
        finally:
            if not may:
                self._suspects.ended(self._controller, key, survived=False)
                self._again(key)
                self._queue.done(key, self._clock())
        return may

    def begins(self, key: Key, now: float) -> None:
        """From here on its reconcile may end the process."""
        generation = self._primaries.generation_of(key) or 0
        self._flights[key] = self._in_flight.begins(self._controller, key, generation, now)

    def ended(self, key: Key, outcome: str) -> None:
        """The process has survived it. outcome: of the reconcile."""
        self._in_flight.ended(self._flights.pop(key), cancelled=outcome == "cancelled")
        if self._suspects.running:
            self._suspects.ended(self._controller, key, survived=outcome in SURVIVED)

    def close(self) -> None:
        """No key is asked for any more."""
        self._suspects.forget(self._again)
