"""I15: how the view of an informer moves, as the server sees it and as its worker tells it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.informers import (
    INFORMER,
    Collection,
    Line,
    Namesakes,
    closed_by,
    collection_in,
    collection_of,
    is_look,
    line_of,
)
from fleet.devcluster.invariants.invariant import DELIVERIES, NOTES, READS, Invariant, LeaseWrite
from fleet.devcluster.recording.journal import Entry, Sent
from fleet.records.object_names import LEASES
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.versions import at_least, newest

_OVERTAKING_SECONDS = 5.0
"""Within so many, answers of writes may come in another order than their commits (a proxy sees answers)."""


class NeverBack(Invariant):
    """Of each informer, from its first list to its end: no watch resumes below the version up to which it had watched
    before, or beyond the last that it was given; no list that it takes over is older than what it has seen, whatever it
    was asked with. In worker journals, neither the version of a view nor an object in it goes back.

    A list may be older where the server itself went back (it was restored from a backup): versions of later creates,
    and of the fleet's own Leases, tell.
    """

    id = "I15"
    sentence = "A view never goes back in time."
    what = "resumed watches, lists and changes of views that had a version to fall below"
    also = (READS, DELIVERIES, NOTES)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._resumed: dict[Line, str] = {}
        self._given: dict[Collection, str] = {}
        """The version up to which events and complete lists were delivered."""
        self._shown: dict[Line, str] = {}
        """The version of the newest list, or resumed watch, that the informer was given."""
        self._reached: dict[Collection, str] = {}
        """As the worker tells it."""
        self._versions: dict[Collection, dict[str, str]] = {}
        self._suspects: list[tuple[Entry | float, str]] = []
        """What is a break unless the server itself went back."""
        self._new: deque[tuple[float, str]] = deque()
        """Times and versions of what was made lately: answers may overtake each other."""
        self._settled = ""
        """The highest of those that were made before."""
        self._namesakes = Namesakes()
        self._restored = False
        self._top = ""
        """The highest version that was made since the server was restored, if it was."""

    # -- what the server is asked, and gives --------------------------------------------------------------------------

    def hears_gap(self, entry: Entry) -> None:
        self._forget_server(lambda where: True)
        self._new.clear()
        self._settled = ""

    def hears_restored(self, entry: Entry) -> None:
        self._suspects.clear()
        self._forget_server(lambda where: True)
        self._forget_views(lambda where: True)
        self._new.clear()
        self._settled = ""
        self._restored, self._top = True, ""

    def hears_lease(self, write: LeaseWrite) -> None:
        """Who begins anew, or lets a range go, builds its views anew."""
        self._namesakes.hears(write)
        old, new = write.member_before, write.member
        if old is not None and (new is None or new.epoch != old.epoch):
            self._forget_server(lambda where: where.member == old.name)
        before = write.shard_before.holder if write.shard_before is not None else None
        now = write.shard.holder if write.shard is not None else None
        if before is not None and before != now and write.key is not None:
            ended = before.member, str(write.key[1])
            self._forget_server(lambda where: (where.member, where.covered) == ended)

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        """A new version below an older one: another history, in which nothing of before binds."""
        new = entry.verb == "create" or (entry.resource == str(LEASES) and agent is not None and entry.verb != "delete")
        if not (new and entry.succeeded and entry.resource_version) or entry.removed:
            return
        while self._new and self._new[0][0] < entry.time - _OVERTAKING_SECONDS:
            self._settled = newest(self._settled, self._new.popleft()[1])
        if self._settled and not at_least(entry.resource_version, self._settled):
            self.hears_restored(entry)
        self._new.append((entry.time, entry.resource_version))
        self._top = newest(self._top, entry.resource_version)

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        sent = entry.sent
        if agent.reason != INFORMER or not entry.succeeded or sent is None or entry.verb != "watch":
            return
        if self._namesakes.has(agent.member):
            return
        if sent.resource_version in (None, "", "0") or sent.initial_events:
            return
        where, version = collection_of(entry, agent), sent.resource_version or ""
        line = line_of(where, sent)
        before, given = newest(self._resumed.get(line, ""), self._shown.get(line, "")), self._given.get(where, "")
        self.checks += bool(before or given)
        if before and not at_least(version, before):
            self._suspect(entry, before, f"{where} resumed at {version} after {before}")
        elif given and not at_least(given, version):
            self.found(entry, f"{where} resumed at {version}, and was given nothing after {given}")
        self._resumed[line] = version

    def hears_given(self, entry: Entry, agent: UserAgent) -> None:
        shown = entry.shown
        if agent.reason != INFORMER or shown is None or shown.version in ("", "0") or shown.type == "ERROR":
            return
        if self._namesakes.has(agent.member):
            return
        where, sent = collection_of(entry, agent), entry.sent or Sent()
        if shown.type != "LIST":
            self._given[where] = newest(self._given.get(where, ""), shown.version)
        elif not is_look(sent):
            self._listed(entry, line_of(where, sent), first=not sent.continues, complete=shown.complete)

    def _listed(self, entry: Entry, line: Line, *, first: bool, complete: bool) -> None:
        where, version = line[0], entry.shown.version if entry.shown is not None else ""
        seen = newest(self._given.get(where, ""), self._resumed.get(line, ""), self._shown.get(line, ""))
        if first:
            self.checks += bool(seen)
            if seen and not at_least(version, seen):
                self._suspect(entry, seen, f"{where} was given a list at {version} after {seen}")
                # Told once: the watch that follows begins there.
                self._resumed.pop(line, None)
                self._given.pop(where, None)
                self._shown.pop(line, None)
        if complete:
            self._shown[line] = version
            self._given[where] = newest(self._given.get(where, ""), version)

    # -- what workers tell --------------------------------------------------------------------------------------------

    def hears_note(self, note: Note) -> None:
        closed, where = closed_by(note), collection_in(note)
        if closed is not None:
            self._forget_views(closed)
        elif note.what == "listed":
            self._move(note.time, where, note.version, by="a list")
        elif note.what == "view":
            self._move(note.time, where, note.version, by="itself")
        elif note.what == "started":
            for resource, version in (note.views or {}).items():
                self._started(note, Collection(note.member, note.range, resource), version)
        elif note.what == "change":
            self._changed(note, where)

    def _started(self, note: Note, where: Collection, version: str) -> None:
        """A reconcile names its views by resource only."""
        roles = [each for each in self._reached if each.anyhow == where]
        if len(roles) == 1:
            self._move(note.time, roles[0], version, by="itself")

    def _move(self, now: float, where: Collection, version: str, *, by: str) -> None:
        if not version:
            return
        before = self._reached.get(where, "")
        self.checks += bool(before)
        if before and not at_least(version, before):
            self._suspect(now, before, f"the view of {where} went from {before} back to {version}, by {by}")
            self._versions.pop(where, None)
        self._reached[where] = version

    def _changed(self, note: Note, where: Collection) -> None:
        versions = self._versions.setdefault(where, {})
        before = versions.get(note.uid, "")
        self.checks += bool(before)
        if before and not at_least(note.version, before):
            what = f"{note.key} went from {before} back to {note.version} in the view of {where}"
            self._suspect(note.time, before, what)
        versions[note.uid] = newest(before, note.version)

    # -- the end ------------------------------------------------------------------------------------------------------

    def suspected(self) -> Sequence[tuple[Entry | float, str]]:
        return self._suspects

    def _suspect(self, at: Entry | float, before: str, what: str) -> None:
        """before: the version that was gone back from; one of another history binds nobody."""
        if not self._restored or at_least(self._top, before):
            self._suspects.append((at, what))

    def _forget_server(self, ended: Callable[[Collection], bool]) -> None:
        for known in (self._resumed, self._shown):
            for line in [line for line in known if ended(line[0])]:
                del known[line]
        for where in [where for where in self._given if ended(where)]:
            del self._given[where]

    def _forget_views(self, ended: Callable[[Collection], bool]) -> None:
        for where in [where for where in self._reached.keys() | self._versions.keys() if ended(where)]:
            self._reached.pop(where, None)
            self._versions.pop(where, None)
