"""What a worker does about one range: stand by, claim, open, drain, release, give back."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.rules.handover import Action, Phase
from tests.model.code import Code
from tests.model.standbys import has_nothing_behind, stands_alone
from tests.model.state import (
    ABSENT,
    ACTIVE,
    BLIND,
    COLD,
    EMPTIED,
    LIST,
    OPEN,
    RETIRED,
    STUCK,
    Lease,
    Process,
    State,
    Step,
    World,
    is_free,
    with_process,
    write_lease,
)


def range_steps(w: World, s: State) -> Iterator[Step]:
    for p, me in enumerate(s.processes):
        if me.epoch <= 0 or not me.believes or not me.established:
            continue
        if w.left(s, "act") and me.holds and me.gate == OPEN:
            acted = w.spend(s, "act")._replace(contents=s.contents + 1)
            yield Step(f"{p} changes an object", with_process(acted, p, me._replace(seen=s.contents + 1)), True)
        if me.health in (BLIND, STUCK):
            continue
        if w.gates:
            yield from _views(w, s, p, me)
        if s.brown == 1 or me.past:
            continue
        if me.claim >= 0:
            yield from _claim(w, s, p, me)
        if w.code is not None:
            for r in w.ranges:
                yield from _decided(w, w.code, s, p, me, r)
            continue
        for r in w.ranges:
            bit = 1 << r
            if me.holds & bit:
                yield from _owned(w, s, p, me, r)
            elif me.drained & bit:
                yield from _drained(w, s, p, me, r)
            else:
                yield from _idle(w, s, p, me, r)


def _views(w: World, s: State, p: int, me: Process) -> Iterator[Step]:
    """Its views come nearer to the server, and its gate opens."""
    if me.seen < s.contents and (me.synced or me.holds):
        yield Step(f"{p} sees what was changed", with_process(s, p, me._replace(seen=s.contents)))
    if me.holds and me.gate != OPEN:
        if me.gate == LIST:
            yield Step(f"{p} lists and opens", with_process(s, p, me._replace(seen=s.contents, gate=OPEN)))
        elif me.seen >= me.gate:
            yield Step(f"{p} has reached the watermark and opens", with_process(s, p, me._replace(gate=OPEN)))


def _decided(w: World, code: Code, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    """The one action that the code decides on, where no other one is under way."""
    bit, lease = 1 << r, s.leases[r]
    phase = Phase.IDLE
    if me.holds & bit:
        phase = Phase.OWNED
    elif me.drained & bit:
        phase = Phase.DRAINED
    elif me.synced & bit:
        phase = Phase.STANDBY
    action = code.decide(phase, r, (w.names[p], me.epoch), me.view, lease)
    if action is None or (me.claim == r and action is not Action.DROP):
        return
    if action is Action.DROP:
        yield Step(f"{p} sees that {r} is no longer its own", with_process(s, p, _dropped(me, bit)))
    elif action is Action.DRAIN:
        yield from _drain(w, s, p, me, r)
    elif action is Action.RELEASE:
        yield from _release(w, s, p, me, r)
    elif action is Action.CLOSE_STANDBY:
        yield Step(f"{p} closes its views of {r}", with_process(s, p, _dropped(me, bit)))
    elif action is Action.CLAIM:
        if me.claim < 0:
            yield Step(f"{p} reads {r} before a claim", with_process(s, p, me._replace(claim=r)))
    elif action is Action.RENOUNCE:
        yield Step(f"{p} renounces {r}", write_lease(w, s, r, code.released(r, lease, None)))
    elif w.standbys:
        yield from _stand_by(w, s, p, me, r, action)


def _stand_by(w: World, s: State, p: int, me: Process, r: int, action: Action) -> Iterator[Step]:
    """The writes are those of `RangeRunner`. Opening a standby and its views' being complete is one move."""
    lease = s.leases[r]
    if action is Action.OPEN_STANDBY:
        if me.health != COLD:
            synced = me._replace(synced=me.synced | 1 << r, seen=s.contents)
            yield Step(f"{p} stands by for {r}", with_process(s, p, synced))
    elif action is Action.ANNOUNCE:
        announced = lease._replace(standby=(w.names[p], me.epoch, lease.epoch))
        yield Step(f"{p} announces its standby of {r}", write_lease(w, s, r, announced))
    else:
        assert action is Action.WITHDRAW, action
        yield Step(f"{p} withdraws its standby of {r}", write_lease(w, s, r, lease._replace(standby=None)))


