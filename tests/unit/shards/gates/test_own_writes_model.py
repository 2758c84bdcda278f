"""The own-write gate against the whole history of a server, over drawn histories.

The server remembers every state of every object. Whenever the gate lets a key run, what the view holds of each object
that the key has written must be one of the states from that write on, whatever was delayed, lost, listed or restored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from shards.gates.own_writes import Barrier, OwnWrites
from shards.objects import Key, Meta, ObjectName
from shards.stores.store import Entry, StoreWriter
from tests.unit.shards.gates.stores import KEY, OTHER, PAGES

NAMES = ("a", "b", "c")
KEYS = (KEY, OTHER)
OUTCOMES = ("answered", "lost", "lost before it was carried out")

names = st.sampled_from(NAMES)
keys = st.sampled_from(KEYS)
outcomes = st.sampled_from(OUTCOMES)


@dataclass
class Thing:
    """One state of an object. shown: whether the view's filter passes it."""

    uid: str
    version: int
    shown: bool = True


@dataclass
class Server:
    """objects: as they are. past: of each name every state that the view is shown, in order, by version; None: absent.

    events: what the view was not sent yet; None: a bookmark.
    """

    version: int = 10
    uids: int = 0
    objects: dict[str, Thing] = field(default_factory=dict)
    past: dict[str, list[tuple[int, Thing | None]]] = field(default_factory=lambda: {name: [] for name in NAMES})
    events: list[tuple[int, str, Thing | None]] = field(default_factory=list)

    def put(self, name: str, *, shown: bool = True) -> Thing:
        self.version += 1
        before = self.objects.get(name)
        if before is None:
            self.uids += 1
        thing = Thing(f"u{self.uids}" if before is None else before.uid, self.version, shown)
        self.objects[name] = thing
        if shown:
            self._happened(name, thing)
        elif before is not None and before.shown:
            self._happened(name, None, before)
        return thing

    def remove(self, name: str) -> int:
        self.version += 1
        gone = self.objects.pop(name)
        if gone.shown:
            self._happened(name, None, gone)
        return self.version

    def _happened(self, name: str, now: Thing | None, gone: Thing | None = None) -> None:
        self.past[name].append((self.version, now))
        self.events.append((self.version, name, now if gone is None else gone))

    def states_from(self, name: str, version: int) -> list[Thing | None]:
        """What the view may hold once it shows what happened at that version."""
        before = [state for at, state in self.past[name] if at <= version]
        return [before[-1] if before else None, *(state for at, state in self.past[name] if at > version)]


def meta(name: str, thing: Thing, version: int | None = None) -> Meta:
    return Meta(name, "ns", thing.uid, str(version or thing.version))


