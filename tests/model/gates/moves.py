"""Every move of the model of the gates."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.gates.parts import Basis
from tests.model.gates.world import (
    NOBODY,
    NONE,
    Event,
    Owner,
    Request,
    State,
    Step,
    World,
    with_owner,
)


def steps(w: World, s: State) -> Iterator[Step]:
    for i, me in enumerate(s.owners):
        yield from _view(w, s, i, me)
        if me.ledger != NONE:
            yield from _owner(w, s, i, me)
        elif s.holder == NOBODY or s.owners[s.holder].ledger == NONE:
            yield from _claim(w, s, i, me)
    for n, request in enumerate(s.wire):
        yield from _request(w, s, n, request)
    yield from _server(w, s)


# -- views -----------------------------------------------------------------------------------------------------------


def _view(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    parts = w.parts
    if not parts.version_of(me.view):
        if me.ledger == NONE or not parts.needs_list(me.gate):
            listed = me._replace(view=parts.moved_view(me.view, "list", s.object, s.version), at=len(s.events))
            yield Step(f"{i} lists for the first time", with_owner(s, i, listed))
        return
    if me.at < len(s.events):
        event = s.events[me.at]
        how, what = ("apply", event.seen) if event.seen is not None else ("delete", event.gone)
        view = parts.moved_view(me.view, how, what)
        yield Step(f"{i} sees {event.seen or 'the end'}", with_owner(s, i, me._replace(view=view, at=me.at + 1)))
        # Without what it has never held, no view knows that it lacks something, and only an audit finds out.
        if w.left(s, "drop") and parts.seen_in(me.view) is not None:
            lost = with_owner(w.spend(s, "drop"), i, me._replace(at=me.at + 1))
            yield Step(f"the watch of {i} loses an event", lost, True)
        if w.left(s, "relist"):
            view = parts.moved_view(me.view, "list", s.object, s.version)
            listed = me._replace(view=view, at=len(s.events))
            yield Step(f"the watch of {i} is cut, and it lists", with_owner(w.spend(s, "relist"), i, listed), True)
    elif parts.version_of(me.view) < s.version:
        view = parts.moved_view(me.view, "bookmark", s.version)
        yield Step(f"{i} gets a bookmark", with_owner(s, i, me._replace(view=view)))


# -- who owns --------------------------------------------------------------------------------------------------------


def _claim(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    """Over a release, or over an owner that died: then nothing it left counts."""
    gate = w.parts.new_gate(s.watermark if s.holder == NOBODY else NONE, s.epoch)
    mine = me._replace(ledger=w.parts.new_ledger(), gate=gate, highest=0)
    t = s._replace(holder=i, epoch=s.epoch + 1, watermark=NONE)
    yield Step(f"{i} claims", with_owner(t, i, mine))


def _resting(me: Owner) -> Owner:
    return Owner(me.view, me.at)


def _owner(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    parts = w.parts
    is_open = parts.is_open(me.gate, me.view)
    if w.left(s, "crash"):
        t = w.spend(s, "crash")._replace(wire=_orphans(s, i))
        yield Step(f"{i} dies", with_owner(t, i, Owner(parts.new_view())), True)
    if w.left(s, "release") and not me.acting:
        mark = parts.watermark(me.ledger, me.view, me.highest, s.epoch) if is_open else NONE
        t = w.spend(s, "release")._replace(holder=NOBODY, watermark=mark, wire=_orphans(s, i))
        yield Step(f"{i} releases", with_owner(t, i, _resting(me)), True)
    if not is_open:
        yield from _opening(w, s, i, me)
        return
    swept = parts.told(me.ledger, me.view, "sweep", "")
    if swept != me.ledger:
        yield Step(f"{i} looks at what lingers", with_owner(s, i, me._replace(ledger=swept)))
    if me.acting:
        return
    if me.reading is not None:
        yield from _answered(w, s, i, me)
    held = parts.held_back(me.ledger, me.view) if me.overlay is None else None
    if held is None:
        yield from _reconciles(w, s, i, me)
    elif held.whole:
        view = parts.moved_view(me.view, "list", s.object, s.version)
        listed = me._replace(view=view, at=len(s.events), ledger=parts.told(me.ledger, view, "listed", ""))
        yield Step(f"{i} lists again", with_owner(s._replace(wire=_orphans(s, i)), i, listed))
    elif me.reading is None:
        asked = me._replace(ledger=parts.told(me.ledger, me.view, "asked", "read"), reading=(s.object, True))
        yield Step(f"{i} reads live: {s.object}", with_owner(s._replace(wire=_orphans(s, i)), i, asked))


def _opening(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    parts = w.parts
    if parts.needs_list(me.gate):
        view = parts.moved_view(me.view, "list", s.object, s.version)
        gate = parts.changed_gate(me.gate, "listed", s.version)
        yield Step(f"{i} lists after its claim", with_owner(s, i, me._replace(view=view, gate=gate, at=len(s.events))))
    else:
        demanded = me._replace(gate=parts.changed_gate(me.gate, "demand"))
        yield Step(f"{i} has waited for the watermark", with_owner(s, i, demanded))


def _answered(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    """The live read's answer: what was written counts as read, and the key runs on it if it still waits."""
    assert me.reading is not None
    live, waits = me.reading
    ledger = w.parts.told(me.ledger, me.view, "settle", "read", live)
    told = me._replace(
        ledger=ledger,
        reading=None,
        overlay=(live,) if waits else None,
        highest=max(me.highest, live[1] if live is not None else 0),
    )
    yield Step(f"{i} is answered {live}", with_owner(s, i, told))


