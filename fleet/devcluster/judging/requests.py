"""I15, I17 and I21: what a fleet asks the server for, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from fleet.devcluster.journal import TRUNCATED, Entry
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.judging.invariant import DELIVERIES, FAULTS, NOTES, READS, Act, Invariant, path_of
from shards.journal import Note
from shards.objects import at_least, newest
from shards.useragent import UserAgent

INFORMER = "informer"
_EARLY = 0.98
"""Of the seconds that a server asks for: clocks are read on both sides of a connection."""

_ENOUGH = 50
"""Acts of one member, below which a share of conflicts says nothing."""


class Collection(NamedTuple):
    """One informer as a journal sees it. covered: its range."""

    member: str
    covered: str
    resource: str


def _collection(entry: Entry, agent: UserAgent) -> Collection:
    return Collection(agent.member, agent.range, entry.resource)


class NeverBack(Invariant):
    """The version from which an informer resumes its watch never falls, but for a list, and is none that it was not
    given. In worker journals, no object in a view goes back, but for a list that is older than the view."""

    id = "I15"
    sentence = "A view never goes back in time."
    what = "resumed watches and changes of views"
    also = (
        READS,
        DELIVERIES,
        NOTES,
    )

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._resumed: dict[tuple[Collection, str], str] = {}
        self._given: dict[Collection, str] = {}
        self._versions: dict[tuple[Collection, str], str] = {}
        self._listed: dict[Collection, str] = {}

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        if agent.reason != INFORMER or not entry.succeeded or entry.sent is None:
            return
        where, sent = _collection(entry, agent), entry.sent
        line = where, " ".join((sent.labels, sent.fields, sent.shards))
        if entry.verb == "list":
            self._resumed.pop(line, None)
        elif entry.verb == "watch" and sent.resource_version not in (None, "", "0") and not sent.initial_events:
            self.checks += 1
            before, given = self._resumed.get(line, ""), self._given.get(where, "")
            version = sent.resource_version or ""
            if before and not at_least(version, before):
                self.found(entry, f"{where} resumed at {version} after {before}")
            if given and not at_least(given, version):
                self.found(entry, f"{where} resumed at {version}, and was given nothing after {given}")
            self._resumed[line] = version

    def hears_given(self, entry: Entry, agent: UserAgent) -> None:
        if agent.reason == INFORMER and entry.shown is not None and entry.shown.version not in ("", "0"):
            where = _collection(entry, agent)
            restart = entry.shown.type == "LIST" and not (entry.sent is not None and entry.sent.continues)
            before = "" if restart else self._given.get(where, "")
            self._given[where] = newest(before, entry.shown.version)

    def hears_note(self, note: Note) -> None:
        where = Collection(note.member, note.range, note.resource)
        if note.what == "listed":
            if self._listed.get(where) and not at_least(note.version, self._listed[where]):
                self._forget(where)
            self._listed[where] = note.version
        elif note.what in ("stopped", "begin"):
            for each in {each for each, _ in self._versions if each.member == note.member}:
                if note.what == "begin" or each.covered == note.range:
                    self._forget(each)
        elif note.what == "change":
            self.checks += 1
            before = self._versions.get((where, note.uid), "")
            if before and not at_least(note.version, before):
                self.found(note.time, f"{note.key} went from {before} back to {note.version} in the view of {where}")
            self._versions[where, note.uid] = newest(before, note.version)

    def _forget(self, where: Collection) -> None:
        for each in [each for each in self._versions if each[0] == where]:
            del self._versions[each]
        self._listed.pop(where, None)


class WholeLists(Invariant):
    """No watch resumes from a list that a fault cut short, and in worker journals no list that was not completed, or
    was cut, removes anything from a view."""

    id = "I17"
    sentence = "Deletions are derived from complete lists and DELETED events only."
    what = "lists"
    also = (
        READS,
        FAULTS,
        NOTES,
    )

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._cut: set[Collection] = set()
        self._begun: set[Collection] = set()

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        if agent.reason != INFORMER:
            return
        where = _collection(entry, agent)
        if entry.verb == "list" and entry.succeeded:
            self.checks += 1
            self._cut.discard(where)
        elif entry.verb == "watch" and where in self._cut:
            self.found(entry, f"{where} watched from a list that was cut short")
            self._cut.discard(where)

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        listed = entry.sent is None or not entry.sent.resource_version
        if entry.verb == TRUNCATED and agent is not None and listed:
            self._cut.add(_collection(entry, agent))

    def hears_note(self, note: Note) -> None:
        where = Collection(note.member, note.range, note.resource)
        if note.what == "list":
            self._begun.add(where)
        elif note.what == "listed":
            self.checks += 1
            self._begun.discard(where)
        elif note.what in ("stopped", "begin"):
            for each in [each for each in self._begun if each.member == note.member]:
                if note.what == "begin" or each.covered == note.range:
                    self._begun.discard(each)
        elif (note.what, note.cause, note.outcome) == (
            "change",
            "deleted",
            "list",
        ) and where in self._begun | self._cut:
            self.found(note.time, f"{note.key} was removed from the view of {where} by a list that is not complete")


class BoundedLoad(Invariant):
    """A request that was refused with a Retry-After is not repeated sooner; no member asks more often in a second than
    the bound; conflicts are less than the bound's share of a member's acts."""

    id = "I21"
    sentence = "The load on the API server is bounded, and a server that asks for a pause gets it."
    what = "requests of members"
    also = (
        READS,
        FAULTS,
    )

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._not_before: dict[tuple[str, ...], float] = {}
        self._second: dict[str, tuple[int, int]] = {}
        self._acts: Counter[str] = Counter()
        self._conflicts: Counter[str] = Counter()
        self._loud: dict[str, int] = defaultdict(int)

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        self._asked(entry, agent)

    def hears_act(self, act: Act) -> None:
        self._asked(act.entry, act.agent)
        self._acts[act.agent.member] += 1
        self._conflicts[act.agent.member] += act.entry.status == 409 and act.entry.verb != "create"

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        if agent is not None and entry.shown is not None and entry.shown.retry_after_seconds:
            self._asked(entry, agent)

    def pending(self, end: float) -> list[str]:
        return [
            f"{member}: {self._conflicts[member]} of {acts} writes were answered with a conflict"
            for member, acts in self._acts.items()
            if acts >= _ENOUGH and self._conflicts[member] > acts * self.bounds.conflict_share
        ]

    def _asked(self, entry: Entry, agent: UserAgent) -> None:
        self.checks += 1
        second, count = self._second.get(agent.member, (0, 0))
        count = count + 1 if second == int(entry.time) else 1
        self._second[agent.member] = int(entry.time), count
        if count == self.bounds.requests_per_second + 1:
            self.found(entry, f"{agent.member} sent more than {count - 1} requests within a second")
        if not (agent.uid or agent.reason == INFORMER):
            return
        # Of an act all requests of its key count: they have one retry. Of an informer, those of its collection.
        who = (agent.member, agent.range, agent.uid or agent.reason, path_of(entry))
        due = self._not_before.pop(who, None)
        if due is not None and entry.time < due:
            self.found(entry, f"{agent.member} asked for {path_of(entry)} {due - entry.time:.2f} s too early")
        if entry.status == 429 and entry.shown is not None and entry.shown.retry_after_seconds:
            self._not_before[who] = entry.time + entry.shown.retry_after_seconds * _EARLY
