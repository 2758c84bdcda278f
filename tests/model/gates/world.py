"""What the model of the gates is about: one object of one key, two owners of its shard, their views, and the wire.

The gates are the real ones (`parts`). What is written here is what a server, a network and the shells around the gates
do: when requests arrive and are answered, what a watch delivers, when somebody claims. Time is whether something that
takes time has happened.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.model.gates.parts import Basis, Parts

NOBODY = -1
NONE = -1
"""Number of a part that is not there."""


class Event(NamedTuple):
    """What the server did to the object: it is there as `seen`, or gone, having been `gone`."""

    version: int
    seen: Basis
    gone: tuple[int, int, bool] | None = None


class Owner(NamedTuple):
    """view, ledger, gate: numbers of parts; the latter two NONE out of office. at: events that its watch has delivered.

    acting: a reconcile of it has a write on the wire. reading: a live read that is not answered: what it saw, and
    whether the key still waits for it. overlay: what the next reconcile runs on, after
    a live read: one object in a tuple. highest: version that a write or a live read returned.
    """

    view: int
    at: int = 0
    ledger: int = NONE
    gate: int = NONE
    acting: bool = False
    reading: tuple[Basis, bool] | None = None
    overlay: tuple[Basis] | None = None
    highest: int = 0


class Request(NamedTuple):
    """A write on the wire. answer: None: it has not arrived; else what it was answered: "ok", "gone", "stale" and the
    object. awaited: its sender still waits for it. promised: once it arrives, no decision may miss it; no more when its
    sender has read, after that, what became of it, or has let go of the shard: if it arrives later still, preconditions
    are what keeps it from doing harm."""

    owner: int
    act: str
    uid: int
    version: int
    awaited: bool = True
    promised: bool = True
    answer: tuple[str, Basis] | None = None


class State(NamedTuple):
    """version: of the server. holder: of the shard's record, whose epoch and watermark these are; released: by a
    release. floor: version of the latest write of the key's reconciles that no decision may miss from now on."""

    version: int
    events: tuple[Event, ...]
    uids: int
    owners: tuple[Owner, ...]
    wire: tuple[Request, ...]
    holder: int
    epoch: int
    watermark: int
    floor: int
    budget: tuple[int, ...]

    @property
    def object(self) -> Basis:
        return self.events[-1].seen if self.events else None


class Step(NamedTuple):
    """One move. fault: nobody can count on it: a fault, or a choice of people or authors."""

    label: str
    state: State
    fault: bool = False


BUDGETS = (
    "write",  # a reconcile creates the object, or changes it
    "delete",  # a reconcile deletes it
    "lost",  # an answer is lost, before or after the write has arrived
    "foreign",  # somebody else creates, changes or deletes the object
    "drop",  # a watch loses an event
    "relist",  # a watch is cut, and begins anew with a list
    "crash",  # an owner dies
    "release",  # an owner hands over
)
INDEX = {name: i for i, name in enumerate(BUDGETS)}


class World:
    """most: writes that are remembered one by one. lingers: what is deleted waits for a finalizer. seeded: the object
    is there. fresh: what must stay possible is a run on what there is, not on any view that its own writes allow.
    """

    def __init__(
        self,
        budget: dict[str, int],
        *,
        most: int = 100,
        lingers: bool = False,
        seeded: bool = False,
        fresh: bool = True,
    ) -> None:
        assert set(budget) <= set(BUDGETS), budget
        self.parts = Parts(most)
        self.lingers, self.seeded, self.fresh = lingers, seeded, fresh
        self.budget = tuple(budget.get(name, 0) for name in BUDGETS)

    def left(self, s: State, name: str) -> bool:
        return s.budget[INDEX[name]] > 0

    def spend(self, s: State, name: str) -> State:
        i = INDEX[name]
        return s._replace(budget=(*s.budget[:i], s.budget[i] - 1, *s.budget[i + 1 :]))

    def start(self) -> State:
        """Owner 0 has claimed, listed, and its gate is open. Owner 1 stands by, its view complete."""
        parts = self.parts
        events = (Event(2, (1, 2, False)),) if self.seeded else ()
        there = events[-1].seen if events else None
        view = parts.moved_view(parts.new_view(), "list", there, 2)
        gate = parts.changed_gate(parts.new_gate(NONE, 0), "listed", 2)
        first = Owner(view, len(events), parts.new_ledger(), gate)
        return State(2, events, 1, (first, Owner(view, len(events))), (), 0, 1, NONE, 0, self.budget)

    def may_run(self, s: State, i: int) -> bool:
        """Whether a reconcile of the key may begin at the owner now: what the engine asks."""
        me = s.owners[i]
        if me.ledger == NONE or me.acting or not self.parts.is_open(me.gate, me.view):
            return False
        return me.overlay is not None or self.parts.held_back(me.ledger, me.view) is None

    def basis(self, s: State, i: int) -> Basis:
        """What it would decide on."""
        me = s.owners[i]
        return me.overlay[0] if me.overlay is not None else self.parts.seen_in(me.view)


def with_owner(s: State, i: int, owner: Owner) -> State:
    return s._replace(owners=(*s.owners[:i], owner, *s.owners[i + 1 :]))


def is_current(s: State, basis: Basis, since: int) -> bool:
    """Whether the object was like that at some time from that version of the server on."""
    if basis == s.object:
        return True
    before: Basis = None
    for event in s.events:  # what was there up to the event
        if event.version > since and before == basis:
            return True
        before = event.seen
    return False
