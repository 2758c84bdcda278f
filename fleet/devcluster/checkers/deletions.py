"""I17: what removes objects from the view of an informer."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.informers import (
    INFORMER,
    Collection,
    Namesakes,
    Unconfirmed,
    closed_by,
    collection_in,
    collection_of,
    is_look,
)
from fleet.devcluster.invariants.invariant import DELIVERIES, FAULTS, NOTES, READS, Invariant, LeaseWrite
from fleet.devcluster.recording.journal import TRUNCATED, Entry, Sent
from shards.api.useragent import UserAgent
from shards.journal import Note


class WholeLists(Invariant):
    """No watch resumes from a list that a fault cut short, or of which the client was not given every page. In worker
    journals: what a list removes from a view, a completed list removes, which was not cut and does not hold the object;
    and where deliveries are told, what an event removes had an event.
    """

    id = "I17"
    sentence = "Deletions are derived from complete lists and DELETED events only."
    what = "deletions from views, and lists that were cut short or came in pages"
    also = (READS, DELIVERIES, FAULTS, NOTES)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._cut: dict[Collection, bool] = {}
        """Lists that a fault cut short and that were not asked for again; whether it was a later page."""
        self._pages: dict[Collection, dict[str, str] | None] = {}
        """Objects of the list whose last page was not given yet; None where a page could not be read."""
        self._lists: dict[Collection, dict[str, str]] = {}
        """Objects of the last complete list."""
        self._events: dict[Collection, set[str]] = {}
        """UIDs and names of which an event was delivered since the last complete list. A name: an object that took
        another one's place removes it."""
        self._roles: dict[Collection, set[str]] = defaultdict(set)
        self._begun: set[Collection] = set()
        self._complete: set[Collection] = set()
        self._namesakes = Namesakes()
        self._unconfirmed = Unconfirmed()
        self._unsure: set[str] = set()
        """Members whose journals lost lines: a list may be among them."""

    def hears_gap(self, entry: Entry) -> None:
        for known in (self._cut, self._pages, self._lists, self._events):
            known.clear()
        self._unconfirmed.clear()

    def hears_lease(self, write: LeaseWrite) -> None:
        self._namesakes.hears(write)

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        for now, what in self._unconfirmed.confirmed(entry.time):
            self.found(now, what)

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        sent = entry.sent or Sent()
        if agent.reason != INFORMER or not entry.succeeded or (entry.verb == "list" and is_look(sent)):
            return
        if self._namesakes.has(agent.member):
            return
        where = collection_of(entry, agent)
        if entry.verb == "list":
            if where in self._cut and (not sent.continues or self._cut[where]):
                self.checks += 1
                del self._cut[where]
        elif entry.verb == "watch":
            if where in self._cut:
                self.checks += 1
                self.found(entry, f"{where} watched from a list that was cut short")
                del self._cut[where]
            if where in self._pages and not sent.initial_events:
                self.checks += 1
                self.found(entry, f"{where} watched from a list without having been given its last page")
                del self._pages[where]

    def hears_fault(self, entry: Entry) -> None:
        agent, sent = UserAgent.parse(entry.user_agent), entry.sent or Sent()
        if entry.verb == TRUNCATED and agent is not None and not sent.watch and not entry.name and not is_look(sent):
            self._cut[collection_of(entry, agent)] = sent.continues

    def hears_given(self, entry: Entry, agent: UserAgent) -> None:
        shown, sent = entry.shown, entry.sent or Sent()
        if agent.reason != INFORMER or shown is None:
            return
        where = collection_of(entry, agent)
        if shown.type != "LIST":
            if where in self._events:
                self._events[where] |= {entry.uid, path_in(entry)}
        elif not is_look(sent):
            self._page(where, shown.objects or {}, first=not sent.continues, complete=shown.complete)

    def _page(self, where: Collection, objects: dict[str, str], *, first: bool, complete: bool) -> None:
        if not first and where not in self._pages:
            return  # its first page came before the journal began
        pages = {} if first else self._pages[where] or {}
        pages.update(objects)
        if not complete:
            self._pages[where] = pages
            return
        self.checks += not first
        self._pages.pop(where, None)
        if where == where.shared:
            self._forget_fed_by(where)
        self._lists.pop(where, None)  # the last one is the newest
        self._lists[where] = pages
        self._events[where] = set()

    def _forget_fed_by(self, stream: Collection) -> None:
        """A list of a shared stream takes the place of those that its views were given beside it."""
        known: tuple[dict[Collection, Any], ...] = (self._cut, self._pages, self._lists, self._events)
        for each in known:
            for where in [where for where in each if where != stream and stream.feeds(where)]:
                del each[where]

    def hears_note(self, note: Note) -> None:
        where, closed = collection_in(note), closed_by(note)
        if closed is not None:
            self._begun = {each for each in self._begun if not closed(each)}
            self._complete = {each for each in self._complete if not closed(each)}
            if note.what == "lost":
                self._unsure.add(note.member)
            elif note.what == "begin":
                self._unsure.discard(note.member)
        elif note.what == "list":
            self._begun.add(where)
            self._roles[where.anyhow].add(where.role)
        elif note.what == "listed":
            self._begun.discard(where)
            self._complete.add(where)
        elif note.what == "change" and note.cause == "deleted":
            removed = f"{note.key} was removed from the view of {where} by"
            if note.outcome == "list":
                for what in self._by_list(note, where):
                    self.found(note.time, f"{removed} {what}")
            elif self._without_event(note, where):
                self._unconfirmed.hold(note.time, f"{removed} an event that nobody delivered")

    def _by_list(self, note: Note, where: Collection) -> list[str]:
        if note.member in self._unsure and where not in self._begun | self._complete:
            return []
        self.checks += 1
        if where in self._begun or where not in self._complete:
            return ["a list that is not complete"]
        if not self._alone(where):
            return []
        if where.anyhow in self._cut:
            return ["a list that was cut short"]
        newest = next((listed for each, listed in reversed(self._lists.items()) if each.feeds(where)), {})
        return ["a list that holds it"] if note.uid in newest else []

    def _without_event(self, note: Note, where: Collection) -> bool:
        events = [self._events[each] for each in (where.anyhow, where.shared) if each in self._events]
        if not events or not self._alone(where):
            return False
        self.checks += 1
        return not any(each & {note.uid, note.key} for each in events)

    def _alone(self, where: Collection) -> bool:
        """Whether the worker has one view of that collection only, so that the server's lines are about it."""
        return len(self._roles[where.anyhow]) == 1 and not self._namesakes.has(where.member)


def path_in(entry: Entry) -> str:
    """As the key of a note."""
    return f"{entry.namespace}/{entry.name}" if entry.namespace else entry.name