def _mine(w: World, s: State, p: int, me: Process, r: int) -> bool:
    lease = s.leases[r]
    return lease.status == ACTIVE and lease.holder == (w.names[p], me.epoch)


def _owned(w: World, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    name, lease = w.names[p], s.leases[r]
    bit = 1 << r
    if not _mine(w, s, p, me, r):
        if "keep-a-missing-lease" not in w.without:
            yield Step(f"{p} sees that {r} is no longer its own", with_process(s, p, _dropped(me, bit)))
        return
    target = w.target(me.view, r)
    if target == name:
        return
    if (
        w.standbys
        and target >= 0
        and "release-without-standby" not in w.without
        and not _announced(w, me, lease, target)
    ):
        return
    if "release-before-drain" in w.without:
        yield Step(f"{p} releases {r} and keeps working", write_lease(w, s, r, _released(w, me, r, lease)))
        return
    yield from _drain(w, s, p, me, r)


def _drain(w: World, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    bit, target = 1 << r, w.target(me.view, r)
    harm = ""
    if w.standbys and target >= 0 and not w.targets_may_die and stands_alone(w, s, target, r):
        harm = f"A1: {p} drains {r} though nobody stands by for it"
    drained = me._replace(holds=me.holds & ~bit, drained=me.drained | bit)
    if w.standbys or w.gates:
        yield Step(f"{p} drains {r}", with_process(s, p, drained), harm=harm)
    else:  # one step, as nothing depends on what lies between
        yield from _release(w, with_process(s, p, drained), p, drained, r)


def _announced(w: World, me: Process, lease: Lease, target: int) -> bool:
    """Whether the Lease carries a standby of the target that counts."""
    if lease.standby is None or lease.standby[0] != target:
        return False
    _, member_epoch, shard_epoch = lease.standby
    if "standby-of-another-epoch" not in w.without and shard_epoch != lease.epoch:
        return False
    return "standby-of-a-dead-member" in w.without or member_epoch >= me.view.floors[target]


def _dropped(me: Process, bit: int) -> Process:
    rest = me._replace(holds=me.holds & ~bit, drained=me.drained & ~bit, synced=me.synced & ~bit)
    return rest if rest.holds | rest.synced | rest.drained else rest._replace(gate=OPEN, seen=0)


def _released(w: World, me: Process, r: int, lease: Lease) -> Lease:
    seen = me.seen if w.gates and me.gate == OPEN else None
    if w.code is not None:
        return w.code.released(r, lease, seen)
    mark = (seen, lease.epoch) if seen is not None else None
    return lease._replace(holder=None, mark=mark)


def _drained(w: World, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    bit = 1 << r
    if not _mine(w, s, p, me, r):
        yield Step(f"{p} has nothing to release of {r}", with_process(s, p, _dropped(me, bit)))
        return
    yield from _release(w, s, p, me, r)


def _release(w: World, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    bit = 1 << r
    t = write_lease(w, s, r, _released(w, me, r, s.leases[r]))
    if w.left(s, "lost-answer"):
        lost = w.spend(t, "lost-answer")
        if "resume-after-a-release" in w.without:
            back = me._replace(drained=me.drained & ~bit, holds=me.holds | bit)
            lost = with_process(lost, p, back)
        yield Step(f"{p} releases {r}, the answer is lost", lost, True)
    yield Step(f"{p} drained and released {r}", with_process(t, p, _dropped(me, bit)))


def _idle(w: World, s: State, p: int, me: Process, r: int) -> Iterator[Step]:
    name, bit, lease = w.names[p], 1 << r, s.leases[r]
    if lease.status == ABSENT or (lease.status == RETIRED and "claim-retired" not in w.without) or me.view.lost[r]:
        if me.synced & bit:
            yield Step(f"{p} closes its standby of {r}", with_process(s, p, _dropped(me, bit)))
        return
    holder = lease.holder
    if w.standbys and "no-withdrawal" not in w.without and has_nothing_behind(w, me, p, lease, r):
        yield Step(f"{p} withdraws its standby of {r}", write_lease(w, s, r, lease._replace(standby=None)))
    if w.target(me.view, r) != name and not ("claim-without-target" in w.without and r in w.layouts[me.view.layout]):
        renounces = holder == (name, me.epoch) and me.claim != r and lease.status == ACTIVE
        if renounces and "keep-a-lost-claim" not in w.without:
            yield Step(f"{p} renounces {r}", write_lease(w, s, r, lease._replace(holder=None, mark=None)))
        return
    if _claimable(w, me, lease, name):
        if me.claim < 0:
            yield Step(f"{p} reads {r} before a claim", with_process(s, p, me._replace(claim=r)))
    elif w.standbys and me.health != COLD and holder not in (None, EMPTIED):
        if not me.synced & bit:
            yield Step(
                f"{p} stands by for {r}", with_process(s, p, me._replace(synced=me.synced | bit, seen=s.contents))
            )
        elif lease.standby != (name, me.epoch, lease.epoch):
            announced = lease._replace(standby=(name, me.epoch, lease.epoch))
            yield Step(f"{p} announces its standby of {r}", write_lease(w, s, r, announced))
    if w.standbys and not me.synced & bit and "announce-before-synced" in w.without:
        announced = lease._replace(standby=(name, me.epoch, lease.epoch))
        if lease.standby != announced.standby and not _claimable(w, me, lease, name):
            yield Step(f"{p} announces a standby of {r} that is not ready", write_lease(w, s, r, announced))


def _claimable(w: World, me: Process, lease: Lease, name: int) -> bool:
    """R3, for one that does not hold it."""
    if "claim-on-target-alone" in w.without or is_free(lease, me.view.floors):
        return True
    if lease.holder == EMPTIED:
        return "emptied-is-free" in w.without
    assert lease.holder is not None
    if lease.holder[0] != name:
        return False
    if lease.holder[1] < me.epoch:
        return "own-earlier-epoch" not in w.without
    return lease.holder[1] == me.epoch and "own-lost-claim" not in w.without


def _claim(w: World, s: State, p: int, me: Process) -> Iterator[Step]:
    """The write after the read; it would conflict if anybody had written meanwhile (`write_lease`)."""
    r, name = me.claim, w.names[p]
    bit, lease = 1 << r, s.leases[r]
    t = with_process(s, p, me._replace(claim=-1))
    if lease.status == ABSENT:
        yield Step(f"{p} finds no {r} to claim", t)
        return
    mark, holder = lease.mark, lease.holder
    keeps = "claim-keeps-the-watermark" in w.without
    if w.code is not None:
        claimed = w.code.claimed(r, (name, me.epoch), lease)
    else:
        claimed = Lease(
            ACTIVE,
            (name, me.epoch),
            lease.epoch + 1 if w.epochs else 0,
            lease.standby if "claim-keeps-the-standby" in w.without else None,
            mark if keeps else None,
        )
    t = write_lease(w, t, r, claimed)
    if w.left(s, "lost-answer"):
        yield Step(f"{p} claims {r}, the answer is lost", w.spend(t, "lost-answer"), True)
    gate = OPEN
    if w.gates and w.code is not None:
        gate = w.code.gate(r, lease)
    elif w.gates and "no-list-after-the-claim" not in w.without:
        stamped = mark is not None and (mark[1] == lease.epoch or "any-watermark" in w.without)
        free = holder is None or "watermark-of-a-holder" in w.without
        gate = mark[0] if mark is not None and stamped and free else LIST
    if "no-gate" in w.without:
        gate = OPEN
    own = t.processes[p]
    seen = own.seen if own.synced & bit else 0
    got = own._replace(holds=own.holds | bit, synced=own.synced & ~bit, gate=gate, seen=seen)
    harm = ""
    if "claim-without-target" in w.without and w.target(me.view, r) != name:
        harm = f"A2: {p} claims {r}, which is meant for another"
    yield Step(f"{p} claims {r}", with_process(t, p, got), harm=harm)
