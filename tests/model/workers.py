"""What workers do: join, follow, stop, and leave. What they do about their ranges is in `handover.py`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.state import (
    BLIND,
    GONE,
    NOBODY,
    OK,
    STUCK,
    Holder,
    Map,
    Member,
    Process,
    State,
    Step,
    World,
    emptied,
    is_held,
    known_epoch,
    with_member,
    with_process,
)


def worker_steps(w: World, s: State) -> Iterator[Step]:
    """Everything about being a member."""
    for p, me in enumerate(s.processes):
        if me.epoch == GONE:
            continue
        yield from _faults(w, s, p, me)
        if s.brown == 1:
            continue
        if me.epoch == 0:
            yield from _join(w, s, p, me)
        else:
            yield from _member(w, s, p, me)


def ghosts(w: World, s: State) -> tuple[Holder, ...]:
    """Incarnations that may still act, and that no record names any more."""
    return tuple(
        (w.names[p], me.epoch)
        for p, me in enumerate(s.processes)
        if me.epoch > 0 and me.believes and not me.past and s.members[w.names[p]][:2] != (me.epoch, p)
    )


def _faults(w: World, s: State, p: int, me: Process) -> Iterator[Step]:
    if me.epoch > 0:
        if w.left(s, "crash"):
            yield Step(f"{p} dies and starts again", with_process(w.spend(s, "crash"), p, emptied(me)), True)
        if me.believes and w.left(s, "expire"):
            stalled = me._replace(believes=False)
            yield Step(f"{p} stalls past its deadline", with_process(w.spend(s, "expire"), p, stalled), True)
        if me.health == OK:
            for name, health in (("blind", BLIND), ("stuck", STUCK), ("cold", 3)):
                if w.left(s, name):
                    yield Step(f"{p} is {name}", with_process(w.spend(s, name), p, me._replace(health=health)), True)
    if w.left(s, "vanish"):
        yield Step(f"{p} is gone with its node", with_process(w.spend(s, "vanish"), p, _gone(me)), True)


def _gone(me: Process) -> Process:
    return emptied(me)._replace(epoch=GONE, health=OK, waits=False)


def _join(w: World, s: State, p: int, me: Process) -> Iterator[Step]:
    """R1, R14: always under a higher epoch, and not over a live holder, even of the same name."""
    name = w.names[p]
    found = s.members[name]
    if me.health == BLIND and "renew-while-blind" not in w.without:
        return  # R13: who cannot see does not join
    if me.waits:
        if any(x.past and x.believes for x in s.processes):
            return  # a lease has not passed since it noticed the restore
        me = me._replace(waits=False)
    if w.code is not None:
        awaited = not (is_held(w, s, name) if found.epoch else _somebody_believes(w, s, p))
        joined = w.code.join(name, p, found, s.map, s.leases, awaited=awaited)
        if joined is not None:
            yield from _joined(w, s, p, me, joined)
        return
    rivals = [x for q, x in enumerate(s.processes) if q != p and w.names[q] == name and x.believes and x.epoch > 0]
    if found.epoch == 0:
        known = known_epoch(s, name, s.map)
        if known and rivals and "missing-member-joins-at-once" not in w.without:
            return
        forgotten = s.map.forgotten if s.map is not None else 0
        epoch = 1 if "member-epoch-restarts" in w.without else max(known, forgotten) + 1
    else:
        if found.holder not in (NOBODY, p) and is_held(w, s, name) and "join-over-a-live-holder" not in w.without:
            return
        epoch = found.epoch + (0 if "join-without-raise" in w.without and found.epoch else 1)
        epoch = max(epoch, known_epoch(s, name, s.map) + 1) if "join-without-raise" not in w.without else epoch
    yield from _joined(w, s, p, me, Member(epoch, p))


def _somebody_believes(w: World, s: State, p: int) -> bool:
    """Whether another process of the name may still act: since its record is gone, less than a lease has passed."""
    return any(q != p and w.names[q] == w.names[p] and x.believes and x.epoch > 0 for q, x in enumerate(s.processes))


def _joined(w: World, s: State, p: int, me: Process, record: Member) -> Iterator[Step]:
    epoch = record.epoch
    view = s.map if s.map is not None else me.view
    t = with_member(s, w.names[p], record)
    if w.left(s, "lost-answer"):
        yield Step(f"{p} joins at epoch {epoch}, the answer is lost", w.spend(t, "lost-answer"), True)
    joined = emptied(me)._replace(epoch=epoch, believes=True, view=view)
    joined = joined._replace(established=_established(w, s, p, joined, s.map))
    yield Step(f"{p} joins at epoch {epoch}", with_process(t, p, joined))


def _established(w: World, s: State, p: int, me: Process, shown: Map | None) -> bool:
    """After a write of its record. shown: the map that it had seen before."""
    if w.code is not None:
        return w.code.established(w.names[p], me.established, shown, s.leases)
    unknown = "hold-before-it-is-known" in w.without
    return me.established or unknown or known_epoch(s, w.names[p], shown) > 0


def _member(w: World, s: State, p: int, me: Process) -> Iterator[Step]:
    name = w.names[p]
    record = s.members[name]
    mine = (record.epoch, record.holder) == (me.epoch, p) and not me.past
    if me.past:
        yield Step(f"{p} notices that the history went back", _noticed(w, s, p, me))
        if not me.believes:
            return
    elif not me.believes:
        if "renews-late" in w.without and mine and not record.kicked:
            yield Step(f"{p} renews late", with_process(s, p, me._replace(believes=True)))
        yield Step(f"{p} starts again after its deadline", with_process(s, p, _anew(me)))
        return
    if not mine and not me.past:
        yield Step(f"{p} finds that it is no member any more", with_process(s, p, _anew(me)))
    elif record.kicked:
        if "expelled-goes-on" in w.without:
            renewed = with_member(s, name, record._replace(kicked=False))
            yield Step(f"{p} takes the expulsion for a renewal of its own", renewed)
        else:
            yield Step(f"{p} finds that it was expelled", with_process(s, p, _anew(me)))
    if me.health == BLIND:
        if "renew-while-blind" not in w.without:
            yield Step(f"{p} cannot renew", with_process(s, p, me._replace(believes=False)))
    else:
        yield from _follow(w, s, p, me, mine and not record.kicked)
    if w.left(s, "leave"):
        t = w.spend(s, "leave")
        if mine and w.code is not None:
            t = with_member(t, name, w.code.left(name, record))
        elif mine:
            raised = 0 if "leave-without-fence" in w.without else 1
            t = with_member(t, name, Member(me.epoch + raised, NOBODY))
        if "leave-before-the-last-act" in w.without:
            yield Step(f"{p} leaves and goes on acting", t, True)
        else:
            yield Step(f"{p} leaves for good", with_process(t, p, _gone(me)), True)


def _anew(me: Process) -> Process:
    """What it does when its incarnation has ended; it may be well again."""
    fresh = emptied(me)
    return fresh._replace(health=OK) if me.health == STUCK else fresh


def _noticed(w: World, s: State, p: int, me: Process) -> State:
    if "restored-goes-on" in w.without:
        return with_process(s, p, me._replace(past=False))
    return with_process(s, p, _anew(me)._replace(waits="restored-joins-at-once" not in w.without))


def _against(w: World, view: Map, r: int) -> int:
    """What a member may not hold when it repeats that a range is lost: but for the layout, where that lies outside."""
    layout, against = w.layout_masks[view.layout], w.overlaps[r] | 1 << r
    return against if layout >> r & 1 else against & ~layout


def _follow(w: World, s: State, p: int, me: Process, renews: bool) -> Iterator[Step]:
    if s.map is not None and me.view != s.map and not me.past:
        kept = me.holds
        if "echo-without-drop" not in w.without:
            for r in w.ranges:
                if s.map.lost[r]:
                    kept &= ~(1 << r)
        synced = 0
        for r in w.ranges:
            if me.synced >> r & 1 and w.target(s.map, r) == w.names[p] and not s.map.lost[r]:
                synced |= 1 << r
        yield Step(
            f"{p} sees the new map",
            with_process(
                s,
                p,
                me._replace(view=s.map, holds=kept, synced=synced, seen=me.seen if synced | kept | me.drained else 0),
            ),
        )
    if renews and not me.established and _established(w, s, p, me, me.view):
        yield Step(f"{p} renews, as it is known now", with_process(s, p, me._replace(established=True)))
    record = s.members[w.names[p]]
    if renews and record.echo < me.view.losses and me.health != STUCK:
        at_stake = me.holds | me.drained | (1 << me.claim if me.claim >= 0 else 0)
        clear = all(not lost or not at_stake & _against(w, me.view, r) for r, lost in enumerate(me.view.lost))
        if clear or "echo-without-drop" in w.without:
            echoed = record._replace(echo=me.view.losses)
            yield Step(f"{p} renews and repeats the map", with_member(s, w.names[p], echoed))
    if "outlived" not in w.without and renews and known_epoch(s, w.names[p], s.map) > me.epoch:
        yield Step(f"{p} finds a later epoch of its name", with_process(s, p, _anew(me)))
