"""What a coordinator remembers between looks. It starts empty in every office, which only delays. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fleet.records.record import Holder
from fleet.rules.budget_share import BudgetMemory
from fleet.rules.look import Look
from fleet.rules.membership import MemberWatch
from fleet.rules.moves import Plan
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.planner import Situation, plan
from fleet.rules.shard_costs import ShardCosts
from fleet.rules.survey import Survey
from shards.keyrange import KeyRange


class Absence(NamedTuple):
    """A live read found no record of a member. epoch: the highest that shard records named then. since: the reading."""

    epoch: int
    since: float


class Handover(NamedTuple):
    """A range that is not yet at its target. epoch: of its shard record. free: nobody holds it. since: the reading at
    which it was seen first as it is."""

    target: str
    epoch: int
    free: bool
    since: float


class _Planned(NamedTuple):
    """The last plan that was made, and of what."""

    situation: Situation
    settings: PlanSettings
    budget: int
    plan: Plan


@dataclass(slots=True)
class Memory:
    """What a coordinator remembers between looks; it starts empty in every office, which only delays.

    absent: members that shard records name, proved to have no record. handing: per range, the pending handover. barred:
    members that did not become ready for a range, until when. retired: since when this office has seen a record retired
    (R15). departed: likewise of a member's record without a holder, by its version. behind: since when an incarnation
    has not followed a map that marks ranges lost. overdue: since when it has held a range that retires. expelled: epoch
    under which a member was told to give up. moved_at: when ranges were last moved by choice, taken back, or cut.
    membership_at, restless_since: of the last change, and of the first one of the present burst of changes. costs: of
    ranges.
    """

    watch: MemberWatch = field(default_factory=MemberWatch)
    absent: dict[str, Absence] = field(default_factory=dict)
    handing: dict[KeyRange, Handover] = field(default_factory=dict)
    barred: dict[KeyRange, dict[str, float]] = field(default_factory=dict)
    retired: dict[KeyRange, tuple[str, float]] = field(default_factory=dict)
    departed: dict[str, tuple[str, float]] = field(default_factory=dict)
    behind: dict[Holder, float] = field(default_factory=dict)
    overdue: dict[tuple[KeyRange, Holder], float] = field(default_factory=dict)
    expelled: dict[str, int] = field(default_factory=dict)
    moved_at: float = float("-inf")
    membership: tuple[str, ...] = ()
    membership_at: float = float("-inf")
    restless_since: float = float("-inf")
    budget: BudgetMemory = field(default_factory=BudgetMemory)
    costs: ShardCosts = field(default_factory=ShardCosts)
    _survey: Survey | None = None
    _planned: _Planned | None = None

    def survey(self, look: Look) -> Survey:
        """Of the map and the shard records of this look: that of the last one while they are the same objects."""
        if self._survey is None or not self._survey.is_of(look.map, look.shards):
            self._survey = Survey(look.map, look.shards)
        return self._survey

    def plan(self, situation: Situation, settings: PlanSettings, *, budget: int) -> Plan:
        """The plan for this situation, which need not be made again while nothing has changed that it is made of."""
        last = self._planned
        if last is None or (last.budget, last.settings, last.situation) != (budget, settings, situation):
            last = self._planned = _Planned(situation, settings, budget, plan(situation, settings, budget=budget))
        return last.plan
