"""Which member should own which range, by what the ranges cost. Pure: the same inputs give the same plan.

Movement is minimal. A range moves because its target cannot own it any more: such moves are not limited, and go where
there is most room. Or it moves by choice, from a member with more than its fair share to one with less, and only where
the move gains something that will last: by no more than `budget` allows. Each move by choice lowers the higher of two
loads, so that a plan that is repeated on its own result with the same costs comes to an end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappush, heapreplace

from fleet.rules.moves import Move, Plan
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import KeyRange

LEAST_GAIN = 0.25
"""A move by choice lowers the higher of the two loads by at least this part of what the range costs, and of what a
range costs on average: what gains less would be reversed by the next change of a load, or is not worth a handover."""

PREFERRED_UP_TO = 1.5
"""Ranges without an owner go to members of the newest revision until these would carry so many times their fair share:
the first pod of a rollout must not be given what ten others lost."""

DOUBT = 3.0
"""A member is only taken to carry too much, or too little, if that is so by this many standard deviations of what is
known of its load: what is measured with an error must not be moved to and fro."""

SIMILAR_GAIN = 0.8
"""Of moves that gain at least this part of the best one, the range is moved that has moved least often."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a plan is made of. targets, costs, moved: by range, in the order of `ranges`.

    targets: today's; "" = nobody. costs: in any unit, above 0. able: weight of each member that may be given ranges.
    keepers: members that keep what they have and are given nothing. preferred: of the able members, those that will
    stay longest; empty: all alike. barred: members that failed to become ready for a range lately. moved: how often
    each range has changed hands; empty: all alike. variances: of the costs; empty: they are exact.
    """

    ranges: tuple[KeyRange, ...]
    targets: tuple[str, ...]
    costs: tuple[float, ...]
    able: Mapping[str, float]
    keepers: frozenset[str] = frozenset()
    preferred: frozenset[str] = frozenset()
    barred: Mapping[KeyRange, frozenset[str]] = field(default_factory=dict)
    moved: tuple[int, ...] = ()
    variances: tuple[float, ...] = ()


def plan(situation: Situation, settings: PlanSettings, *, budget: int) -> Plan:
    """New targets. budget: how many ranges may move by choice now."""
    if not situation.able:
        return Plan(situation.targets, still="no member may be given shards")
    draft = _Draft(situation, settings.tolerance)
    draft.place()
    still = draft.balance(budget)
    return Plan(tuple(draft.targets), tuple(draft.moves), still)


class _Draft:
    """A plan while it is made. load: cost of what each able member has. fair: what one of weight 1 should have.

    Ties are broken by name and by place, so that plans do not depend on the order of a mapping.
    """

    def __init__(self, situation: Situation, tolerance: float) -> None:
        self.now = situation
        self.targets = list(situation.targets)
        self.moves: list[Move] = []
        self.load = dict.fromkeys(sorted(situation.able), 0.0)
        self.owned: dict[str, list[int]] = {name: [] for name in self.load}
        self.orphans: list[int] = []
        for i, target in enumerate(situation.targets):
            if target in self.load:
                self.owned[target].append(i)
                self.load[target] += situation.costs[i]
            elif target not in situation.keepers or not target:
                self.orphans.append(i)
        total = sum(self.load.values()) + sum(situation.costs[i] for i in self.orphans)
        self.fair = total / sum(situation.able.values())
        self.high, self.low = self.fair * (1 + tolerance), self.fair * (1 - tolerance)
        self.least_gain = LEAST_GAIN * sum(situation.costs) / max(len(situation.costs), 1)
        self.newest = [name for name in self.load if name in situation.preferred] or list(self.load)

    def level(self, name: str) -> float:
        """The load for each unit of weight."""
        return self.load[name] / self.now.able[name]

    def give(self, i: int, target: str, why: str, *, by_choice: bool = False) -> None:
        source, cost = self.targets[i], self.now.costs[i]
        if source in self.load:
            self.owned[source].remove(i)
            self.load[source] -= cost
        self.owned[target].append(i)
        self.load[target] += cost
        self.targets[i] = target
        self.moves.append(Move(self.now.ranges[i], source, target, why, by_choice))

    # -- ranges that cannot stay ------------------------------------------------------------------------------------

    def place(self) -> None:
        """The costliest first, each to whoever has most room then."""
        if not self.orphans:
            return
        typical = sum(self.now.costs[i] for i in self.orphans) / len(self.orphans)
        others = [name for name in self.load if name not in set(self.newest)]
        queues = [_Room(self, self.newest, typical), _Room(self, others, typical)]
        for i in sorted(self.orphans, key=lambda i: (-self.now.costs[i], i)):
            barred = self.now.barred.get(self.now.ranges[i], frozenset())
            found = queues[0].first(barred)
            if found is None or self._too_full(found, self.now.costs[i]):
                second = queues[1].first(barred)
                if second is not None and (found is None or self.level(second) < self.level(found)):
                    found = second
            if found is None:  # everybody failed to open it: somebody must try again
                found = min(self.load, key=lambda name: (self.level(name), name))
            self.give(i, found, "its member is gone or leaving" if self.targets[i] else "it had no target")
            for queue in queues:
                queue.gave(found)
        self.moves.sort(key=lambda move: move.range)

    def _too_full(self, name: str, cost: float) -> bool:
        return self.load[name] + cost > PREFERRED_UP_TO * self.fair * self.now.able[name]

    # -- moves by choice --------------------------------------------------------------------------------------------

    def balance(self, budget: int) -> str:
        """Moves by choice, and why there are no more of them; "" where the budget is what ended them."""
        for _ in range(budget):
            if not self._improve():
                return self._settled()
        return "" if self._improve(really=False) else self._settled()

    def _settled(self) -> str:
        levels = [self.level(name) for name in self.load]
        if self.low <= min(levels) and max(levels) <= self.high:
            return "every member carries its fair share"
        return "no single move would bring the members nearer to their fair shares"

    def _improve(self, *, really: bool = True) -> bool:
        """One move by choice, the most needed one. really: make it. Returns whether there is one."""
        levels = {name: self.level(name) for name in self.load}
        doubts = {name: self._doubt(name) for name in self.load}
        highest = sorted(levels, key=lambda name: (-levels[name], name))
        lowest = sorted(self.newest, key=lambda name: (levels[name], name))
        smallest = {name: min((self.now.costs[i] for i in self.owned[name]), default=0.0) for name in highest}
        for source in highest:
            for target in lowest:
                if levels[source] <= levels[target]:
                    break
                if levels[source] - doubts[source] <= self.high and self.low <= levels[target] + doubts[target]:
                    continue
                if smallest[source] and self._gain(smallest[source], source, target) <= 0:
                    continue
                if (i := self._fitting(source, target)) is not None:
                    if really:
                        self.give(i, target, self._reason(source, target), by_choice=True)
                    return True
        return False

    def _doubt(self, name: str) -> float:
        """How far the level may be from what it seems to be."""
        if not self.now.variances:
            return 0.0
        return DOUBT * math.sqrt(sum(self.now.variances[i] for i in self.owned[name])) / self.now.able[name]

    def _gain(self, cost: float, source: str, target: str) -> float:
        """By how much a move lowers the higher of the two levels, in units of the source's load."""
        weight = self.now.able[source]
        after = (self.load[target] + cost) / self.now.able[target]
        return min(cost, self.load[source] - after * weight)

    def _fitting(self, source: str, target: str) -> int | None:
        """The range whose move gains most; one that leaves neither with less or more than its share, if there is one:
        or else others would have to move after it."""
        barred, ranges, costs = self.now.barred, self.now.ranges, self.now.costs
        spare = self.load[source] - self.low * self.now.able[source]
        room = self.high * self.now.able[target] - self.load[target]
        found: list[tuple[float, int]] = []
        modest: list[tuple[float, int]] = []
        for i in self.owned[source]:
            cost = costs[i]
            gain = self._gain(cost, source, target)
            if gain < self.least_gain or gain < LEAST_GAIN * cost:
                continue
            if barred and target in barred.get(ranges[i], ()):
                continue
            found.append((gain, i))
            if cost <= spare and cost <= room:
                modest.append((gain, i))
        choices = modest or found
        if not choices:
            return None
        enough = SIMILAR_GAIN * max(choices)[0]
        moved = self.now.moved
        return min((i for gain, i in choices if gain >= enough), key=lambda i: (moved[i] if moved else 0, -i))

    def _reason(self, source: str, target: str) -> str:
        more, less = (100 * self.level(name) / self.fair for name in (source, target))
        return f"{source} carries {more:.0f} % of its fair share and {target} {less:.0f} %"


class _Room:
    """Some of the members, the one with most room first."""

    def __init__(self, draft: _Draft, names: list[str], typical: float) -> None:
        self._draft, self._names, self._typical = draft, frozenset(names), typical
        self._heap = [self._entry(name) for name in names]
        heapify(self._heap)

    def _entry(self, name: str) -> tuple[float, str]:
        return (self._draft.load[name] + self._typical) / self._draft.now.able[name], name

    def first(self, barred: frozenset[str]) -> str | None:
        """None when all of them are barred."""
        if not barred:
            return self._heap[0][1] if self._heap else None
        return min((entry for entry in self._heap if entry[1] not in barred), default=(0.0, None))[1]

    def gave(self, name: str) -> None:
        if name not in self._names:
            return
        if self._heap[0][1] == name:
            heapreplace(self._heap, self._entry(name))
            return
        rest = [entry for entry in self._heap if entry[1] != name]
        heapify(rest)
        heappush(rest, self._entry(name))
        self._heap = rest
