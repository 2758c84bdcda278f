"""What `fleet plan` says: who carries how much, and what a coordinator would move and cut next, and why. Pure.

It is made by the coordinator's own rules from one look. A coordinator knows more: loads that it has smoothed, and which
members just came or went.
"""

from __future__ import annotations

import msgspec

from fleet.records.controls import Controls
from fleet.rules.assignment import Assignment, forecast
from fleet.rules.look import Look
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.shard_costs import ShardCosts
from fleet.status.statusview import Sight


class LoadRow(msgspec.Struct, frozen=True, rename="camel"):
    """One member as the planner weighs it. cost: what its shards cost, in seconds of reconciling per second. fair_part:
    of its fair share; None where the fleet costs nothing or it gets none. receives: it may be given shards."""

    member: str
    weight: float
    shards: int
    cost: float
    fair_part: float | None
    receives: bool


class MoveRow(msgspec.Struct, frozen=True, rename="camel"):
    """source, target: members; "" = nobody. by_choice: it could stay. sentence: all of it in words."""

    shard: str
    source: str
    target: str
    by_choice: bool
    why: str
    sentence: str


class CutRow(msgspec.Struct, frozen=True, rename="camel"):
    sentence: str


class PlanView(msgspec.Struct, frozen=True, rename="camel"):
    """still: why nothing else would move by choice. notes: what may keep all of it from being done, or differ."""

    fleet: str
    namespace: str
    map_version: int
    loads: tuple[LoadRow, ...]
    moves: tuple[MoveRow, ...]
    cuts: tuple[CutRow, ...]
    still: str
    notes: tuple[str, ...]


def plan_view(sight: Sight, settings: PlanSettings, notes: tuple[str, ...] = ()) -> PlanView:
    """settings: of the fleet's config. notes: of whoever has read them."""
    if sight.map is None:
        return PlanView(sight.fleet, sight.namespace, 0, (), (), (), "there is no map yet", notes)
    silent = sorted(name for name in sight.silent if name in sight.members and sight.members[name].holder)
    look = Look(
        sight.map.coordinator_epoch,
        sight.map,
        sight.shards,
        sight.members,
        0.0,
        0.0,
        sight.controls if sight.controls is not None else Controls(),
        sight.at or 0.0,
    )
    found = forecast(look, settings, silent)
    return PlanView(
        fleet=sight.fleet,
        namespace=sight.namespace,
        map_version=sight.map.version,
        loads=_loads(look, found),
        moves=tuple(
            MoveRow(str(each.range), each.source, each.target, each.by_choice, each.why, str(each))
            for each in found.moves
        ),
        cuts=tuple(CutRow(str(each)) for each in found.cuts),
        still=found.still,
        notes=(*notes, *_notes(sight)),
    )


def _loads(look: Look, found: Assignment) -> tuple[LoadRow, ...]:
    """Of today, not of the plan."""
    costs = ShardCosts()
    costs.observe(look.members, look.shards, 0.0)
    owned: dict[str, list[float]] = {name: [] for name, record in look.members.items() if record.holder is not None}
    for target, cost in zip(look.map.targets, costs.costs(look.map.ranges), strict=True):
        owned.setdefault(target, []).append(cost)
    able = found.able
    fair = sum(sum(owned.get(name, ())) for name in able) / (sum(look.members[name].weight for name in able) or 1.0)
    rows = []
    for name in sorted(each for each in owned if each):
        weight = look.members[name].weight if name in look.members else 1.0
        part = round(sum(owned[name]) / (fair * weight), 3) if fair and name in able else None
        rows.append(LoadRow(name, weight, len(owned[name]), round(sum(owned[name]), 4), part, name in able))
    return tuple(rows)


def _notes(sight: Sight) -> tuple[str, ...]:
    notes = []
    if sight.coordinator is None or not sight.coordinator.holder or "" in sight.silent:
        notes.append("no coordinator is in office: until there is one, nobody carries this out")
    if sight.controls is None:
        notes.append(
            f"what people ordered cannot be read ({sight.controls_trouble}): the coordinator keeps to the last"
        )
    return tuple(notes)
