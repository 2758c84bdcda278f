"""Which member should own which range. Pure: the same inputs give the same plan.

Movement is minimal: a range moves only because its target cannot own it any more, or because the most loaded member has
at least two ranges' worth more than the least loaded. Forced moves are not limited; voluntary ones by the churn budget
of a round and a cool-down between rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleet.records.record import MemberRecord
from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """churn_per_round: part of all ranges that may move voluntarily in one round (at least one range may)."""

    churn_per_round: float = 0.1
    cooldown_seconds: float = 30.0
    debounce_seconds: float = 1.0
    """A membership that changed less than this ago is not planned on: members tend to come and go together."""
    restart_grace_seconds: float = 0.0
    """How long the ranges of a fenced member wait for its return before others are given them."""
    standby_deadline_seconds: float = 60.0
    """A target whose standby is not synced by then loses the range again (R13)."""


@dataclass(frozen=True, slots=True)
class Move:
    """One range changes its target. why: a sentence's end, for the log and `fleet plan`."""

    range: KeyRange
    source: str
    target: str
    why: str

    def __str__(self) -> str:
        return f"{self.range.short}: {self.source or 'nobody'} -> {self.target or 'nobody'}, {self.why}"


@dataclass(frozen=True, slots=True)
class Plan:
    """targets: member per range, "" = nobody. moves: what differs from today."""

    targets: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    voluntary: int = 0


@dataclass(slots=True)
class _Tally:
    """Ranges per member while a plan is made. Ties are broken by name, so that plans do not depend on dict order."""

    owned: dict[str, list[int]] = field(default_factory=dict)

    def least(self) -> str:
        return min(self.owned, key=lambda name: (len(self.owned[name]), name))

    def most(self) -> str:
        return min(self.owned, key=lambda name: (-len(self.owned[name]), name))


def eligible(members: Mapping[str, MemberRecord], floors: Mapping[str, int], silent: Sequence[str] = ()) -> list[str]:
    """Members that may be given ranges: held, not below their floor, not leaving, heard of lately."""
    return sorted(
        name
        for name, record in members.items()
        if record.holder is not None
        and not record.leaving
        and record.epoch >= floors.get(name, 0)
        and name not in silent
    )


def plan(
    ranges: Sequence[KeyRange],
    targets: Sequence[str],
    able: Sequence[str],
    *,
    keepers: Sequence[str] = (),
    settings: PlanSettings,
    since_last_move: float,
    barred: Mapping[KeyRange, frozenset[str]] | None = None,
) -> Plan:
    """New targets. targets: today's, by range; "" = nobody.

    able: members that may be given ranges. keepers: members that keep what they have and get nothing new (alive, but
    silent for a while). since_last_move: seconds since the last voluntary move. barred: members that failed to become
    ready for a range lately.
    """
    barred = barred or {}
    if not able:
        return Plan(tuple(targets))
    tally = _Tally({name: [] for name in able})
    result = list(targets)
    moves: list[Move] = []
    orphans = []
    for i, target in enumerate(targets):
        if target in tally.owned:
            tally.owned[target].append(i)
        elif target not in keepers or not target:
            orphans.append(i)
    for i in orphans:
        choices = {name for name in able if name not in barred.get(ranges[i], frozenset())} or set(able)
        chosen = min(choices, key=lambda name: (len(tally.owned[name]), name))
        why = "its member is gone or leaving" if targets[i] else "it had no target"
        moves.append(Move(ranges[i], targets[i], chosen, why))
        result[i] = chosen
        tally.owned[chosen].append(i)
    voluntary = 0
    if since_last_move >= settings.cooldown_seconds:
        budget = max(1, math.floor(len(ranges) * settings.churn_per_round))
        voluntary = _balance(ranges, result, tally, moves, budget, barred)
    return Plan(tuple(result), tuple(moves), voluntary)


def _balance(
    ranges: Sequence[KeyRange],
    result: list[str],
    tally: _Tally,
    moves: list[Move],
    budget: int,
    barred: Mapping[KeyRange, frozenset[str]],
) -> int:
    """Move ranges from the fullest to the emptiest member until they differ by one at most. Returns how many."""
    moved = 0
    while moved < budget:
        source, target = tally.most(), tally.least()
        if len(tally.owned[source]) - len(tally.owned[target]) < 2:
            break
        fits = [i for i in tally.owned[source] if target not in barred.get(ranges[i], frozenset())]
        if not fits:
            break
        i = fits[-1]
        tally.owned[source].remove(i)
        tally.owned[target].append(i)
        moves.append(Move(ranges[i], source, target, f"{source} has two ranges more than {target}"))
        result[i] = target
        moved += 1
    return moved
