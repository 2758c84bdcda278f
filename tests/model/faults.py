"""What people and servers do to a fleet: deleted, edited and restored objects, elections, brown-outs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.state import (
    ABSENT,
    BLIND,
    COLD,
    EMPTIED,
    GONE,
    NOBODY,
    OK,
    OPEN,
    Coordinator,
    Lease,
    Map,
    Member,
    State,
    Step,
    World,
    with_coordinator,
    with_member,
    write_lease,
    write_map,
)


def fault_steps(w: World, s: State) -> Iterator[Step]:
    yield from _server(w, s)
    if s.brown == 1:
        return
    for r in w.ranges:
        lease = s.leases[r]
        if w.left(s, "delete-shard") and lease.status != ABSENT:
            yield Step(f"somebody deletes {r}", write_lease(w, w.spend(s, "delete-shard"), r, Lease(ABSENT)), True)
        if w.left(s, "empty-shard") and lease.holder not in (None, EMPTIED):
            t = write_lease(w, w.spend(s, "empty-shard"), r, lease._replace(holder=EMPTIED))
            yield Step(f"somebody empties the holder of {r}", t, True)
    for name, member in enumerate(s.members):
        if w.left(s, "delete-member") and member.epoch:
            t = with_member(w.spend(s, "delete-member"), name, Member())
            yield Step(f"somebody deletes the member Lease of {name}", t, True)
    if w.left(s, "delete-map") and s.map is not None:
        yield Step("somebody deletes the map", write_map(w.spend(s, "delete-map"), None), True)
    if w.left(s, "config"):
        yield Step("somebody edits the config", w.spend(s, "config"), True)
    if w.left(s, "elect"):
        other = 1 - s.valid
        t = w.spend(s, "elect")._replace(valid=other, term=s.term + 1)
        yield Step(f"coordinator {other} is elected", t, True)
        if s.map is None:
            t = with_coordinator(t, other, s.coordinators[other]._replace(view=None))
            yield Step(f"coordinator {other}, which has never seen a map, is elected", t, True)
    yield from _restore(w, s)


def _server(w: World, s: State) -> Iterator[Step]:
    if s.brown == 0 and w.left(s, "brown-out"):
        stopped = tuple(x._replace(believes=False) for x in s.processes)
        t = w.spend(s, "brown-out")._replace(brown=1, processes=stopped)
        yield Step("the server answers nobody for longer than a lease", t, True)
    elif s.brown == 1:
        yield Step("the server answers again", s._replace(brown=2))
    elif s.brown == 2 and all(
        x.epoch == GONE or x.health == BLIND or (x.epoch > 0 and x.believes) for x in s.processes
    ):  # R12: a renewal of its own, and a lease more. Within that, whoever lives has come back.
        yield Step("the coordinator trusts itself again", s._replace(brown=0))


def _restore(w: World, s: State) -> Iterator[Step]:
    if not w.left(s, "restore"):
        return
    if s.backup is None:
        yield Step("somebody saves the store", s._replace(backup=(s.members, s.leases, s.map)), True)
        return
    members, leases, m = s.backup
    assert isinstance(members, tuple)
    assert isinstance(leases, tuple)
    assert m is None or isinstance(m, Map)
    processes = tuple(
        x._replace(past=True, claim=-1) if x.epoch > 0 else x._replace(waits=x.epoch == 0) for x in s.processes
    )
    quiet = "restored-coordinator-acts-at-once" not in w.without
    coordinators = tuple(Coordinator(x.view, None, x.config, quiet) for x in s.coordinators)
    t = w.spend(s, "restore")._replace(
        members=members, leases=leases, map=m, processes=processes, coordinators=coordinators, backup=None
    )
    yield Step("somebody restores the store", t, True)


# -- what may never be, and what must stay possible -----------------------------------------------------------------


def violation(w: World, s: State) -> str:
    """Safety, on every state; "" where it holds."""
    late = "act-after-deadline" in w.without
    acting = [(p, x.holds) for p, x in enumerate(s.processes) if x.holds and (x.believes or late) and x.epoch != GONE]
    if len(acting) > 1:
        for key in (1, 2):
            actors = [p for p, holds in acting if any(holds >> r & 1 and w.keys[r] & key for r in w.ranges)]
            if len(actors) > 1:
                return f"S1: {actors[0]} and {actors[1]} may both act on one key"
    live = 0
    for r in w.ranges:
        holder = s.leases[r].holder
        if holder is None or holder == EMPTIED or s.leases[r].status == ABSENT:
            continue
        member = s.members[holder[0]]
        if member.epoch == holder[1] and member.holder != NOBODY:
            if live & w.overlaps[r]:
                return "S2: two ranges that overlap are held at once"
            live |= 1 << r
    if w.gates:
        for p, holds in acting:
            me = s.processes[p]
            if holds and me.gate == OPEN and me.seen < s.contents:
                return f"S3: {p} may act on a view older than what was written before it"
    return ""


def owned(w: World, s: State) -> bool:
    """Every key has an owner that does its work; or nobody is left who could."""
    able = [x for x in s.processes if x.epoch != GONE and x.health in (OK, COLD)]
    if not able:
        return True
    keys = 0
    for x in s.processes:
        if x.believes and not x.past and x.epoch > 0 and x.gate == OPEN:
            for r in w.ranges:
                if x.holds >> r & 1:
                    keys |= w.keys[r]
    return keys == w.every_key


def settled(w: World, s: State) -> bool:
    """And each range is where the map wants it, with nothing left to do."""
    able = [x for x in s.processes if x.epoch != GONE and x.health in (OK, COLD)]
    if not able:
        return True
    m = s.map
    if not w.governed:
        return owned(w, s)
    if m is None or m.retiring or any(m.lost) or s.brown:
        return False
    for r in w.layouts[m.layout]:
        holder = s.leases[r].holder
        if holder is None or holder[0] != w.target(m, r) or not is_owner(w, s, holder, r):
            return False
    return owned(w, s)


def is_owner(w: World, s: State, holder: tuple[int, int], r: int) -> bool:
    return any(
        w.names[q] == holder[0] and x.epoch == holder[1] and x.believes and x.holds >> r & 1
        for q, x in enumerate(s.processes)
    )
