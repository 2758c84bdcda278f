"""What a coordinator does: takes office, follows members, fences, expels, and writes the map."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.lease_life import activation_steps, retiring_steps
from tests.model.map_writes import plan_map, rebuilt_map, with_floors, written_map
from tests.model.state import (
    ABSENT,
    ACTIVE,
    BLIND,
    COLD,
    EMPTIED,
    GONE,
    NOBODY,
    STUCK,
    Coordinator,
    Map,
    Member,
    State,
    Step,
    World,
    is_free,
    is_held,
    put,
    with_coordinator,
    with_member,
)
from tests.model.workers import ghosts


def coordinator_steps(w: World, s: State) -> Iterator[Step]:
    for c, me in enumerate(s.coordinators):
        if s.brown == 1 or not w.governed:
            return
        if me.op is not None:  # begun earlier; it may have lost its office since
            if me.op[0] == "map":
                _, new, label = me.op[2:]
                assert isinstance(new, Map)
                yield from written_map(w, s, c, new, str(label))
            else:
                yield from activation_steps(w, s, c, me.op)
                yield from retiring_steps(w, s, c, me.op)
        elif s.valid == c or ("acts-out-of-office" in w.without and s.term):
            yield from _look(w, s, c, me)


def _look(w: World, s: State, c: int, me: Coordinator) -> Iterator[Step]:
    if me.quiet:
        if not any(x.past and x.believes for x in s.processes):
            yield Step(f"coordinator {c} has waited a lease", with_coordinator(s, c, me._replace(quiet=False)))
        return
    yield from _members(w, s, c, me)
    if s.map is None:
        yield from rebuilt_map(w, s, c, me)
        return
    if me.view != s.map:
        yield Step(f"coordinator {c} sees the map", with_coordinator(s, c, me._replace(view=s.map)))
    view = me.view
    if view is None:
        return
    if view == s.map and view.office != s.term and s.valid == c and "no-office-epoch" not in w.without:
        yield from plan_map(w, s, c, view._replace(office=s.term), "takes office in the map")
        return
    if view.office != s.term and s.valid == c and "no-office-epoch" not in w.without:
        return
    if view == s.map:
        yield from _plans(w, s, c, view)
    yield from retiring_steps(w, s, c, None)
    yield from activation_steps(w, s, c, None)


# -- members --------------------------------------------------------------------------------------------------------


def _members(w: World, s: State, c: int, me: Coordinator) -> Iterator[Step]:
    for name, member in enumerate(s.members):
        if member.holder == NOBODY or not member.epoch:
            continue
        yield from _fence(w, s, c, name, member)
        process = s.processes[member.holder]
        useless = process.health == STUCK or (process.health == BLIND and "renew-while-blind" in w.without)
        if not (useless and process.epoch == member.epoch and process.believes) or member.kicked or s.map is None:
            continue
        if "no-expulsion" not in w.without and _does_not_follow(w, s, name, member):
            if "expulsion-by-fence" in w.without:
                fenced = with_member(s, name, Member(member.epoch + 1))
                yield Step(f"coordinator {c} fences {name}, which renews", fenced)
            else:
                kicked = w.code.expelled(name, member) if w.code else member._replace(kicked=True, echo=0)
                expelled = with_member(s, name, kicked)
                yield Step(f"coordinator {c} expels {name}", expelled)


def _fence(w: World, s: State, c: int, name: int, member: Member) -> Iterator[Step]:
    """R5, R12. The timing rule of 3.2: while the incarnation in the member Lease believes, a fence cannot succeed."""
    if w.code is not None:
        fenced = w.code.fenced(name, member, held=is_held(w, s, name))
        if fenced is None:
            return
    elif is_held(w, s, name) and "fence-a-live-member" not in w.without:
        return
    else:
        fenced = Member(member.epoch + (0 if "fence-without-raise" in w.without else 1), NOBODY, member.echo)
    if any(x.past and x.believes and w.names[q] == name for q, x in enumerate(s.processes)):
        return  # a restore starts all timers again
    harm = ""
    if s.brown == 2:
        if "no-brown-out-freeze" not in w.without:
            return
        if s.processes[member.holder].epoch != GONE:
            harm = f"A2: {name} is fenced though it only could not reach the server"
    t = with_member(s, name, fenced)
    if "trust-own-fences-only" in w.without and s.map is not None and s.coordinators[c].view == s.map:
        new = s.map._replace(floors=put(s.map.floors, name, member.epoch + 1))
        t = with_coordinator(
            t, c, s.coordinators[c]._replace(op=("map", -1, s.map, new, f"raises the floor of {name}"))
        )
    yield Step(f"coordinator {c} fences {name}", t, harm=harm)


def _does_not_follow(w: World, s: State, name: int, member: Member) -> bool:
    """R13: a range that it should have handed over long ago, or a loss that it does not repeat."""
    assert s.map is not None
    if member.echo < max(s.map.lost):
        return True
    for r in w.ranges:
        lease = s.leases[r]
        target = w.target(s.map, r)
        if lease.holder == (name, member.epoch) and target != name:
            ready = lease.standby is not None and lease.standby[0] == target and lease.standby[2] == lease.epoch
            if ready or not w.standbys or target < 0:
                return True
    return False


# -- the map --------------------------------------------------------------------------------------------------------


def _plans(w: World, s: State, c: int, m: Map) -> Iterator[Step]:
    yield from _floors(w, s, c, m)
    yield from _losses(w, s, c, m)
    yield from _targets(w, s, c, m)
    yield from _layouts(w, s, c, m)


def _floors(w: World, s: State, c: int, m: Map) -> Iterator[Step]:
    if "trust-own-fences-only" in w.without:
        return
    followed = with_floors(w, s, m)
    frees = any(
        x.holder is not None
        and x.holder != EMPTIED
        and m.floors[x.holder[0]] <= x.holder[1] < followed.floors[x.holder[0]]
        for x in s.leases
    )
    frees = frees or any(not m.floors[name] and followed.floors[name] for name in m.targets)
    if frees:
        yield from plan_map(w, s, c, m, "raises the floors")
    for name in range(w.people):
        named = max([x.holder[1] for x in s.leases if x.holder is not None and x.holder[0] == name], default=-1)
        alive = any(x.believes and x.epoch > 0 and w.names[q] == name for q, x in enumerate(s.processes))
        if "no-floor-for-the-gone" in w.without or (alive and "gone-at-once" not in w.without):
            continue
        if s.members[name].epoch == 0 and named >= m.floors[name]:
            if w.code is not None:
                gone = w.code.with_floors(m, s.members, s.leases, ghosts(w, s), (name,))
            else:
                gone = m._replace(floors=put(m.floors, name, named + 1))
            yield from plan_map(w, s, c, gone, f"raises the floor of {name}, which has no record")


def is_missing(s: State, r: int, opened: int) -> bool:
    lease = s.leases[r]
    return bool(opened >> r & 1) if lease.status == ABSENT else lease.holder == EMPTIED


def _losses(w: World, s: State, c: int, m: Map) -> Iterator[Step]:
    if w.code is not None:
        lost = w.code.upkeep(m, s.leases, s.members, ghosts(w, s)).lost
        if lost != m.lost:
            marked = m._replace(lost=lost, losses=max(m.losses, *lost))
            yield from plan_map(w, s, c, marked, "marks what is lost, and what is found")
        return
    for r in w.ranges:
        listed = bool((w.layout_masks[m.layout] | m.retiring) >> r & 1)
        missing = listed and is_missing(s, r, m.opened)
        if missing and not m.lost[r] and "recreate-at-once" not in w.without:
            new = m._replace(lost=put(m.lost, r, m.losses + 1), losses=m.losses + 1)
            yield from plan_map(w, s, c, new, f"marks {r} lost")
        if m.lost[r] and not missing:
            yield from plan_map(w, s, c, m._replace(lost=put(m.lost, r, 0)), f"marks {r} found")


def _able(w: World, s: State) -> list[int]:
    """Names that have a living process which holds its member Lease."""
    return sorted(
        {
            name
            for name, member in enumerate(s.members)
            if member.holder != NOBODY and s.processes[member.holder].epoch > 0
        }
    )


def _targets(w: World, s: State, c: int, m: Map) -> Iterator[Step]:
    able = _able(w, s)
    for i, r in enumerate(w.layouts[m.layout]):
        target, lease = m.targets[i], s.leases[r]
        processes = [x for q, x in enumerate(s.processes) if w.names[q] == target]
        dead = all(x.epoch == GONE or (x.epoch == 0 and x.health == BLIND) for x in processes)
        if dead and s.members[target].holder == NOBODY:
            for name in able:
                if name != target:
                    yield from plan_map(w, s, c, _aimed(m, i, name), f"gives {r} to {name}, as {target} is gone")
        cold = all(x.epoch == GONE or x.health in (COLD, STUCK) for x in processes)
        holder = lease.holder[0] if lease.holder is not None else NOBODY
        kept = holder in able and holder != target and lease.status == ACTIVE and is_held(w, s, holder)
        if cold and not dead and w.standbys and kept and "wait-for-a-standby-for-ever" not in w.without:
            yield from plan_map(w, s, c, _aimed(m, i, holder), f"gives {r} back to {holder}")
        idle = all(x.epoch == GONE or x.health == STUCK for x in processes) and not dead
        if idle and lease.status == ACTIVE and is_free(lease, m.floors) and "no-deadline-for-a-claim" not in w.without:
            for name in able:
                if name != target:
                    yield from plan_map(
                        w, s, c, _aimed(m, i, name), f"gives {r} to {name}, as {target} does not claim it"
                    )
        if w.left(s, "retarget"):
            for name in able:
                if name != target:
                    spent = w.spend(s, "retarget")
                    yield from plan_map(w, spent, c, _aimed(m, i, name), f"gives {r} to {name}", True)


def _aimed(m: Map, i: int, name: int) -> Map:
    return m._replace(targets=put(m.targets, i, name))


def _layouts(w: World, s: State, c: int, m: Map) -> Iterator[Step]:
    me = s.coordinators[c]
    if not m.retiring or "several-reshards" in w.without:
        if w.left(s, "reshard"):
            yield from plan_map(w, w.spend(s, "reshard"), c, _cut(w, s, m, 1 - m.layout), "reshards", True)
        newer = me.config > m.config
        if newer or ("older-config-reshards" in w.without and me.config != m.config):
            cut = _cut(w, s, m, me.config % 2)._replace(config=me.config)
            for step in plan_map(w, s, c, cut, f"reshards to config {me.config}"):
                yield step if newer else step._replace(harm="A2: the layout goes back to an older config")
    edited = w.budget[-1] - w.left(s, "config")
    if me.config < edited and s.valid == c:
        yield Step(f"coordinator {c} reads the config", with_coordinator(s, c, me._replace(config=edited)))
    if w.code is not None:
        retiring = w.code.upkeep(m, s.leases, s.members, ghosts(w, s)).retiring
        if retiring != m.retiring:
            yield from plan_map(w, s, c, m._replace(retiring=retiring), "retires what is in no layout")
        return
    strays = 0
    for r in w.ranges:
        if s.leases[r].status == ACTIVE and not (w.layout_masks[m.layout] | m.retiring) >> r & 1:
            strays |= 1 << r
    if strays and "ignore-strays" not in w.without:
        yield from plan_map(w, s, c, m._replace(retiring=m.retiring | strays), "retires what is in no layout")


def _cut(w: World, s: State, m: Map, layout: int) -> Map:
    if w.code is not None:
        return w.code.relaid(m, layout, s.leases)
    old, new = w.layout_masks[m.layout], w.layout_masks[layout]
    retiring = (m.retiring | old) & ~new
    if "reshard-without-retiring" in w.without:
        retiring = 0
    return m._replace(layout=layout, targets=(0,) if layout == 0 else (0, 1), retiring=retiring)
