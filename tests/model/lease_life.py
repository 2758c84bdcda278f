"""The life of a shard Lease in a coordinator's hands: activated, retired, collected (R7 to R9, R14, R15).

Between a read and the write that rests on it anything may happen; each read is a step of its own where the order of
reads matters.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.code import Code
from tests.model.state import (
    ABSENT,
    ACTIVE,
    EMPTIED,
    NOBODY,
    RETIRED,
    Lease,
    Map,
    State,
    Step,
    World,
    is_free,
    with_coordinator,
    write_lease,
    write_map,
)
from tests.model.workers import ghosts

Op = tuple[object, ...] | None


def _with_op(s: State, c: int, op: Op) -> State:
    return with_coordinator(s, c, s.coordinators[c]._replace(op=op))


def echoed(s: State, m: Map, r: int) -> bool:
    """Whether every live member follows a map in which the range is lost."""
    return m.lost[r] > 0 and all(x.echo >= m.lost[r] for x in s.members if x.holder != NOBODY)


def _missing(w: World, s: State, m: Map, r: int) -> bool:
    if "missing-is-free" in w.without:
        return False
    lease = s.leases[r]
    return bool(m.opened >> r & 1) if lease.status == ABSENT else lease.holder == EMPTIED


# -- out of the layout ----------------------------------------------------------------------------------------------


def retiring_steps(w: World, s: State, c: int, op: Op) -> Iterator[Step]:
    if op is None:
        yield from _begin_retiring(w, s, c)
        yield from _collect(w, s, c)
        return
    if op[0] not in ("retire", "forget"):
        return
    r = op[1]
    assert isinstance(r, int)
    if op[0] == "retire":
        lease, read = s.leases[r], op[2]
        assert isinstance(read, Map)
        new = Lease(RETIRED, None, lease.epoch + 1 if w.epochs else 0, None, None)
        if w.code is not None:
            new = w.code.retired(r, read, lease)
        t = write_lease(w, _with_op(s, c, None), r, new)
        if w.left(s, "lost-answer"):
            yield Step(f"coordinator {c} retires {r}, the answer is lost", w.spend(t, "lost-answer"), True)
        yield Step(f"coordinator {c} retires {r}", _with_op(t, c, ("forget", r, op[2])))
    else:
        m = op[2]
        assert isinstance(m, Map)
        if s.map == m:
            yield from _forget(s, c, m, r)
        else:
            yield Step(f"coordinator {c}: its map has moved", _with_op(s, c, None))


def _forget(s: State, c: int, m: Map, r: int) -> Iterator[Step]:
    new = m._replace(retiring=m.retiring & ~(1 << r))
    t = with_coordinator(write_map(_with_op(s, c, None), new), c, s.coordinators[c]._replace(op=None, view=new))
    yield Step(f"coordinator {c} takes {r} off the retiring list", t)


def _begin_retiring(w: World, s: State, c: int) -> Iterator[Step]:
    m = s.map  # read live
    assert m is not None
    if w.code is not None:
        for r in w.code.upkeep(m, s.leases, s.members, ghosts(w, s)).retire:
            yield Step(f"coordinator {c} reads {r} before retiring it", _with_op(s, c, ("retire", r, m)))
        return
    for r in w.ranges:
        if not m.retiring >> r & 1:
            continue
        lease = s.leases[r]
        if "forget-without-retiring" in w.without and is_free(lease, m.floors):
            yield from _forget(s, c, m, r)
        elif _missing(w, s, m, r):
            if echoed(s, m, r) or "retire-without-echo" in w.without:
                yield Step(f"coordinator {c} reads the lost {r} before retiring it", _with_op(s, c, ("retire", r, m)))
        elif lease.status == RETIRED or is_free(lease, m.floors) or "retire-held" in w.without:
            yield Step(f"coordinator {c} reads {r} before retiring it", _with_op(s, c, ("retire", r, m)))


def _collect(w: World, s: State, c: int) -> Iterator[Step]:
    """R15. A lease and the longest request after it was seen retired, nothing that knew it otherwise is on its way:
    no request of a coordinator, and no view of a member that may act (R13)."""
    if not w.collects:
        return
    m = s.map
    assert m is not None
    for r in w.ranges:
        if s.leases[r].status != RETIRED or (w.layout_masks[m.layout] | m.retiring) >> r & 1:
            continue
        awaited = any(x.op is not None and x.op[1] == r for x in s.coordinators)
        followed = any(
            x.believes and x.epoch > 0 and (w.layout_masks[x.view.layout] | x.view.retiring) >> r & 1
            for x in s.processes
        )
        if "collect-at-once" in w.without or not (awaited or followed):
            yield Step(f"coordinator {c} collects {r}", write_lease(w, s, r, Lease(ABSENT)))


# -- into the layout ------------------------------------------------------------------------------------------------


def activation_steps(w: World, s: State, c: int, op: Op) -> Iterator[Step]:
    if op is None:
        yield from _begin_activation(w, s, c)
        return
    if op[0] not in ("activate", "checked", "commit"):
        return
    r = op[1]
    assert isinstance(r, int)
    lease, m = s.leases[r], s.map
    gives_up = Step(f"coordinator {c} gives up activating {r}", _with_op(s, c, None))
    if op[0] == "activate":
        yield from _check_map(w, s, c, r, bool(op[2]))
    elif op[0] == "checked" and w.code is not None:
        read, just_opened = op[3], bool(op[4])
        assert isinstance(read, Map)
        made = w.code.activated(
            r, Lease(ABSENT) if op[2] else lease, read, s.members, s.leases, ghosts(w, s), just_opened=just_opened
        )
        if made is None:
            yield gives_up
        else:
            yield Step(f"coordinator {c} checked the overlaps of {r}", _with_op(s, c, ("commit", r, op[2], made)))
    elif op[0] == "checked":
        mask = w.overlaps[r]
        busy = any(mask >> x & 1 and s.leases[x].status == ACTIVE for x in w.ranges)
        if busy and "no-overlap-check" not in w.without:
            yield gives_up
        else:
            new = Lease(ACTIVE, None, lease.epoch + 1 if w.epochs else 0)
            yield Step(f"coordinator {c} checked the overlaps of {r}", _with_op(s, c, ("commit", r, op[2], new)))
    elif m is None or (op[2] and lease.status != ABSENT and "activate-without-cas" not in w.without):
        yield gives_up
    else:
        activated = op[3]
        assert isinstance(activated, Lease)
        t = write_lease(w, _with_op(s, c, None), r, activated)
        yield Step(f"coordinator {c} activates {r}", t)


def _begin_activation(w: World, s: State, c: int) -> Iterator[Step]:
    """On the coordinator's own view, which may be old: its first read is live."""
    view = s.coordinators[c].view
    assert view is not None
    if w.code is not None:
        # Its view of the records may lag, too, and not show yet what overlaps.
        inside = w.layout_masks[view.layout]
        shown = tuple(x if inside >> r & 1 else Lease(ABSENT) for r, x in enumerate(s.leases))
        for r in w.code.upkeep(view, shown, s.members, ghosts(w, s)).activate:
            first = ("activate", r, s.leases[r].status == ABSENT)
            yield Step(f"coordinator {c} reads {r} before activating it", _with_op(s, c, first))
        return
    for r in w.layouts[view.layout]:
        lease = s.leases[r]
        if lease.status == ACTIVE and lease.holder != EMPTIED:
            continue
        if w.overlaps[r] & view.retiring and "no-map-check" not in w.without:
            continue
        missing = _missing(w, s, view, r) and "recreate-at-once" not in w.without
        if missing and not echoed(s, view, r):
            continue
        first = ("activate", r, lease.status == ABSENT)
        yield Step(f"coordinator {c} reads {r} before activating it", _with_op(s, c, first))


