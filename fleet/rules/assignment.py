"""Which member should own which range, from one look at the whole fleet: who counts, what may move, and when. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fleet.rules.cuts import Cut
from fleet.rules.cutting import merges, splits
from fleet.rules.eligibility import eligible, preferred
from fleet.rules.look import Look
from fleet.rules.membership import floors
from fleet.rules.moves import Move, Plan
from fleet.rules.office_memory import Memory
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.planner import Situation
from fleet.rules.stragglers import returned
from fleet.rules.survey import Survey, layout_records, named_epochs

LONGEST_DEBOUNCE = 5
"""A membership that does not come to rest is planned on after this many debounces (design 3.5: takeover is bounded)."""

FIRST_DEBOUNCES = 2
"""The very first assignment waits so many times as long, at rest and at the longest: who is assigned everything because
the others started a second later would have to hand most of it over again."""

STUCK_AFTER = 3
"""Deadlines of a standby: one for it, two for the owner, who then is expelled."""

LATE = "a shard has just been taken back from a member that was late for it"

MERGE_AFTER = 10
"""Neighbours are merged after so many cool-downs without a move by choice: a merge is never urgent."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """targets: by range; "" = nobody. cuts: for one reshard. still: why nothing else moves by choice, in one sentence;
    "" where the membership has not come to rest. able: members that may be given ranges. taken_back: whether some lose
    ranges that they were late for."""

    targets: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    cuts: tuple[Cut, ...] = ()
    still: str = ""
    able: tuple[str, ...] = ()
    taken_back: bool = False

    @property
    def begins_cooldown(self) -> bool:
        """Who was late for some ranges is not at once given others instead, which nobody else would have meanwhile."""
        return bool(self.cuts) or self.taken_back or any(move.by_choice for move in self.moves)


def assign(
    look: Look, memory: Memory, settings: PlanSettings, new_floors: Mapping[str, int], silent: list[str], now: float
) -> Assignment:
    """The next targets. Updates the memory."""
    memory.costs.observe(look.members, look.shards, now)
    memory.costs.follow(look.map.ranges)
    able = eligible(look.members, new_floors, silent)
    willing = _willing(look, able)
    settled = _settled(look, memory, settings, tuple(willing), now)
    if memory.watch.suspicious_since is not None:
        memory.handing = {}  # what was under way could not go on either: it gets its time anew
        return Assignment(look.map.targets, still="more than half of the members look dead at once, which is doubted")
    targets, back = returned(look, memory, settings, able, now)
    if back:
        memory.moved_at = now
    if not settled:
        return Assignment(targets, back, taken_back=bool(back))
    frozen = look.controls.frozen is not None
    drained = look.controls.names_drained(look.members).intersection(able) if frozen else frozenset()
    keepers = frozenset([*silent, *_awaited(look, memory, settings, now), *drained])
    situation = _situation(look, memory, targets, willing, keepers)
    limit = max(1, math.floor(len(targets) * settings.churn_per_round))
    moving = _on_their_way(memory, settings, now)
    held = _held_back(look, memory, settings, limit, moving, now) or (LATE if back else "")
    made = memory.plan(situation, settings, budget=0 if held else limit - moving)
    cuts = () if held or made.moves else _cuts(look, memory, situation, made, settings, now)
    still = (
        (held if frozen else "")
        or made.still
        or held
        or f"at most {limit} of {len(targets)} shards may be on their way at once (rebalance.churnPerRound)"
    )
    found = Assignment(made.targets, (*back, *made.moves), cuts, still, tuple(willing), bool(back))
    if found.begins_cooldown:
        memory.moved_at = now
    return found


def forecast(look: Look, settings: PlanSettings, silent: list[str]) -> Assignment:
    """What a coordinator that knows nothing but this look would assign once the membership has come to rest."""
    memory = Memory()
    known = floors(look.map, look.members, memory.survey(look).find(named_epochs), gone={})
    held = [name for name, record in look.members.items() if record.holder is not None and not record.foreign]
    if len(held) >= 2 and 2 * len(silent) > len(held):
        memory.watch.suspicious_since = 0.0
    memory.membership = tuple(_willing(look, eligible(look.members, known, silent)))
    return assign(look, memory, settings, known, silent, 0.0)


def _willing(look: Look, able: list[str]) -> list[str]:
    """Without the drained ones; but where nobody else lives, a drained member is better than no owner."""
    if not look.controls.drained:
        return able
    drained = look.controls.names_drained(look.members)
    return [name for name in able if name not in drained] or able


def _settled(look: Look, memory: Memory, settings: PlanSettings, able: tuple[str, ...], now: float) -> bool:
    """Whether the membership has come to rest, or has been restless for too long to wait."""
    patience = settings.debounce_seconds * (1 if any(look.map.targets) else FIRST_DEBOUNCES)
    if memory.membership != able:
        if now - memory.membership_at >= patience:
            memory.restless_since = now
        memory.membership, memory.membership_at = able, now
    return now - memory.membership_at >= patience or now - memory.restless_since >= LONGEST_DEBOUNCE * patience


def _situation(
    look: Look, memory: Memory, targets: tuple[str, ...], willing: list[str], keepers: frozenset[str]
) -> Situation:
    ranges = look.map.ranges
    return Situation(
        ranges=ranges,
        targets=targets,
        costs=memory.costs.costs(ranges),
        able={name: look.members[name].weight for name in willing},
        keepers=keepers,
        preferred=preferred(look.members, willing),
        barred={each: frozenset(names) for each, names in memory.barred.items()},
        moved=memory.survey(look).find(_epochs),
        variances=memory.costs.variances(ranges),
        departed={name: _departure(look, name) for name in {*targets} - {*willing, ""}},
    )


def _epochs(survey: Survey) -> tuple[int, ...]:
    """By range of the layout."""
    return tuple(record.epoch if record is not None else 0 for record in survey.find(layout_records))


def _departure(look: Look, name: str) -> str:
    """Why a member that is a target may not be one any more."""
    record = look.members.get(name)
    if record is None or record.holder is None:
        return f"{name} is gone"
    return f"{name} is leaving" if record.leaving else f"{name} is drained"


def _on_their_way(memory: Memory, settings: PlanSettings, now: float) -> int:
    """Ranges that are being handed over. One that nobody brings to an end is not waited for: neither its standby nor
    its owner has been given so much time, and a single one would keep all others where they are."""
    return sum(now - each.since <= STUCK_AFTER * settings.standby_deadline_seconds for each in memory.handing.values())


def _held_back(look: Look, memory: Memory, settings: PlanSettings, limit: int, moving: int, now: float) -> str:
    """Why nothing may move by choice now, in one sentence; "" where it may."""
    if look.controls.frozen is not None:
        return f"the fleet is frozen {look.controls.frozen}".rstrip()
    rested, pause = _rested(look, memory, now), settings.cooldown_seconds
    if rested < pause:
        return f"the last moves by choice were {rested:.0f} s ago, of {pause:.0f} s (rebalance.cooldownSeconds)"
    if moving >= limit:
        return f"{moving} of at most {limit} shards are on their way (rebalance.churnPerRound)"
    return ""


def _rested(look: Look, memory: Memory, now: float) -> float:
    """Seconds since the last move by choice or cut, of this office; or of an earlier one, by map and calendar."""
    if memory.moved_at > float("-inf"):
        return now - memory.moved_at
    by_map = look.today - look.map.moved_at
    return by_map if look.map.moved_at > 0 and by_map >= 0 else float("inf")


def _cuts(
    look: Look, memory: Memory, situation: Situation, made: Plan, settings: PlanSettings, now: float
) -> tuple[Cut, ...]:
    """Only where every range is at its place, no move would gain, and no reshard is under way."""
    if not settings.auto_split or not made.still or _on_their_way(memory, settings, now) or look.map.retiring:
        return ()
    count = look.map.base_count or len(look.map.boundaries)
    found = splits(situation, memory.costs.points, settings.tolerance, count)
    if not found and _rested(look, memory, now) >= MERGE_AFTER * settings.cooldown_seconds:
        found = merges(situation, memory.costs.loads(look.map.ranges), count)
    return found


def _awaited(look: Look, memory: Memory, settings: PlanSettings, now: float) -> list[str]:
    """Members that were fenced, did not say that they were leaving, and may come back within the restart grace."""
    return [
        name
        for name, record in look.members.items()
        if record.holder is None
        and not record.leaving
        and (seen := memory.watch.sightings.get(name)) is not None
        and now - seen.since < settings.restart_grace_seconds
    ]