class GateMachine(RuleBasedStateMachine):
    """By key, written: name and version of each state that it led to; ended: UIDs that a write, whose own object the
    view will never show, has proved to be gone; refused: states that a conflict has proved to be past."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.writer = StoreWriter(resource=PAGES)
        self.view = self.writer.reader
        self.views = {PAGES: self.view}
        self.written: dict[Key, list[tuple[str, int]]] = {key: [] for key in KEYS}
        self.ended: dict[Key, list[str]] = {key: [] for key in KEYS}
        self.refused: dict[Key, list[tuple[str, tuple[str, str]]]] = {key: [] for key in KEYS}
        self.backup: tuple[int, dict[str, Thing], dict[str, list[tuple[int, Thing | None]]]] | None = None

    @initialize(most=st.sampled_from((0, 1, 2, 100)), first=st.sets(names))
    def begins(self, most: int, first: set[str]) -> None:
        self.writes = OwnWrites(most)
        for name in sorted(first):
            self.server.put(name)
        self.lists()

    # -- what keys do ------------------------------------------------------------------------------------------------

    @rule(key=keys, name=names, outcome=outcomes, shown=st.booleans())
    def creates(self, key: Key, name: str, outcome: str, shown: bool) -> None:
        if self.server.objects.get(name) is None:
            self._sends(key, name, self._begin(key, name, None), outcome, shown=shown)

    @rule(key=keys, name=names, outcome=outcomes, shown=st.booleans())
    def updates_what_the_view_holds(self, key: Key, name: str, outcome: str, shown: bool) -> None:
        held = self.view.version_of(ObjectName("ns", name))
        there = self.server.objects.get(name)
        if held is None:
            return
        barrier = self.writes.begin(key, PAGES, ObjectName("ns", name), *held)
        if there is None or held != (there.uid, str(there.version)):
            self.writes.stale(barrier)  # a conflict
            self.refused[key].append((name, held))
        else:
            self._sends(key, name, barrier, outcome, shown=shown)

    @rule(key=keys, name=names, outcome=outcomes, shown=st.booleans())
    def updates_what_it_reads_live(self, key: Key, name: str, outcome: str, shown: bool) -> None:
        there = self.server.objects.get(name)
        if there is not None and self._read(key, name, there):
            self._sends(key, name, self._begin(key, name, there), outcome, shown=shown)

    @rule(key=keys, name=names, outcome=outcomes)
    def deletes(self, key: Key, name: str, outcome: str) -> None:
        there = self.server.objects.get(name)
        if there is None or not self._read(key, name, there):
            return
        barrier = self._begin(key, name, there)
        if outcome != OUTCOMES[2]:
            self.written[key].append((name, self.server.remove(name)))
        if outcome == OUTCOMES[0]:
            self.writes.deleted(barrier, there.uid, str(there.version))
        else:
            self.writes.in_doubt(barrier)

    @rule(key=keys, name=names)
    def reads_live(self, key: Key, name: str) -> None:
        if (there := self.server.objects.get(name)) is not None:
            self._read(key, name, there)

    def _begin(self, key: Key, name: str, there: Thing | None) -> Barrier:
        known = ("", "") if there is None else (there.uid, str(there.version))
        return self.writes.begin(key, PAGES, ObjectName("ns", name), *known)

    def _read(self, key: Key, name: str, there: Thing) -> bool:
        """The author reads live. Whether the view will show that object."""
        if there.shown or self.view.name_of(there.uid) is not None:
            self.writes.read(key, PAGES, ObjectName("ns", name), there.uid, str(there.version))
            self.written[key].append((name, there.version))
            return True
        return False

    def _sends(self, key: Key, name: str, barrier: Barrier, outcome: str, *, shown: bool) -> None:
        if outcome == OUTCOMES[2]:
            self.writes.in_doubt(barrier)
            return
        thing = self.server.put(name, shown=shown)
        known = self.view.name_of(thing.uid) is not None or self.writes.expects(key, PAGES, thing.uid)
        if thing.shown or known:
            self.written[key].append((name, thing.version))
        elif (held := self.view.version_of(ObjectName("ns", name))) is not None:
            self.ended[key].append(held[0])
        if outcome == OUTCOMES[1]:
            self.writes.in_doubt(barrier)
        elif thing.shown or known:
            self.writes.landed(barrier, thing.uid, str(thing.version))
        else:
            self.writes.outside(barrier, thing.uid, self.view)

    # -- what others do ----------------------------------------------------------------------------------------------

    @rule(name=names, shown=st.booleans())
    def somebody_writes(self, name: str, shown: bool) -> None:
        self.server.put(name, shown=shown)

    @rule(name=names)
    def somebody_deletes(self, name: str) -> None:
        if name in self.server.objects:
            self.server.remove(name)

    # -- what the view hears -----------------------------------------------------------------------------------------

    @rule(count=st.integers(1, 5))
    def events_arrive(self, count: int) -> None:
        for version, name, thing in self.server.events[:count]:
            if thing is None:
                self.writer.bookmark(str(version))
            elif thing.version == version:
                self.writer.apply(meta(name, thing), b"{}")
            else:
                self.writer.delete(meta(name, thing, version))
        del self.server.events[:count]

    @rule()
    def a_bookmark_is_sent(self) -> None:
        self.server.events.append((self.server.version, "", None))

    @rule()
    def lists(self) -> None:
        there = [Entry(meta(name, thing), b"{}") for name, thing in self.server.objects.items() if thing.shown]
        asked, needed = self.writes.levels.numbers, self.writes.levels.lists()
        self.server.events.clear()
        regressions = self.view.regressions
        self.writer.replace(there, str(self.server.version))
        if self.view.regressions != regressions:
            self.writes.history_lost(PAGES)
        elif needed:
            self.writes.levels.listed(PAGES, asked)

    @rule(key=keys)
    def a_live_read_settles(self, key: Key) -> None:
        for barrier in self.writes.waiting(key, self.views):
            there = self.server.objects.get(barrier.name.name)
            live = None if there is None else meta(barrier.name.name, there)
            admitted = there is not None and there.shown
            self.writes.settle(barrier, live, self.view, admitted=admitted)

    @rule()
    def housekeeping(self) -> None:
        self.writes.sweep(self.views, 0.0)

    # -- backups -----------------------------------------------------------------------------------------------------

    @rule()
    def a_backup_is_made(self) -> None:
        past = {name: list(states) for name, states in self.server.past.items()}
        self.backup = self.server.version, dict(self.server.objects), past

    @rule()
    def the_server_is_restored_and_the_view_notices(self) -> None:
        if self.backup is None or self.backup[0] >= int(self.view.resource_version):
            return
        server = self.server
        server.version, server.objects = self.backup[0], dict(self.backup[1])
        server.past = {name: list(states) for name, states in self.backup[2].items()}
        for key, done in self.written.items():
            self.written[key] = [each for each in done if each[1] <= server.version]
            self.ended[key].clear()
            self.refused[key].clear()
        self.lists()

    # -- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def a_key_that_may_run_sees_what_it_did(self) -> None:
        for key in KEYS:
            if not hasattr(self, "writes") or self.writes.blocked(key, self.views) is not None:
                continue
            assert self.writes.shown(key, self.views)
            assert not [uid for uid in self.ended[key] if self.view.name_of(uid) is not None]
            past = [each for each in self.refused[key] if self.view.version_of(ObjectName("ns", each[0])) == each[1]]
            assert not past, f"{key} was refused: {past}"
            for name, version in self.written[key]:
                held = self.view.version_of(ObjectName("ns", name))
                possible = [
                    None if state is None else (state.uid, str(state.version))
                    for state in self.server.states_from(name, version)
                ]
                assert held in possible, f"{key} wrote {name} at {version}: the view holds {held}, of {possible}"

    @invariant()
    def memory_is_bounded(self) -> None:
        if hasattr(self, "writes"):
            held = sum(len(barriers) for barriers in self.writes._barriers.values())
            assert held == self.writes._held <= self.writes._most

    def teardown(self) -> None:
        """Nothing waits for ever: once the view is there, and what only a read shows was read, all keys are free."""
        if not hasattr(self, "writes"):
            return
        for _ in range(3):
            self.lists()
            for key in KEYS:
                self.a_live_read_settles(key)
        self.lists()
        self.a_key_that_may_run_sees_what_it_did()
        for key in KEYS:
            assert self.writes.blocked(key, self.views) is None
        assert not len(self.writes)
        assert not self.writes.levels


GateMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40)


TestGateAgainstHistory = GateMachine.TestCase


@pytest.mark.parametrize("broken", ["landed", "deleted", "in_doubt", "stale", "read"])
def test_the_oracle_finds_a_gate_that_forgets(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """Each of the things that the gate is told, taken away."""
    if broken == "read":
        monkeypatch.setattr(OwnWrites, broken, lambda self, *args: None)
    else:
        monkeypatch.setattr(OwnWrites, broken, lambda self, barrier, *args: self.failed(barrier))
    found = settings(max_examples=400, stateful_step_count=40, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(GateMachine, settings=found)
