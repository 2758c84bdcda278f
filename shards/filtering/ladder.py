"""The filter ladder of one worker: what is known of each rung of each resource, and when it is asked again. No I/O.

Two rungs have to be proven. SHARD_SELECTOR: the server filters by it, which one that does not says nowhere.
SLOT_LABELS: every child carries its label, since one that does not would be invisible. LOCAL always holds. A proof is
given up at once, by a probe or by a foreign object; nothing was lost by then, since the range is checked here in every
mode. It comes back slowly: behind one address there may be servers of both kinds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from shards.clock import Clock
from shards.objects import Resource
from shards.watching.source import FilterMode

PROVABLE = (FilterMode.SHARD_SELECTOR, FilterMode.SLOT_LABELS)

PAUSE_SECONDS = (60.0, 3600.0)
"""Between a refutation and the next question, first and longest: it doubles with each fall, and each answer of no."""

AUDIT_SECONDS = 600.0
"""Between two questions about what is proven, where no view connected again in between."""

RECONNECT_SECONDS = 30.0
"""After a question, before one that a reconnect asks for: of many views one connects anew every few seconds."""

CONFIRMATIONS = 2
"""Proofs in a row that lift a refutation."""

STEADY_SECONDS = 3600.0
"""A proof that held for so long is not what falls again and again."""


class Verdict(StrEnum):
    PROVEN = "proven"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Switch(StrEnum):
    """auto: as proven. on: whoever runs the fleet says so, and nothing is asked. off: never."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(slots=True)
class Rung:
    """One filter of one resource. Times are boot-clock readings.

    why: what the verdict rests on, in a clause. foreign: objects that came although the filter should have kept them
    away. probed_at: of the last question that was answered, whatever the answer; None before. asked_at: of the last
    one, answered or not. since: of the verdict.
    """

    resource: Resource
    mode: FilterMode
    verdict: Verdict = Verdict.UNKNOWN
    why: str = "not asked yet"
    foreign: int = 0
    probed_at: float | None = None
    asked_at: float = -inf
    since: float = -inf
    due_at: float = -inf
    confirmations: int = 0
    falls: int = 0
    refusals: int = 0


