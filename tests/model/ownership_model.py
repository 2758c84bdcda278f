#!/usr/bin/env python3
"""Exhaustive check of the ownership protocol (design.md, section 3): who may act on a key, and when.

A small explicit-state model checker. Two workers, two coordinator candidates, two keys and two ways to
cut the key space (one range {0,1}, or two ranges {0} and {1}), so that claims, takeovers, fences, retargets,
online resharding, workers that leave and Leases that somebody deletes interleave in every order, with every
read and the compare-and-swap after it split into separate steps. Time is abstracted into one fact: a fence
can only succeed once the fenced worker's own deadline has passed.

Checked on every reachable state:
  S1  no key has two workers that both may act on it at the same instant
  S2  no two overlapping ranges are held by live incarnations at once
  L1  (AG EF) from every reachable state, a state where every key is owned can still be reached

Seen (2026-11-29): all eight budgets hold, exhaustively (555,203; 34,003; 405,880; 5,262; 609,284; 839,082; 1,365,225; 84,342 states),
and each of the fourteen removed rules is caught. Two reshards with a change of coordinator (0, 0, 1, 2, 0, 0, 0, 0): 8,000,000 states without a
violation, not exhausted; an earlier, smaller model (no deletions, coordinators that read live) was exhausted there.

Not in the model: standby and watermarks, answers that get lost, a delayed create that lands after a second
deletion, two live incarnations under one name, three workers, R12, R13, R15, R16.

Run:  pypy3 ownership_model.py                 the protocol; exit 0 when S1, S2 and L1 hold (about 10 minutes)
      pypy3 ownership_model.py --break NAME    one rule removed; exit 0 when a violation IS found
      pypy3 ownership_model.py --all           the protocol and every mutation (an oracle that never
                                               fired proves nothing)
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from typing import Iterator, NamedTuple

WHOLE, LOW, HIGH = "W", "L", "H"  # key ranges: {0,1}, {0}, {1}
KEYS = {WHOLE: (0, 1), LOW: (0,), HIGH: (1,)}
LAYOUTS = ((WHOLE,), (LOW, HIGH))
RANGES = (WHOLE, LOW, HIGH)


def overlaps(r: str) -> tuple[str, ...]:
    return tuple(x for x in RANGES if x != r and set(KEYS[x]) & set(KEYS[r]))


class Lease(NamedTuple):
    """One Lease object per range. status: 'absent', 'active' or 'retired'."""

    status: str
    holder: tuple[int, int] | None  # (worker, member epoch)


class Member(NamedTuple):
    """One member Lease per worker; a new incarnation and a fence both raise the epoch. Epoch 0: the Lease does not exist."""

    epoch: int
    held: bool
    echo: tuple[str, ...] = ()  # lost ranges in the map version that the member's last renewal repeated


class Map(NamedTuple):
    """The shard map object. fenced[w]: member epochs of w below this are dead."""

    layout: int
    targets: tuple[int, ...]  # worker per range of the layout
    retiring: tuple[str, ...]  # ranges of the previous layout that still need their retire write
    fenced: tuple[int, int]
    opened: tuple[str, ...] = ()  # ranges that were activated at least once
    lost: tuple[str, ...] = ()  # opened ranges whose Lease was found missing


class Worker(NamedTuple):
    epoch: int  # member epoch it runs under; 0 = not a member; -1 = gone for good
    believes: bool  # its own monotonic deadline has not passed
    view: Map  # its possibly stale copy of the map
    holds: tuple[str, ...]
    pending: tuple | None  # (range, still current?): a claim between its read and its CAS


class State(NamedTuple):
    members: tuple[Member, Member]
    leases: tuple[Lease, Lease, Lease]
    map: Map
    workers: tuple[Worker, Worker]
    valid: int  # coordinator that holds the coordinator lease
    pending: tuple  # per coordinator: an operation between its steps, or None
    budget: tuple[
        int, ...
    ]  # faults left: crash, expire, elect, reshard, retarget, shard Lease deleted, member Lease deleted, worker leaves


CRASH, EXPIRE, ELECT, RESHARD, RETARGET, DELETE, MDELETE, LEAVE = range(8)


def put(t: tuple, i: int, v) -> tuple:
    return t[:i] + (v,) + t[i + 1 :]


def spend(s: State, what: int) -> State:
    return s._replace(budget=put(s.budget, what, s.budget[what] - 1))


def lease_of(s: State, r: str) -> Lease:
    return s.leases[RANGES.index(r)]


def write_lease(s: State, r: str, lease: Lease) -> State:
    """A write moves the resourceVersion, so every CAS begun on an earlier read of this lease will conflict."""
    workers = tuple(w._replace(pending=(r, False)) if w.pending and w.pending[0] == r else w for w in s.workers)
    pending = tuple(
        op[:2] + (False,) + op[3:]
        if op and op[0] in ("retire", "activate", "opened", "map-checked", "commit") and op[1] == r
        else op
        for op in s.pending
    )
    return s._replace(leases=put(s.leases, RANGES.index(r), lease), workers=workers, pending=pending)


def write_map(s: State, m: Map) -> State:
    pending = tuple(
        op[:-1] + (False,)
        if op and op[0] in ("fenced", "retarget", "reshard", "retire", "forget", "lost", "found", "opened")
        else op
        for op in s.pending
    )
    return s._replace(map=m, pending=pending)


def with_worker(s: State, w: int, worker: Worker) -> State:
    return s._replace(workers=put(s.workers, w, worker))


def with_op(s: State, c: int, op: tuple | None) -> State:
    return s._replace(pending=put(s.pending, c, op))


def is_free(lease: Lease, fenced: tuple[int, int]) -> bool:
    return lease.holder is None or lease.holder[1] < fenced[lease.holder[0]]


def known_epoch(s: State, w: int, broken: str) -> int:
    """The highest epoch of w that the map or any shard Lease remembers: a Lease created again must start above it."""
    if broken == "member-epoch-restarts":
        return 0
    return max([s.map.fenced[w], s.members[w].epoch] + [x.holder[1] for x in s.leases if x.holder and x.holder[0] == w])


def initial_map() -> Map:
    return Map(0, (0,), (), (0, 0), (WHOLE,))


def initial(budget: tuple[int, ...]) -> State:
    m = initial_map()
    leases = (Lease("active", None), Lease("absent", None), Lease("absent", None))
    worker = Worker(0, False, m, (), None)
    return State((Member(0, False), Member(0, False)), leases, m, (worker, worker), 0, (None, None), budget)


def steps(s: State, broken: str) -> Iterator[tuple[str, State]]:
    yield from worker_steps(s, broken)
    for c in (0, 1):
        if s.pending[c]:  # begun earlier; the coordinator may have lost its office since
            yield from continue_operation(s, c, s.pending[c], broken)
        elif s.valid == c:
            yield from begin_operation(s, c, broken)
    if s.budget[ELECT]:
        yield f"coordinator {1 - s.valid} elected", spend(s, ELECT)._replace(valid=1 - s.valid)


def worker_steps(s: State, broken: str) -> Iterator[tuple[str, State]]:
    for w, me in enumerate(s.workers):
        member = s.members[w]
        if me.epoch < 0:
            continue
        if me.epoch == 0:  # join: CAS the member lease; a new incarnation always raises the epoch
            epoch = known_epoch(s, w, broken) + 1 if member.epoch == 0 else member.epoch + 1
            t = s._replace(members=put(s.members, w, Member(epoch, True, s.map.lost)))
            yield f"worker {w} joins at epoch {epoch}", with_worker(t, w, Worker(epoch, True, s.map, (), None))
            continue
        if s.budget[LEAVE] and me.believes:  # the drain was cut short: its shard Leases still name it
            fence = 0 if broken == "leave-without-fence" else 1
            t = spend(s, LEAVE)
            if member == Member(me.epoch, True, member.echo):
                t = t._replace(members=put(s.members, w, Member(me.epoch + fence, False)))
            yield f"worker {w} leaves for good", with_worker(t, w, Worker(-1, False, initial_map(), (), None))
        if s.budget[CRASH]:
            yield f"worker {w} dies", with_worker(spend(s, CRASH), w, Worker(0, False, s.map, (), None))
        if me.believes and s.budget[EXPIRE]:
            yield f"worker {w} stalls past its deadline", with_worker(spend(s, EXPIRE), w, me._replace(believes=False))
        if not me.believes:
            if member.epoch == me.epoch and member.held:  # nobody fenced it: the renewal's CAS succeeds
                yield f"worker {w} renews late", with_worker(s, w, me._replace(believes=True))
            else:  # fenced: drop everything, join again as a new incarnation
                yield f"worker {w} learns it was fenced", with_worker(s, w, Worker(0, False, s.map, (), None))
            continue
        if member.epoch == 0:
            yield f"worker {w} finds its member lease gone", with_worker(s, w, Worker(0, False, s.map, (), None))
        if me.view != s.map:
            keep = tuple(r for r in me.holds if r not in s.map.lost) if broken != "echo-without-drop" else me.holds
            yield f"worker {w} sees the new map", with_worker(s, w, me._replace(view=s.map, holds=keep))
        if member.epoch == me.epoch and member.held and member.echo != me.view.lost:
            yield (
                f"worker {w} renews and repeats the map",
                s._replace(members=put(s.members, w, member._replace(echo=me.view.lost))),
            )
        for r in me.holds:
            if lease_of(s, r).holder != (w, me.epoch) and broken != "keep-missing-lease":
                yield (
                    f"worker {w} sees that {r} is no longer its own",
                    with_worker(s, w, me._replace(holds=tuple(x for x in me.holds if x != r))),
                )
        layout = LAYOUTS[me.view.layout]
        if me.pending:
            r, current = me.pending
            t = with_worker(s, w, me._replace(pending=None))
            if current or broken == "claim-without-cas":
                t = write_lease(t, r, Lease("active", (w, me.epoch)))
                t = with_worker(t, w, t.workers[w]._replace(holds=tuple(sorted({*me.holds, r}))))
                yield f"worker {w} claims {r}", t
            else:
                yield f"worker {w} claim of {r} conflicts", t
        else:
            for i, r in enumerate(layout):
                lease = lease_of(s, r)
                free = (
                    is_free(lease, me.view.fenced)
                    or lease.holder[0] == w
                    and lease.holder[1] < me.epoch
                    or lease.holder == (w, me.epoch)
                    or broken == "claim-on-target-alone"
                )
                if (
                    me.view.targets[i] == w
                    and r not in me.holds
                    and r not in me.view.lost
                    and free
                    and (lease.status == "active" or broken == "claim-retired" and lease.status == "retired")
                ):
                    yield f"worker {w} reads {r} before a claim", with_worker(s, w, me._replace(pending=(r, True)))
        for r in me.holds:  # give up what the map it sees no longer gives it
            if r in layout and me.view.targets[layout.index(r)] == w:
                continue
            lease = lease_of(s, r)
            mine = lease.holder == (w, me.epoch)
            if broken == "release-before-drain":
                if mine:
                    yield f"worker {w} releases {r} and keeps working", write_lease(s, r, Lease(lease.status, None))
                continue
            t = with_worker(s, w, me._replace(holds=tuple(x for x in me.holds if x != r)))
            yield f"worker {w} drained and released {r}", write_lease(t, r, Lease(lease.status, None)) if mine else t


def begin_operation(s: State, c: int, broken: str) -> Iterator[tuple[str, State]]:
    m = s.map
    for r in RANGES:
        if s.budget[DELETE] and lease_of(s, r).status != "absent":
            yield f"somebody deletes {r}", write_lease(spend(s, DELETE), r, Lease("absent", None))
        if r in m.opened and r not in m.lost and lease_of(s, r).status == "absent" and broken != "recreate-at-once":
            yield f"coordinator {c} misses {r}", with_op(s, c, ("lost", r, True))
        if r in m.lost and lease_of(s, r).status != "absent":
            yield f"coordinator {c} has {r} back", with_op(s, c, ("found", r, True))
    for w, me in enumerate(s.workers):
        if s.budget[MDELETE] and s.members[w].epoch:
            yield (
                f"somebody deletes member {w}",
                spend(s, MDELETE)._replace(members=put(s.members, w, Member(0, False))),
            )
        if me.epoch < 0 and w in m.targets and not s.pending[c]:
            yield f"coordinator {c} moves ranges off worker {w}", with_op(s, c, ("retarget", m.targets.index(w), True))
        named = max((x.holder[1] for x in s.leases if x.holder and x.holder[0] == w), default=-1)
        if s.members[w].epoch == 0 and not me.believes and named >= m.fenced[w]:
            yield f"coordinator {c} finds no member {w}", with_op(s, c, ("fenced", w, named + 1, True))
    for w, me in enumerate(s.workers):
        member = s.members[w]
        # the timing rule: while the incarnation named in the member lease believes, a fence cannot succeed
        alive = me.epoch == member.epoch and me.believes and me.epoch > 0
        if member.epoch == 0:
            continue
        if member.held and (not alive or broken == "fence-live-member"):
            t = s._replace(members=put(s.members, w, Member(member.epoch + 1, False)))
            yield f"coordinator {c} fences worker {w}", with_op(t, c, ("fenced", w, member.epoch + 1, True))
        if m.fenced[w] < member.epoch and broken != "trust-own-fences-only":
            # a restarted worker, or a fence whose author died before it wrote the map: older epochs are dead all the same
            yield (
                f"coordinator {c} sees worker {w} at epoch {member.epoch}",
                with_op(s, c, ("fenced", w, member.epoch, True)),
            )
    if s.budget[RETARGET]:
        for i in range(len(m.targets)):
            yield f"coordinator {c} plans a retarget", with_op(spend(s, RETARGET), c, ("retarget", i, True))
    if s.budget[RESHARD] and not m.retiring:
        yield f"coordinator {c} plans a reshard", with_op(spend(s, RESHARD), c, ("reshard", True))
    for r in m.retiring:
        if broken == "skip-unopened-retire" and lease_of(s, r).status != "active":
            yield (
                f"coordinator {c} forgets {r}",
                write_map(s, m._replace(retiring=tuple(x for x in m.retiring if x != r))),
            )
        elif (
            lease_of(s, r).status == "absent"
            and r in m.opened
            and broken != "missing-is-free"
            and not (r in m.lost and all(r in x.echo for x in s.members if x.held))
        ):
            continue  # a missing lease of an opened range is not a free one: somebody may not have noticed yet
        elif is_free(lease_of(s, r), m.fenced) or broken == "retire-held":
            yield f"coordinator {c} reads {r} before retiring it", with_op(s, c, ("retire", r, True, True))
    for r in RANGES:
        lease = lease_of(s, r)
        if r not in LAYOUTS[m.layout] and lease.status == "active" and r not in m.retiring and is_free(lease, m.fenced):
            yield f"coordinator {c} reads the stray {r}", with_op(s, c, ("retire", r, True, False))
        if lease.status != "active":  # whatever its cached map says: any range may be tried
            if broken == "map-check-first":
                if r in LAYOUTS[m.layout] and not set(overlaps(r)) & set(m.retiring):
                    yield f"coordinator {c} checked the map for {r}", with_op(s, c, ("late-read", r))
            elif r in LAYOUTS[m.layout] or s.budget[ELECT] == 0:  # before the first election its cache is its own work
                yield f"coordinator {c} reads {r} before activating it", with_op(s, c, ("activate", r, True))


def continue_operation(s: State, c: int, op: tuple, broken: str) -> Iterator[tuple[str, State]]:
    done = with_op(s, c, None)
    m = s.map
    if op[0] in ("fenced", "retarget", "reshard") and not op[-1] and broken != "map-without-cas":
        yield f"coordinator {c} map write conflicts", done
    elif op[0] == "fenced":
        _, w, epoch, _ = op
        yield f"coordinator {c} writes fenced[{w}]={epoch}", write_map(done, m._replace(fenced=put(m.fenced, w, epoch)))
    elif op[0] == "retarget":
        i = op[1] % len(m.targets)
        if s.workers[1 - m.targets[i]].epoch < 0:  # the other one is gone for good
            yield f"coordinator {c} drops the retarget", done
            return
        yield (
            f"coordinator {c} retargets range {i}",
            write_map(done, m._replace(targets=put(m.targets, i, 1 - m.targets[i]))),
        )
    elif op[0] == "reshard":
        layout = 1 - m.layout
        yield (
            f"coordinator {c} reshards",
            write_map(
                done, m._replace(layout=layout, targets=(0,) if layout == 0 else (0, 1), retiring=LAYOUTS[m.layout])
            ),
        )
    elif op[0] == "retire":
        _, r, lease_current, map_current = op
        if not lease_current:
            yield f"coordinator {c} retire of {r} conflicts", done
        else:
            t = write_lease(done, r, Lease("retired", None))
            yield f"coordinator {c} retires {r}", with_op(t, c, ("forget", r, map_current))
    elif op[0] == "forget":
        _, r, current = op
        yield (
            f"coordinator {c} takes {r} off the retiring list",
            write_map(done, m._replace(retiring=tuple(x for x in m.retiring if x != r)))
            if current and r in m.retiring
            else done,
        )
    elif op[0] == "lost":
        yield (
            f"coordinator {c} marks {op[1]} lost",
            write_map(done, m._replace(lost=(*m.lost, op[1]))) if op[-1] else done,
        )
    elif op[0] == "found":
        yield (
            f"coordinator {c} marks {op[1]} found",
            write_map(done, m._replace(lost=tuple(x for x in m.lost if x != op[1]))) if op[-1] else done,
        )
    elif op[0] == "opened":
        if op[-1]:
            t = write_map(s, m._replace(opened=tuple(sorted({*m.opened, op[1]}))))
            yield f"coordinator {c} marks {op[1]} opened", with_op(t, c, ("map-checked", op[1], op[2]))
        else:
            yield f"coordinator {c} map write conflicts", done
    elif op[0] == "activate":  # a quorum read of the map, after the read of the lease
        _, r, current = op
        ready = r in LAYOUTS[m.layout] and not set(overlaps(r)) & set(m.retiring)
        if lease_of(s, r).status == "absent" and broken != "recreate-at-once":
            if r not in m.opened:  # the map must know first, or a later loss would look like a first start
                yield (
                    (f"coordinator {c} will open {r}", with_op(s, c, ("opened", r, current, True)))
                    if ready
                    else (f"coordinator {c} gives up activating {r}", done)
                )
                return
            ready = ready and r in m.lost and all(r in x.echo for x in s.members if x.held)
        if broken == "no-map-check":
            ready = True
        yield (
            (f"coordinator {c} checked the map for {r}", with_op(s, c, ("map-checked", r, current)))
            if ready
            else (f"coordinator {c} gives up activating {r}", done)
        )
    elif op[0] == "map-checked":
        _, r, current = op
        if all(lease_of(s, x).status != "active" for x in overlaps(r)):
            yield f"coordinator {c} checked the overlaps of {r}", with_op(s, c, ("commit", r, current))
        else:
            yield f"coordinator {c} gives up activating {r}", done
    elif op[0] == "late-read":
        yield f"coordinator {c} reads {op[1]} late", with_op(s, c, ("map-checked", op[1], True))
    elif op[0] == "commit":
        _, r, current = op
        if current and lease_of(s, r).status != "active":
            yield f"coordinator {c} activates {r}", write_lease(done, r, Lease("active", None))
        else:
            yield f"coordinator {c} activation of {r} conflicts", done


def violation(s: State, broken: str) -> str | None:
    for k in (0, 1):
        actors = [
            w
            for w, me in enumerate(s.workers)
            if (me.believes or broken == "act-after-deadline") and any(k in KEYS[r] for r in me.holds)
        ]
        if len(actors) > 1:
            return f"S1: both workers may act on key {k}"
    live = [
        r
        for r in RANGES
        if (h := lease_of(s, r).holder) and s.members[h[0]][:2] == (h[1], True) and lease_of(s, r).status == "active"
    ]
    for r in live:
        for x in overlaps(r):
            if x in live:
                return f"S2: overlapping ranges {r} and {x} are both held"
    return None


def all_owned(s: State) -> bool:
    if all(me.epoch < 0 for me in s.workers):
        return True
    owned = {k for me in s.workers if me.believes for r in me.holds for k in KEYS[r]}
    return owned == {0, 1}


def explore(budget: tuple[int, ...], broken: str, liveness: bool, cap: int) -> tuple[int, str | None, list[str]]:
    start = initial(budget)
    index: dict[State, int] = {start: 0}
    order = [start]
    parent: list[tuple[int, str]] = [(-1, "start")]
    edges_in: list[list[int]] = [[]] if liveness else []
    queue = deque([0])
    while queue:
        i = queue.popleft()
        s = order[i]
        for label, t in steps(s, broken):
            j = index.get(t)
            if j is None:
                j = len(order)
                index[t] = j
                order.append(t)
                parent.append((i, label))
                if liveness:
                    edges_in.append([])
                queue.append(j)
                bad = violation(t, broken)
                if bad:
                    return len(order), bad, trace(parent, j)
                if len(order) > cap:
                    return len(order), "cap reached: not exhaustive", []
            if liveness:
                edges_in[j].append(i)
    if liveness:
        good = [all_owned(s) for s in order]
        stack = [i for i, g in enumerate(good) if g]
        while stack:
            for i in edges_in[stack.pop()]:
                if not good[i]:
                    good[i] = True
                    stack.append(i)
        for i, g in enumerate(good):
            if not g:
                return len(order), "L1: this state can never own every key again", trace(parent, i) + [repr(order[i])]
    return len(order), None, []


def trace(parent: list[tuple[int, str]], i: int) -> list[str]:
    out = []
    while i >= 0:
        i, label = parent[i]
        out.append(label)
    return out[::-1]


# name of the removed rule -> faults left (in the order of State.budget) that let it show
MUTATIONS = {
    "act-after-deadline": (0, 1, 0, 0, 1, 0, 0, 0),
    "claim-without-cas": (1, 1, 0, 0, 2, 0, 0, 0),
    "claim-on-target-alone": (0, 0, 0, 0, 1, 0, 0, 0),
    "release-before-drain": (0, 0, 0, 0, 1, 0, 0, 0),
    "fence-live-member": (0, 0, 0, 0, 1, 0, 0, 0),
    "retire-held": (0, 0, 0, 1, 0, 0, 0, 0),
    "trust-own-fences-only": (1, 0, 0, 0, 1, 0, 0, 0),
    "claim-retired": (0, 0, 0, 1, 0, 0, 0, 0),
    "recreate-at-once": (0, 0, 0, 0, 1, 1, 0, 0),
    "echo-without-drop": (0, 0, 0, 0, 1, 1, 0, 0),
    "member-epoch-restarts": (1, 0, 0, 0, 1, 0, 1, 0),
    "leave-without-fence": (0, 0, 0, 0, 0, 0, 0, 1),
    "no-map-check": (0, 0, 1, 1, 0, 0, 0, 0),
    "missing-is-free": (0, 0, 0, 1, 0, 1, 0, 0),
}
BUDGETS = (
    (1, 1, 0, 0, 1, 0, 0, 0),
    (0, 0, 0, 0, 1, 1, 0, 0),
    (1, 0, 0, 0, 1, 0, 1, 0),
    (0, 0, 0, 0, 1, 0, 0, 1),
    (1, 0, 0, 1, 0, 0, 0, 0),
    (0, 0, 0, 1, 0, 1, 0, 0),
    (0, 0, 1, 1, 0, 0, 0, 0),
    (0, 0, 0, 1, 0, 0, 0, 1),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", dest="broken", choices=sorted(MUTATIONS), default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--cap", type=int, default=6_000_000, help="most states per run")
    args = parser.parse_args()
    failed = False
    if not args.broken:
        for budget in BUDGETS:
            began = time.monotonic()
            n, bad, path = explore(budget, "", True, args.cap)
            print(
                f"faults (crash, expire, elect, reshard, retarget, shard Lease deleted, member Lease deleted, leave)={budget}: {n} states, {bad or 'S1 S2 L1 hold'}, {time.monotonic() - began:.1f} s",
                flush=True,
            )
            if bad:
                failed = True
                print("\n".join("   " + x for x in path))
    for name in MUTATIONS if args.all else [args.broken] if args.broken else []:
        n, bad, path = explore(MUTATIONS[name], name, True, args.cap)
        print(f"without '{name}': {n} states, {bad or 'NO VIOLATION FOUND'}", flush=True)
        if not bad or bad.startswith("cap"):
            failed = True
        elif args.broken:
            print("\n".join("   " + x for x in path))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