def _reconciles(w: World, s: State, i: int, me: Owner) -> Iterator[Step]:
    """The key runs, on what it sees; what it decides is any write, or none."""
    parts = w.parts
    basis = w.basis(s, i)
    reading = me.reading and (me.reading[0], False)
    ran = me._replace(
        overlay=None,
        reading=reading,
        ledger=parts.told(me.ledger, me.view, "blocked", "") if not me.overlay else me.ledger,
    )
    if me.overlay is not None:
        yield Step(f"{i} runs on what was read, and writes nothing", with_owner(s, i, ran))
    uid, version = (basis[0], basis[1]) if basis is not None else (0, 0)
    acts = ("write", "update" if basis else "create"), *((("delete", "delete"),) if basis and not basis[2] else ())
    for budget, act in acts:
        if w.left(s, budget):
            given = (f"u{uid}", str(version)) if basis else ("", "")
            acting = ran._replace(acting=True, ledger=parts.told(ran.ledger, me.view, "begin", "write", *given))
            t = w.spend(s, budget)._replace(wire=tuple(sorted((*s.wire, Request(i, act, uid, version)), key=_order)))
            yield Step(f"{i} decides on {basis}: {act}", with_owner(t, i, acting), True)


# -- requests --------------------------------------------------------------------------------------------------------


def _order(request: Request) -> tuple[object, ...]:
    return (
        request.owner,
        not request.awaited,
        not request.promised,
        request.act,
        request.uid,
        request.version,
        repr(request.answer),
    )


def _orphans(s: State, i: int) -> tuple[Request, ...]:
    """Requests whose sender does not wait any more: those that have not arrived may do so yet."""
    kept = (r._replace(awaited=False, promised=False) if r.owner == i else r for r in s.wire)
    return tuple(sorted((r for r in kept if r.awaited or r.answer is None), key=_order))


def _wire(s: State, n: int, new: Request | None = None) -> tuple[Request, ...]:
    rest = (*s.wire[:n], *s.wire[n + 1 :])
    return tuple(sorted((*rest, new), key=_order)) if new is not None else rest


def _request(w: World, s: State, n: int, request: Request) -> Iterator[Step]:
    i, me = request.owner, s.owners[request.owner]
    if request.answer is None:
        t, answer = _carried_out(w, s, request)
        landed = t._replace(wire=_wire(t, n, request._replace(answer=answer) if request.awaited else None))
        late = "" if request.awaited else ", late"
        yield Step(f"the {request.act} of {i} arrives{late}: {answer[0]}", landed)
        if not request.awaited:
            yield Step(f"the {request.act} of {i} never arrives", s._replace(wire=_wire(s, n)))
    elif request.awaited:
        yield from _took(w, s, n, request, request.answer)
    if request.awaited and w.left(s, "lost"):
        ledger = w.parts.told(me.ledger, me.view, "in doubt", "write")
        orphan = request._replace(awaited=False) if request.answer is None else None
        t = w.spend(s, "lost")._replace(wire=_wire(s, n, orphan))
        yield Step(f"{i} gets no answer", with_owner(t, i, me._replace(acting=False, ledger=ledger)), True)


def _took(w: World, s: State, n: int, request: Request, answer: tuple[str, Basis]) -> Iterator[Step]:
    i, me, (what, found) = request.owner, s.owners[request.owner], answer
    parts, t = w.parts, s._replace(wire=_wire(s, n))
    highest = me.highest
    if what == "stale":
        ledger = parts.told(me.ledger, me.view, "stale", "write")
    elif what == "gone":
        ledger = parts.told(me.ledger, me.view, "deleted", "write")
    else:
        assert found is not None
        doomed = request.act == "delete"
        ledger = parts.told(me.ledger, me.view, "landed", "write", f"u{found[0]}", str(found[1]), doomed)
        highest = max(highest, found[1])
    yield Step(f"{i} is answered {what}", with_owner(t, i, me._replace(acting=False, ledger=ledger, highest=highest)))


def _carried_out(w: World, s: State, request: Request) -> tuple[State, tuple[str, Basis]]:
    """What the server makes of it: with the preconditions of UID and version, or the name that must be free."""
    there = s.object
    if request.act == "create":
        if there is not None:
            return s, ("stale", None)
        return _put(s, (s.uids + 1, s.version + 2, False), own=request.promised)
    if there is None or there[:2] != (request.uid, request.version):
        return s, ("stale", None)
    if request.act == "update":
        return _put(s, (there[0], s.version + 2, there[2]), own=request.promised)
    if w.lingers:
        return _put(s, (there[0], s.version + 2, True), own=request.promised)
    t = _ended(s, there, own=request.promised)
    return t, ("gone", (there[0], t.version, True))


def _put(s: State, new: tuple[int, int, bool], *, own: bool) -> tuple[State, tuple[str, Basis]]:
    events = (*s.events, Event(new[1], new))
    t = s._replace(version=new[1], uids=max(s.uids, new[0]), events=events, floor=new[1] if own else s.floor)
    return t, ("ok", new)


def _ended(s: State, there: tuple[int, int, bool], *, own: bool) -> State:
    version = s.version + 2
    floor = version if own else s.floor
    return s._replace(version=version, floor=floor, events=(*s.events, Event(version, None, (there[0], version, True))))


# -- everybody else --------------------------------------------------------------------------------------------------


def _server(w: World, s: State) -> Iterator[Step]:
    there = s.object
    if there is not None and there[2]:
        yield Step("what lingered ends", _ended(s, there, own=False))
    if not w.left(s, "foreign"):
        return
    t = w.spend(s, "foreign")
    if there is None:
        yield Step("somebody creates it", _put(t, (t.uids + 1, t.version + 2, False), own=False)[0], True)
        return
    yield Step("somebody changes it", _put(t, (there[0], t.version + 2, there[2]), own=False)[0], True)
    yield Step("somebody deletes it", _ended(t, there, own=False), True)
