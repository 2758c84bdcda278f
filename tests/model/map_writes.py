"""Writes of the map: over the one that the coordinator has seen, at once or later, or from nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.state import (
    ACTIVE,
    EMPTIED,
    Coordinator,
    Map,
    State,
    Step,
    World,
    with_coordinator,
    write_map,
)
from tests.model.workers import ghosts


def plan_map(w: World, s: State, c: int, new: Map, label: str, fault: bool = False) -> Iterator[Step]:
    """A map made from the coordinator's view, which is the map in force: written now, or later."""
    new = with_floors(w, s, new)
    if w.slow_maps:
        me = s.coordinators[c]
        planned = with_coordinator(s, c, me._replace(op=("map", -1, s.map, new, label)))
        yield Step(f"coordinator {c} will write: {label}", planned, fault)
    else:
        for step in written_map(w, s, c, new, label):
            yield step._replace(fault=step.fault or fault)


def written_map(w: World, s: State, c: int, new: Map, label: str) -> Iterator[Step]:
    t = write_map(with_coordinator(s, c, s.coordinators[c]._replace(op=None)), new)
    if w.left(s, "lost-answer"):
        yield Step(f"coordinator {c}: {label}, the answer is lost", w.spend(t, "lost-answer"), True)
    t = with_coordinator(t, c, t.coordinators[c]._replace(view=new))
    yield Step(f"coordinator {c}: {label}", t)


def with_floors(w: World, s: State, m: Map) -> Map:
    """R6: floors ride on every map write (decision 2)."""
    if "trust-own-fences-only" in w.without:
        return m
    if w.code is not None:
        return w.code.with_floors(m, s.members, s.leases, ghosts(w, s))
    floors, doubted = [], {name for name, _ in ghosts(w, s)}
    for name in range(w.people):
        floor = max(m.floors[name], s.members[name].epoch)
        if "floor-follows-downwards" in w.without and s.members[name].epoch:
            floor = s.members[name].epoch
        named = any(x.holder is not None and x.holder[0] == name for x in s.leases)
        named = named or name in m.targets or ("forget-a-floor-at-once" not in w.without and name in doubted)
        if not s.members[name].epoch and not named:
            floor = 0
        floors.append(floor)
    new = m._replace(floors=tuple(floors))
    if "forget-how-high" in w.without:
        return new
    return new._replace(
        forgotten=max([m.forgotten, *(old for old, now in zip(m.floors, floors, strict=True) if not now)])
    )


def rebuilt_map(w: World, s: State, c: int, me: Coordinator) -> Iterator[Step]:
    """R14: from the last map that it knows, and from the Leases."""
    last = me.view
    if w.code is not None:
        highest = max(x.echo for x in s.members)
        made = w.code.rebuilt(last, me.config, s.leases, highest, s.term)
        yield from plan_map(w, s, c, made, "makes the map anew")
        return
    active = [r for r in w.ranges if s.leases[r].status == ACTIVE]
    layout = 0 if last is None else last.layout
    if last is None and "rebuilt-from-the-config" not in w.without and tuple(active) in w.layouts:
        layout = w.layouts.index(tuple(active))
    known = last.losses if last is not None else 0
    losses = max([known] + [x.echo for x in s.members])
    targets = []
    for i, r in enumerate(w.layouts[layout]):
        holder = s.leases[r].holder if s.leases[r].status == ACTIVE else None
        before = last.targets[i] if last is not None else 0
        targets.append(holder[0] if holder not in (None, EMPTIED) and holder is not None else before)
    mask = w.layout_masks[layout]
    found = sum(1 << r for r in active)
    new = Map(
        layout=layout,
        targets=tuple(targets),
        retiring=((last.retiring if last is not None else 0) | found) & ~mask,
        floors=last.floors if last is not None else (0,) * w.people,
        forgotten=last.forgotten if last is not None else 0,
        opened=(last.opened if last is not None else 0) | found | mask,
        lost=last.lost if last is not None else (0,) * len(s.leases),
        losses=losses,
        config=last.config if last is not None else me.config,
        office=s.term,
    )
    if "rebuilt-as-a-first-start" in w.without:
        new = new._replace(opened=found, losses=0, retiring=0, floors=(0,) * w.people)
    yield from plan_map(w, s, c, new, "makes the map anew")