@dataclass
class FilterLadder:
    """told: called once per change of a verdict, and for the first foreign object of a rung that is switched on.

    poked: called when something may be due earlier than it was.
    """

    clock: Clock
    rng: random.Random
    told: Callable[[Rung], None] = lambda _: None
    poked: Callable[[], None] = lambda: None
    switches: dict[FilterMode, Switch] = field(default_factory=dict)
    assumed: dict[FilterMode, bool] = field(default_factory=dict)
    """What holds of resources of which nothing is known, where nobody asks."""
    rungs: dict[tuple[Resource, FilterMode], Rung] = field(default_factory=dict)

    def rung(self, resource: Resource, mode: FilterMode) -> Rung:
        """Made when it is first asked for."""
        found = self.rungs.get((resource, mode))
        if found is None:
            found = self.rungs[resource, mode] = Rung(resource, mode, since=self.clock())
        return found

    def usable(self, resource: Resource, mode: FilterMode) -> bool:
        """Whether a view that is opened now may rely on it. What was not asked so far is asked from here on."""
        if mode is FilterMode.LOCAL:
            return True
        switch = self._switch(mode)
        if switch is not Switch.AUTO:
            return switch is Switch.ON
        if mode in self.assumed and (resource, mode) not in self.rungs:
            return self.assumed[mode]
        if (resource, mode) not in self.rungs:
            self.poked()
        rung = self.rung(resource, mode)
        if rung.verdict is Verdict.UNKNOWN:
            return self.assumed.get(mode, False)
        return rung.verdict is Verdict.PROVEN

    def any_usable(self, mode: FilterMode) -> bool:
        """Whether some resource may rely on it."""
        return (
            self._switch(mode) is Switch.ON
            or self.assumed.get(mode, False)
            or any(self.usable(resource, each) for resource, each in self.rungs if each is mode)
        )

    def assume(self, mode: FilterMode, holds: bool) -> None:
        """Of all resources of which nothing else is known."""
        self.assumed[mode] = holds

    def follow(self, switches: Mapping[FilterMode, Switch]) -> None:
        """From now on. What is switched to auto is asked at once: what was known of it may be long past."""
        before = {mode: self._switch(mode) for mode in PROVABLE}
        self.switches = dict(switches)
        for rung in self.rungs.values():
            if self._switch(rung.mode) is Switch.AUTO and before[rung.mode] is not Switch.AUTO:
                rung.due_at = self.clock()
        self.poked()

    def _switch(self, mode: FilterMode) -> Switch:
        return self.switches.get(mode, Switch.AUTO)

    # -- what happens ------------------------------------------------------------------------------------------------

    def foreign(self, resource: Resource, mode: FilterMode) -> None:
        """An object came that the server should have kept away."""
        rung = self.rung(resource, mode)
        rung.foreign += 1
        if self._switch(mode) is Switch.ON:
            if rung.foreign == 1:
                rung.why = "switched on, and foreign objects come all the same"
                self.told(rung)
        elif rung.verdict is not Verdict.REFUTED:
            self._refuted(rung, "an object of another range came through the filter")
            self.poked()

    def reconnected(self, resource: Resource, mode: FilterMode) -> None:
        """A view of the resource has another connection, and perhaps another server."""
        rung = self.rungs.get((resource, mode))
        if rung is None or mode is FilterMode.SLOT_LABELS:  # labels are the same at all servers
            return
        if rung.falls and rung.verdict is Verdict.REFUTED:  # it waits out its pause
            return
        earliest = max(rung.asked_at + RECONNECT_SECONDS, self.clock())
        if earliest < rung.due_at:
            rung.due_at = earliest
            self.poked()

    def answered(self, rung: Rung, holds: bool | None, why: str) -> None:
        """A question was answered. None: nothing could be learnt, and what is known stays."""
        now = rung.asked_at = self.clock()
        if holds is None:
            rung.due_at = now + self._spread(PAUSE_SECONDS[0])
            if rung.verdict is Verdict.UNKNOWN:
                rung.why = why
            return
        rung.probed_at = now
        if not holds:
            rung.refusals += 1
            if rung.verdict is Verdict.REFUTED:
                rung.confirmations, rung.why = 0, why
                self._pause(rung)
            else:
                self._refuted(rung, why)
            return
        rung.confirmations += 1
        needed = CONFIRMATIONS if rung.verdict is Verdict.REFUTED else 1
        if rung.confirmations < needed:
            rung.due_at = now + self._spread(RECONNECT_SECONDS)
            return
        rung.due_at = now + self._spread(AUDIT_SECONDS)
        rung.refusals = 0
        self._set(rung, Verdict.PROVEN, why)

    def failed(self, rung: Rung, why: str) -> None:
        """A question got no answer, which says nothing about the rung."""
        rung.asked_at = self.clock()
        rung.due_at = rung.asked_at + self._spread(PAUSE_SECONDS[0])
        if rung.verdict is Verdict.UNKNOWN:
            rung.why = why

    # -- what is due -------------------------------------------------------------------------------------------------

    def due(self) -> list[Rung]:
        """What is to be asked now."""
        now = self.clock()
        return [rung for rung in self._asked() if rung.due_at <= now]

    def next_due(self) -> float:
        """Boot-clock reading at which something is to be asked; infinity where nothing is."""
        return min((rung.due_at for rung in self._asked()), default=inf)

    def _asked(self) -> list[Rung]:
        return [rung for rung in self.rungs.values() if self._switch(rung.mode) is Switch.AUTO]

    def _refuted(self, rung: Rung, why: str) -> None:
        if rung.verdict is Verdict.PROVEN:
            steady = self.clock() - rung.since >= STEADY_SECONDS
            rung.falls = 1 if steady else rung.falls + 1
        rung.confirmations = 0
        self._pause(rung)
        self._set(rung, Verdict.REFUTED, why)

    def _pause(self, rung: Rung) -> None:
        first, longest = PAUSE_SECONDS
        doublings = max(rung.falls, rung.refusals) - 1
        rung.due_at = self.clock() + self._spread(min(first * 2.0 ** max(0, min(doublings, 10)), longest))

    def _set(self, rung: Rung, verdict: Verdict, why: str) -> None:
        changed = rung.verdict is not verdict
        rung.verdict, rung.why = verdict, why
        if changed:
            rung.since = self.clock()
            self.told(rung)

    def _spread(self, seconds: float) -> float:
        """Workers that began together do not ask together."""
        return seconds * self.rng.uniform(0.8, 1.2)
