"""Which member should own which range, from one look at the whole fleet: who counts, and when it is planned. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.rules.look import Look
from fleet.rules.office_memory import Memory
from fleet.rules.planner import Move, PlanSettings, eligible, plan
from fleet.rules.stragglers import returned

LONGEST_DEBOUNCE = 5
"""A membership that does not come to rest is planned on after this many debounces (design 3.5: takeover is bounded)."""


def _settled(memory: Memory, settings: PlanSettings, able: tuple[str, ...], now: float) -> bool:
    """Whether the membership has come to rest, or has been restless for too long to wait."""
    if memory.membership != able:
        if now - memory.membership_at >= settings.debounce_seconds:
            memory.restless_since = now
        memory.membership, memory.membership_at = able, now
    return (
        now - memory.membership_at >= settings.debounce_seconds
        or now - memory.restless_since >= LONGEST_DEBOUNCE * settings.debounce_seconds
    )


def assign(
    look: Look, memory: Memory, settings: PlanSettings, new_floors: Mapping[str, int], silent: list[str], now: float
) -> tuple[tuple[str, ...], tuple[Move, ...]]:
    able = eligible(look.members, new_floors, silent)
    drained = look.controls.names_drained(look.members)
    # Where nobody else lives, a drained member is better than no owner.
    willing = [name for name in able if name not in drained] or able
    frozen = look.controls.frozen is not None
    settled = _settled(memory, settings, tuple(willing), now)
    targets, back = returned(look, memory, settings, able, now)
    if not settled:
        return targets, back
    keepers = [*silent, *_awaited(look, memory, settings, now), *(drained.intersection(able) if frozen else ())]
    made = plan(
        look.map.ranges,
        targets,
        willing,
        keepers=keepers,
        settings=settings,
        since_last_move=float("-inf") if frozen else now - memory.moved_at,
        barred={each: frozenset(names) for each, names in memory.barred.items()},
    )
    if made.voluntary:
        memory.moved_at = now
    return made.targets, (*back, *made.moves)


def _awaited(look: Look, memory: Memory, settings: PlanSettings, now: float) -> list[str]:
    """Members that were fenced, did not say that they were leaving, and may come back within the restart grace."""
    return [
        name
        for name, record in look.members.items()
        if record.holder is None
        and not record.leaving
        and now - memory.watch.sightings[name].since < settings.restart_grace_seconds
    ]
