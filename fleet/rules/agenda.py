"""What a coordinator should do next, from one look at the whole fleet. Pure.

At most one map write per look carries everything that changed: floors, lost and retiring ranges, targets. Fences and
the writes to shard records are listed beside it; each is checked again on live reads before it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord
from fleet.rules.absences import LONGEST_REQUEST_SECONDS, departed, garbage, gone
from fleet.rules.assignment import LONGEST_DEBOUNCE, Assignment, assign
from fleet.rules.budget_share import next_shares
from fleet.rules.cuts import Cut
from fleet.rules.look import Look
from fleet.rules.membership import floors, forgotten
from fleet.rules.moves import Move
from fleet.rules.office_memory import Absence, Memory
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.reshard import Upkeep, upkeep, with_memory
from fleet.rules.stragglers import stragglers
from fleet.rules.survey import Survey, holders, named_epochs, targets

__all__ = [
    "LONGEST_DEBOUNCE",
    "LONGEST_REQUEST_SECONDS",
    "Absence",
    "Agenda",
    "Look",
    "Memory",
    "draw_up",
]


@dataclass(frozen=True, slots=True)
class Agenda:
    """map: the next map, None when nothing changes. moves: for the log. fence: member names. expel: incarnations.
    named: of those to be fenced, the highest epoch that a shard record names.

    missing: members without a record in the view, with the highest epoch that names them, whose absence a live read
    should prove. cuts: of single ranges, for one reshard, only with `shards.autoSplit`. rest: there is nothing to do,
    and while no record changes, time alone brings nothing that anybody waits for before some lease runs out.
    """

    map: ShardMap | None
    moves: tuple[Move, ...]
    fence: tuple[str, ...]
    expel: tuple[Holder, ...]
    missing: tuple[Holder, ...]
    upkeep: Upkeep
    collect: tuple[ShardRecord, ...]
    forget: tuple[MemberRecord, ...] = ()
    """Of members that are gone for good."""
    cuts: tuple[Cut, ...] = ()
    rest: bool = False
    named: Mapping[str, int] = field(default_factory=dict)


def draw_up(look: Look, memory: Memory, settings: PlanSettings, now: float) -> Agenda:
    """One look: what to write. Updates the memory."""
    memory.watch.observe(look.members, now)
    survey = memory.survey(look)
    work = upkeep(survey, memory.watch.vanished.everybody(look.members.values(), now), look.map.version + 1)
    silent = memory.watch.silent(look.members, now)
    dead, missing = gone(look, memory, now)
    named = {*survey.find(named_epochs), *memory.watch.vanished.doubted(look.map.floors, now)}
    new_floors = floors(look.map, look.members, named, gone=dead)
    # Before the plan, which rests while more than half of the members are doubted (R12).
    fence = tuple(memory.watch.fenceable(look.members, own_renewal_at=look.own_renewal_at, now=now))
    assigned = assign(look, memory, settings, new_floors, silent, now)
    shares = next_shares(
        look.map, look.shards.values(), look.members, memory.budget, lease_seconds=look.lease_seconds, now=now
    )
    collect, unremembered = garbage(look, memory, now)
    forget, leaves_behind = departed(look, memory, now)
    wanted: dict[str, Any] = {
        "coordinator_epoch": look.epoch,
        "lost": work.lost,
        "opened": look.map.opened | work.opening if work.opening else look.map.opened,
        "retiring": work.retiring,
        "targets": assigned.targets,
        "moved_at": int(look.today) if assigned.begins_cooldown else look.map.moved_at,
        "shares": shares,
        "forgotten": leaves_behind,
    }
    changes = {name: value for name, value in wanted.items() if value != getattr(look.map, name)}
    next_map = None
    if changes or unremembered or _frees_something(survey, new_floors):
        changes["forgotten"] = max(leaves_behind, forgotten(look.map, new_floors))
        draft = replace(look.map, version=look.map.version + 1, floors=new_floors, **changes)
        next_map = with_memory(draft, look.shards)
    expel = stragglers(look, memory, settings, now)
    busy = next_map or fence or expel or missing or collect or forget or work.activate or work.retire or assigned.cuts
    return Agenda(
        map=next_map,
        rest=not busy and _is_at_rest(survey, memory, assigned, work),
        moves=assigned.moves,
        fence=fence,
        expel=expel,
        missing=missing,
        upkeep=work,
        collect=collect,
        cuts=assigned.cuts,
        forget=forget,
        named={name: epoch for name, epoch in survey.find(named_epochs).items() if name in fence} if fence else {},
    )


def _is_at_rest(survey: Survey, memory: Memory, assigned: Assignment, work: Upkeep) -> bool:
    """The membership has come to rest and nobody in it is doubted, every range is meant for a member that may own it,
    none is on its way, and none is lost: it may come back as soon as a time has passed (R14). What else waits for its
    time (a cool-down, R15) may as well be done a second later."""
    settled = assigned.still and survey.find(targets).issubset(assigned.able)
    waiting = work.lost or memory.handing or memory.absent or memory.watch.suspicious_since is not None
    return bool(settled and not waiting)


def _frees_something(survey: Survey, new_floors: Mapping[str, int]) -> bool:
    """Whether the floors need a map write of their own: a record names an epoch that only they declare dead, or a
    target that they do not name waits for it.

    Other floors wait for the next map write, so that a member's joining costs none.
    """
    return any(
        survey.map.floors.get(holder.member, 0) <= holder.epoch < new_floors.get(holder.member, 0)
        for holder in survey.find(holders)
    ) or any(name in new_floors and name not in survey.map.floors for name in survey.find(targets))
