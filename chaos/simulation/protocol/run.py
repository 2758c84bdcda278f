"""One history of the protocol depth: chaos, the healing, and until all is as it should be."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from chaos.simulation.conductor import Conductor
from chaos.simulation.happenings import Happening
from chaos.simulation.oracles.jury import Jury
from chaos.simulation.outcome import Breach, Outcome, Say
from chaos.simulation.plan import Plan
from chaos.simulation.protocol.fleet import ProtocolFleet
from chaos.simulation.sentences import is_routine, sentence_of
from chaos.simulation.strikes import Delete, Edit, Restore, Steal

START_SECONDS = 0.2
"""Within which a fleet starts."""

CHANGE_SECONDS = 1.5
"""Longest time between two changes of objects that fleets have to act on."""

STEP_SECONDS = 0.1
"""Between two looks at whether all is as it should be."""


def run_protocol(
    plan: Plan,
    *,
    say: Say | None = None,
    hear: Callable[[Happening], None] | None = None,
    until_seconds: float | None = None,
) -> Outcome:
    """Up to its first breach, or until nothing is wrong any more. say: hears every line of the trace. hear: a second
    ear beside the jury. until_seconds: ends it there, unsettled."""
    history = _History(plan, say, hear)
    try:
        return history.run(until_seconds)
    finally:
        history.fleet.close()


class _History:
    def __init__(self, plan: Plan, say: Say | None, hear: Callable[[Happening], None] | None) -> None:
        self._plan = plan
        self._say = say
        self._also = hear
        self.fleet = ProtocolFleet(plan.shape, plan.seed, hear=self._hear)
        self._jury = Jury(self.fleet.store, lease_seconds=plan.shape.lease_seconds)
        self._rng = random.Random(f"{plan.seed} world")

    def _hear(self, happening: Happening) -> None:
        if self._say is not None and not is_routine(happening):
            self._say(happening.at, sentence_of(happening))
        self._jury.hear(happening)
        if self._jury.breaches:
            self.fleet.loop.stop()
        if self._also is not None:
            self._also(happening)

    def _call_at(self, when: float, act: Callable[[], None]) -> None:
        self.fleet.network.at(max(when, self.fleet.now), act)

    def run(self, until_seconds: float | None) -> Outcome:
        fleet, jury, plan = self.fleet, self._jury, self._plan
        end = math.inf if until_seconds is None else until_seconds
        fleet.populate()
        for name in (*plan.shape.agent_names, *plan.shape.worker_names):
            fleet.network.at(START_SECONDS * self._rng.random(), fleet.start, name)
        Conductor(plan, fleet, now=lambda: fleet.now, call_at=self._call_at, hear=self._hear).start()
        at = CHANGE_SECONDS * self._rng.random()
        while plan.shape.objects and at < plan.chaos_seconds:
            fleet.network.at(at, fleet.touch, self._rng.randrange(plan.shape.objects))
            at += CHANGE_SECONDS * self._rng.random()
        overdue_at = plan.chaos_seconds + jury.settle_seconds
        if not self._goes_on(min(plan.chaos_seconds, end)):
            return self._outcome(None)
        while fleet.now < end and jury.settled(fleet.now) is not None:
            if fleet.now >= overdue_at:
                jury.overdue(fleet.now)
                return self._outcome(None)
            if not self._goes_on(fleet.now + STEP_SECONDS):
                return self._outcome(None)
        if fleet.now >= end:
            return self._outcome(None)
        self._ask_lookouts()
        return self._outcome(fleet.now - plan.chaos_seconds)

    def _ask_lookouts(self) -> None:
        """No alarm of two owners was given where nobody wrote records by hand: there were none, or I1 has said so."""
        plan = self._plan
        if plan.beyond or any(isinstance(each, Delete | Steal | Edit | Restore) for each in plan.strikes):
            return
        for name, node in sorted(self.fleet.nodes.items()):
            if node.lookout is not None and node.lookout.double_owners:
                what = f"the lookout of {name} has given an alarm of two owners"
                self._jury.breaches.append(Breach("I26", self.fleet.now, what))

    def _goes_on(self, until: float) -> bool:
        """Time passes until then. False: there was a breach."""
        if not self._jury.breaches:
            self.fleet.advance(until - self.fleet.now)
        return not self._jury.breaches

    def _outcome(self, settled_seconds: float | None) -> Outcome:
        return Outcome(
            seed=self._plan.seed,
            breaches=tuple(self._jury.breaches),
            seconds=self.fleet.now,
            settled_seconds=None if self._jury.breaches else settled_seconds,
            checks=self._jury.checks,
            hits=dict(self.fleet.hits),
        )
