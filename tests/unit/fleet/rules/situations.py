"""Situations to plan on, and what a plan makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from fleet.rules.moves import Plan
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.planner import Situation, plan
from shards.keyrange import equal_boundaries, ranges_from

NAMES = [f"m{i}" for i in range(8)]
SETTINGS = PlanSettings()
UNLIMITED = 10_000


def situation(
    targets: str | Sequence[str],
    able: str | Mapping[str, float],
    *,
    costs: Sequence[float] = (),
    keepers: str = "",
    preferred: str = "",
    barred: Mapping[int, str] | None = None,
    moved: Sequence[int] = (),
) -> Situation:
    """Targets may be written as one letter each; "-" is nobody. Ranges cost 1 each if nothing is said."""
    now = tuple("" if target == "-" else target for target in targets)
    layout = ranges_from(equal_boundaries(len(now)))
    return Situation(
        ranges=layout,
        targets=now,
        costs=tuple(costs) or (1.0,) * len(now),
        able=dict.fromkeys(able, 1.0) if isinstance(able, str) else able,
        keepers=frozenset(keepers),
        preferred=frozenset(preferred),
        barred={layout[i]: frozenset(names) for i, names in (barred or {}).items()},
        moved=tuple(moved),
    )


def planned(now: Situation, budget: int = UNLIMITED, settings: PlanSettings = SETTINGS) -> Plan:
    return plan(now, settings, budget=budget)


def after(now: Situation, made: Plan) -> Situation:
    return replace(now, targets=made.targets)


def loads(now: Situation) -> dict[str, float]:
    """Cost of what each able member has."""
    found = dict.fromkeys(now.able, 0.0)
    for target, cost in zip(now.targets, now.costs, strict=True):
        if target in found:
            found[target] += cost
    return found


def spread(now: Situation) -> float:
    """Highest level over the mean one."""
    levels = [load / now.able[name] for name, load in loads(now).items()]
    return max(levels) / (sum(loads(now).values()) / sum(now.able.values()))


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Of up to eight members with weights and up to 40 ranges, with everything that may keep a range from moving."""
    count = draw(st.integers(1, 40))
    layout = ranges_from(equal_boundaries(count))
    able = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.5, 1.0, 1.0, 2.0]), max_size=8))
    return Situation(
        ranges=layout,
        targets=tuple(draw(st.lists(st.sampled_from(["", *NAMES]), min_size=count, max_size=count))),
        costs=tuple(draw(st.lists(st.floats(0.002, 10), min_size=count, max_size=count))),
        able=able,
        keepers=frozenset(draw(st.sets(st.sampled_from(NAMES)))) - able.keys(),
        preferred=frozenset(draw(st.sets(st.sampled_from(NAMES)))) & able.keys(),
        barred=draw(st.dictionaries(st.sampled_from(layout), st.frozensets(st.sampled_from(NAMES)), max_size=4)),
        moved=tuple(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))),
    )
