"""Which member should own which range, by what the ranges cost. Pure: the same inputs give the same plan.

Movement is minimal. A range moves because its target cannot own it any more: such moves are not limited, and go where
there is most room. Or it moves by choice, from a member with more than its fair share to one with less, and only where
the move gains something that will last: by no more than `budget` allows. Each move by choice lowers the higher of two
loads, so that a plan that is repeated on its own result with the same costs comes to an end.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fleet.rules.moves import Move, Plan
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.room import Room
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

LOOKS = 32
"""So many ranges of a member are compared, of those whose costs come nearest to the best one for a move."""

SIMILAR_GAIN = 0.8
"""Of moves that gain at least this part of the best one, the range is moved that has moved least often."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a plan is made of. targets, costs, moved: by range, in the order of `ranges`.

    targets: today's; "" = nobody. costs: in any unit, above 0. able: weight of each member that may be given ranges.
    keepers: members that keep what they have and are given nothing. preferred: of the able members, those that will
    stay longest; empty: all alike. barred: members that failed to become ready for a range lately. moved: how often
    each range has changed hands; empty: all alike. variances: of the costs; empty: they are exact. departed: why
    members that are targets can be none any more.
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
    departed: Mapping[str, str] = field(default_factory=dict)


def plan(situation: Situation, settings: PlanSettings, *, budget: int) -> Plan:
    """New targets. budget: how many ranges may move by choice now."""
    if not situation.able:
        return Plan(situation.targets, still="no member may be given shards")
    draft = _Draft(situation, settings.tolerance)
    draft.place()
    still = draft.balance(budget)
    return Plan(tuple(draft.targets), tuple(draft.moves), still)


class _Owned(NamedTuple):
    """A range at its owner, in order of cost; of those that cost the same, the last one is moved first."""

    cost: float
    rarely_moved: int
    place: int