def _check_map(w: World, s: State, c: int, r: int, absent: bool) -> Iterator[Step]:
    """The second read: the map. What was never opened must be marked so first, by a write that is the check."""
    m, me = s.map, s.coordinators[c]
    gives_up = Step(f"coordinator {c} gives up activating {r}", _with_op(s, c, None))
    if m is None:
        yield gives_up
        return
    if w.code is not None:
        yield from _map_checked(w, w.code, s, c, r, m, absent)
        return
    ready = r in w.layouts[m.layout] and not w.overlaps[r] & m.retiring
    ready = ready or "no-map-check" in w.without
    checked = _with_op(s, c, ("checked", r, absent, m, False))
    if ready and not m.opened >> r & 1 and "unmarked-opening" not in w.without:
        if me.view != m:
            yield gives_up
            return
        new = m._replace(opened=m.opened | 1 << r)
        t = write_map(_with_op(s, c, None), new)
        t = with_coordinator(t, c, me._replace(view=new, op=("checked", r, absent, new, True)))
        yield Step(f"coordinator {c} marks {r} opened", t)
        return
    if _missing(w, s, m, r) and "recreate-at-once" not in w.without and absent:
        ready = ready and echoed(s, m, r)
    yield Step(f"coordinator {c} checked the map for {r}", checked) if ready else gives_up


def _map_checked(w: World, code: Code, s: State, c: int, r: int, m: Map, absent: bool) -> Iterator[Step]:
    """Likewise, by the code. What was never opened is activated in the map write that marks it so."""
    first, me = Lease(ABSENT) if absent else s.leases[r], s.coordinators[c]
    opens = not m.opened >> r & 1
    if opens and me.view != m:
        yield Step(f"coordinator {c} gives up activating {r}", _with_op(s, c, None))
        return
    new = m._replace(opened=m.opened | 1 << r)
    if code.activated(r, first, new, s.members, None, ghosts(w, s), just_opened=opens) is None:
        yield Step(f"coordinator {c} gives up activating {r}", _with_op(s, c, None))
    elif opens:
        t = write_map(_with_op(s, c, None), new)
        t = with_coordinator(t, c, me._replace(view=new, op=("checked", r, absent, new, True)))
        yield Step(f"coordinator {c} marks {r} opened", t)
    else:
        checked = _with_op(s, c, ("checked", r, absent, m, False))
        yield Step(f"coordinator {c} checked the map for {r}", checked)
