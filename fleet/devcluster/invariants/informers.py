"""Informers, as the journals of servers and of workers know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fleet.devcluster.invariants.invariant import LeaseWrite
from fleet.devcluster.recording.journal import Entry, Sent
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.keyrange import KeyRange

INFORMER = "informer"


class Collection(NamedTuple):
    """One informer as a journal sees it. covered: its range. role: as its worker tells it; a server cannot know."""

    member: str
    covered: str
    resource: str
    role: str = ""

    def __str__(self) -> str:
        role = f" ({self.role})" if self.role else ""
        return f"{self.resource}{role} {self.covered} on {self.member}"

    @property
    def anyhow(self) -> Collection:
        """The same, as a server sees it."""
        return self._replace(role="")

    @property
    def shared(self) -> Collection:
        """The stream from which the views of a worker's shards are fed where it filters here; its range is nobody's."""
        return self._replace(role="", covered="")

    def feeds(self, where: Collection) -> bool:
        """Whether this collection, as a server sees it, can be where that view comes from."""
        if (self.member, self.resource) != (where.member, where.resource):
            return False
        if self.covered in ("", where.covered):
            return True
        mine, its = KeyRange.parse(self.covered), KeyRange.parse(where.covered)
        return mine.first <= its.first and its.last <= mine.last


Line = tuple[Collection, str]
"""An informer, and the selectors that it asks with."""


class Unconfirmed:
    """What worker journals show against the server's, until the server's has gone on: it may end before theirs."""

    def __init__(self) -> None:
        self._held: list[tuple[float, str]] = []

    def hold(self, now: float, what: str) -> None:
        self._held.append((now, what))

    def confirmed(self, now: float) -> list[tuple[float, str]]:
        """What was held before the time of an entry."""
        if not self._held or self._held[0][0] >= now:
            return []
        found = [each for each in self._held if each[0] < now]
        self._held = self._held[len(found) :]
        return found

    def clear(self) -> None:
        self._held.clear()


class Namesakes:
    """Members of several fleets that have one name: what a server heard of their informers cannot be told apart."""

    def __init__(self) -> None:
        self._fleets: dict[str, set[str]] = {}

    def hears(self, write: LeaseWrite) -> None:
        if write.member is not None:
            self._fleets.setdefault(write.member.name, set()).add(write.owned.fleet)

    def has(self, member: str) -> bool:
        return len(self._fleets.get(member, ())) > 1


def collection_of(entry: Entry, agent: UserAgent) -> Collection:
    return Collection(agent.member, agent.range, entry.resource)


def collection_in(note: Note) -> Collection:
    return Collection(note.member, note.range, note.resource, note.role)


def line_of(where: Collection, sent: Sent) -> Line:
    return where, " ".join((sent.labels, sent.fields, sent.shards))


def is_look(sent: Sent) -> bool:
    """A list of one object asks how far the server has come; no view comes of it."""
    return sent.limit == 1


def closed_by(note: Note, *ends: str) -> Callable[[Collection], bool] | None:
    """The views that end with that note, or of which nothing is known any more; None for none.

    ends: what else of a shard ends its views for the purpose, such as "drained".
    """
    if note.what in ("begin", "lost"):
        return lambda where: where.member == note.member
    if note.what in ("stopped", *ends):
        return lambda where: (where.member, where.covered) == (note.member, note.range)
    return None