class _Draft:
    """A plan while it is made. load: cost of what each able member has. fair: what one of weight 1 should have.

    level: load for each unit of weight. doubt: how far the level may be from what it seems to be. Ties are broken by
    name and by place, so that plans do not depend on the order of a mapping.
    """

    def __init__(self, situation: Situation, tolerance: float) -> None:
        self.now = situation
        self.targets = list(situation.targets)
        self.moves: list[Move] = []
        self.weight = {name: situation.able[name] for name in sorted(situation.able)}
        self.owned: dict[str, list[_Owned]] = {name: [] for name in self.weight}
        self.load, self.level = dict.fromkeys(self.weight, 0.0), dict.fromkeys(self.weight, 0.0)
        self.variance, self.doubt = dict.fromkeys(self.weight, 0.0), dict.fromkeys(self.weight, 0.0)
        self.orphans: list[int] = []
        for i, target in enumerate(situation.targets):
            if target in self.load:
                self.owned[target].append(self._entry(i))
                self._add(target, i, 1)
            elif target not in situation.keepers or not target:
                self.orphans.append(i)
        for name, entries in self.owned.items():
            entries.sort()
            self._weigh(name)
        total = sum(self.load.values()) + sum(situation.costs[i] for i in self.orphans)
        self.fair = total / sum(self.weight.values())
        self.high, self.low = self.fair * (1 + tolerance), self.fair * (1 - tolerance)
        self.least_gain = LEAST_GAIN * sum(situation.costs) / max(len(situation.costs), 1)
        self.newest = [name for name in self.load if name in situation.preferred] or list(self.load)

    def _entry(self, i: int) -> _Owned:
        return _Owned(self.now.costs[i], -self.now.moved[i] if self.now.moved else 0, i)

    def _add(self, name: str, i: int, sign: int) -> None:
        self.load[name] += sign * self.now.costs[i]
        if self.now.variances:
            self.variance[name] += sign * self.now.variances[i]

    def _weigh(self, name: str) -> None:
        """After what it has was changed."""
        self.level[name] = self.load[name] / self.weight[name]
        if self.now.variances:
            self.doubt[name] = DOUBT * math.sqrt(max(self.variance[name], 0.0)) / self.weight[name]

    def give(self, i: int, target: str, why: str, *, by_choice: bool = False) -> None:
        source, entry = self.targets[i], self._entry(i)
        if source in self.load:
            del self.owned[source][bisect_left(self.owned[source], entry)]
            self._add(source, i, -1)
            self._weigh(source)
        insort(self.owned[target], entry)
        self._add(target, i, 1)
        self._weigh(target)
        self.targets[i] = target
        self.moves.append(Move(self.now.ranges[i], source, target, why, by_choice))

    # -- ranges that cannot stay ------------------------------------------------------------------------------------

    def place(self) -> None:
        """The costliest first, each to whoever has most room then."""
        if not self.orphans:
            return
        typical = sum(self.now.costs[i] for i in self.orphans) / len(self.orphans)
        newest = frozenset(self.newest)
        rooms = [
            Room(names, lambda name: (self.load[name] + typical) / self.weight[name])
            for names in (self.newest, [name for name in self.load if name not in newest])
        ]
        for i in sorted(self.orphans, key=lambda i: (-self.now.costs[i], i)):
            found = self._most_room(i, *rooms)
            why = self.now.departed.get(self.targets[i], f"{self.targets[i] or 'nobody'} had it")
            self.give(i, found, why)
            for room in rooms:
                room.changed(found)
        self.moves.sort(key=lambda move: move.range)

    def _most_room(self, i: int, newest: Room, others: Room) -> str:
        barred = self.now.barred.get(self.now.ranges[i], frozenset())
        found = newest.first(barred)
        if found is None or self._too_full(found, self.now.costs[i]):
            second = others.first(barred)
            if second is not None and (found is None or self.level[second] < self.level[found]):
                found = second
        if found is None:  # everybody failed to open it: somebody must try again
            found = min(self.load, key=lambda name: (self.level[name], name))
        return found

    def _too_full(self, name: str, cost: float) -> bool:
        return self.load[name] + cost > PREFERRED_UP_TO * self.fair * self.weight[name]

    # -- moves by choice --------------------------------------------------------------------------------------------

    def balance(self, budget: int) -> str:
        """Moves by choice, and why there are no more of them; "" where the budget is what ended them."""
        for _ in range(budget):
            found = self._next()
            if found is None:
                return self._settled()
            i, source, target = found
            self.give(i, target, self._reason(source, target), by_choice=True)
        return "" if self._next() is not None else self._settled()

    def _settled(self) -> str:
        if self.low <= min(self.level.values()) and max(self.level.values()) <= self.high:
            return "every member carries its fair share"
        return "no single move would bring the members nearer to their fair shares"

    def _next(self) -> tuple[int, str, str] | None:
        """The most needed move by choice: which range, from whom, to whom."""
        level = self.level
        lowest = sorted(self.newest, key=lambda name: (level[name], name))
        under = [name for name in lowest if level[name] + self.doubt[name] < self.low]
        for source in sorted(level, key=lambda name: (-level[name], name)):
            over = level[source] - self.doubt[source] > self.high
            # A range that costs less than the least gain cannot gain so much.
            worth = bisect_left(self.owned[source], (self.least_gain,))
            if worth == len(self.owned[source]):
                continue
            smallest = self.owned[source][worth].cost
            for target in lowest if over else under:
                if level[source] <= level[target]:
                    break
                if self._gains(smallest, source, target) is None:
                    continue
                if (i := self._fitting(source, target)) is not None:
                    return i, source, target
        return None

    def _gains(self, cost: float, source: str, target: str) -> float | None:
        """By how much a move lowers the higher of the two levels, in units of the source's load; None: not enough."""
        after = (self.load[target] + cost) * self.weight[source] / self.weight[target]
        gain = min(cost, self.load[source] - after)
        return gain if gain >= self.least_gain and gain >= LEAST_GAIN * cost else None

    def _fitting(self, source: str, target: str) -> int | None:
        """The range whose move gains most; one that leaves neither with less or more than its share, if there is one:
        or else others would have to move after it."""
        ratio = self.weight[source] / self.weight[target]
        best = (self.load[source] - self.load[target] * ratio) / (1 + ratio)
        spare = self.load[source] - self.low * self.weight[source]
        room = self.high * self.weight[target] - self.load[target]
        for most, beyond in ((min(best, spare, room), 0), (best, LOOKS)):
            choices = [
                (gain, entry)
                for entry in self._about(source, most, beyond)
                if (gain := self._gains(entry.cost, source, target)) is not None
                and target not in self.now.barred.get(self.now.ranges[entry.place], ())
            ]
            if choices:
                enough = SIMILAR_GAIN * max(choices)[0]
                return max(entry[1:] for gain, entry in choices if gain >= enough)[1]
        return None

    def _about(self, source: str, cost: float, beyond: int) -> Iterator[_Owned]:
        """Some of the source's ranges that cost about so much: those just below, and so many just above."""
        owned = self.owned[source]
        middle = bisect_left(owned, (cost * (1 + 1e-9), math.inf))
        yield from owned[max(0, middle - LOOKS) : middle + beyond]

    def _reason(self, source: str, target: str) -> str:
        more, less = (100 * self.level[name] / self.fair for name in (source, target))
        return f"{source} carries {more:.0f} % of its fair share and {target} {less:.0f} %"
