"""What one controller did in one shard lately: enough to compare one part of a fleet with another. PURE."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

SPAN_SECONDS = 300.0
"""How far back it looks. Longer than any pause that the gate makes; short enough that an old hiccup is forgotten."""

STEP_SECONDS = 10.0


@dataclass(slots=True)
class Step:
    """Sums and maxima of ten seconds. at: its number since the clock's zero."""

    at: int
    reconciles: int = 0
    requests: int = 0
    live_reads: int = 0
    longest_wait_seconds: float = 0.0
    longest_parked_seconds: float = 0.0


class Tally:
    """Counts over the last five minutes. `now` is a boot-clock reading and never goes back.

    Memory: at most 31 small records, and none for a shard in which nothing happens.
    """

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=int(SPAN_SECONDS / STEP_SECONDS) + 1)

    def started(self, now: float, waited_seconds: float) -> None:
        """A reconcile began, so long after its key was ready."""
        step = self._step(now)
        step.reconciles += 1
        if waited_seconds > step.longest_wait_seconds:
            step.longest_wait_seconds = waited_seconds

    def parked(self, now: float, seconds: float) -> None:
        """A key was free again after its view had kept it for so long."""
        step = self._step(now)
        step.longest_parked_seconds = max(step.longest_parked_seconds, seconds)

    def requested(self, now: float, *, live: bool) -> None:
        """A request went out for a reconcile, or for a key that waits. live: a live read of the gate."""
        step = self._step(now)
        step.requests += 1
        step.live_reads += live

    def begin_anew(self) -> None:
        """A feature was switched: what was before says nothing about what is."""
        self._steps.clear()

    def sums(self, now: float) -> Step:
        """All of the last five minutes. Its `at` says nothing."""
        first = int((now - SPAN_SECONDS) // STEP_SECONDS)
        total = Step(first)
        for step in self._steps:
            if step.at >= first:
                total.reconciles += step.reconciles
                total.requests += step.requests
                total.live_reads += step.live_reads
                total.longest_wait_seconds = max(total.longest_wait_seconds, step.longest_wait_seconds)
                total.longest_parked_seconds = max(total.longest_parked_seconds, step.longest_parked_seconds)
        return total

    def _step(self, now: float) -> Step:
        at = int(now // STEP_SECONDS)
        if not self._steps or self._steps[-1].at != at:
            self._steps.append(Step(at))
        return self._steps[-1]
