"""I9 and I10: how soon a fleet answers a change, and that it rests when there is none."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import (
    FAULTS,
    NOTES,
    Invariant,
    LeaseWrite,
    is_document,
    is_own_event,
    path_of,
)
from fleet.devcluster.invariants.weather import Weather, kind_of
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import LEASES
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.versions import at_least


@dataclass(slots=True)
class _Change:
    """Of a primary, by somebody who is no fleet. since: of the first that nobody has seen; version: of the last."""

    since: float
    version: str
    kind: str


class WokenUp(Invariant):
    """Each change of a primary by somebody else is followed, within the bound after it (and after the last claim, and
    the end of the last fault), by the start of a reconcile of that key whose view has the change, or by the word that
    the key is not to run.

    Judged for objects that a view of primaries held, or would have to hold because its range is all that filters it;
    and while some member gave signs of life.
    """

    id = "I9"
    sentence = "No change is lost: a reconcile that has seen it starts in time."
    what = "changes that a reconcile has seen"
    needs = (NOTES,)
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._waiting: dict[str, _Change] = {}
        """By UID."""
        self._primaries: set[str] = set()
        self._whole: set[str] = set()
        self._viewed: set[str] = set()
        self._claimed_at = float("-inf")
        self._alive_at: float | None = None
        self._members: set[str] = set()
        self._noted: set[str] = set()
        self._noted_at = float("-inf")
        self._highest = 0
        self._weather = Weather()

    def blindness(self) -> str:
        mute = sorted(self._members - self._noted)
        return f"the worker journals of {', '.join(mute)} are missing" if mute else ""

    def hears_gap(self, entry: Entry) -> None:
        self._waiting.clear()

    def hears_restored(self, entry: Entry) -> None:
        self._highest = 0

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        """What has no version above all before it changed nothing."""
        version = int(entry.resource_version) if entry.succeeded and entry.resource_version.isdecimal() else 0
        changed, self._highest = version > self._highest, max(self._highest, version)
        if entry.removed:
            self._waiting.pop(entry.uid, None)
        elif agent is None and changed and entry.uid:
            # Later changes wait no shorter: the first one that nobody has seen counts.
            known = self._waiting.get(entry.uid)
            since = known.since if known is not None else entry.time
            self._waiting[entry.uid] = _Change(since, entry.resource_version, kind_of(entry.resource))

    def hears_lease(self, write: LeaseWrite) -> None:
        if write.claim:
            self._claimed_at = write.entry.time
        new, agent = write.member, write.agent
        if new is not None and new.holder is not None:
            self._members.add(new.name)
            if agent is not None and agent.member == new.name:
                self._alive_at = write.entry.time

    def hears_fault(self, entry: Entry) -> None:
        self._weather.hears(entry)

    def hears_note(self, note: Note) -> None:
        self._noted.add(note.member)
        self._noted_at = note.time
        kind = kind_of(note.resource)
        if note.what == "lost":
            self._waiting.clear()
        elif note.what == "view" and note.outcome == "whole":
            self._whole.add(kind)
        elif note.what == "change" and note.cause == "deleted":
            self._viewed.discard(note.uid)
        elif note.what == "change":
            self._viewed.add(note.uid)
        elif note.what == "started":
            self._primaries.add(kind)
            self._viewed.add(note.uid)
            self._started(note)
        elif note.what == "aside" and note.cause != "turn":
            self._seen(note)

    def _seen(self, note: Note) -> _Change | None:
        """The change that waited for somebody whose view has it, as the note's view does."""
        waiting = self._waiting.get(note.uid)
        view = (note.views or {}).get(note.resource, "")
        return self._waiting.pop(note.uid) if waiting is not None and at_least(view, waiting.version) else None

    def _started(self, note: Note) -> None:
        waiting = self._seen(note)
        if waiting is None:
            return
        self.checks += 1
        late = self._late(waiting.since, note.time)
        if late:
            self.found(note.time, f"{note.key} was reconciled {late:.1f} s after a change of it")

    def pending(self, end: float) -> list[str]:
        end = min(end, self._noted_at, end if self._alive_at is None else self._alive_at)
        return [
            f"{each.kind} {uid} at {each.version}: nobody has reconciled it since it changed, {late:.1f} s ago"
            for uid, each in self._waiting.items()
            if each.kind in self._primaries
            and (each.kind in self._whole or uid in self._viewed)
            and (late := self._late(each.since, end))
        ]

    def _late(self, since: float, now: float) -> float:
        waited = now - max(since, self._claimed_at, self._weather.last(now))
        return waited if waited > self.bounds.wake_seconds else 0.0


class AtRest(Invariant):
    """Once nobody else has written, no range changed hands and no fault was in force for as long as convergence may
    take, the fleet writes nothing but its own records and Events."""

    id = "I10"
    sentence = "When nothing changes any more, the fleet converges in time and then writes nothing."
    what = "quiet stretches"
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._since: float | None = None
        self._present = False
        """Whether there is a fleet that could write."""
        self._weather = Weather()

    def hears_gap(self, entry: Entry) -> None:
        self._since = entry.time

    def hears_change(self, entry: Entry) -> None:
        self._disturb(entry.time)

    def hears_fault(self, entry: Entry) -> None:
        self._disturb(entry.time)
        self._weather.hears(entry)

    def hears_lease(self, write: LeaseWrite) -> None:
        if write.claim:
            self._disturb(write.entry.time)

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        """Also of who does not say for which key."""
        self._present = self._present or agent is not None
        coordination = entry.resource == str(LEASES) or entry.object is not None
        if agent is None or coordination or self._since is None or not entry.succeeded:
            return
        if is_document(entry, agent) or is_own_event(entry, agent):
            return
        quiet = entry.time - max(self._since, self._weather.last(entry.time))
        if quiet > self.bounds.converge_seconds:
            self.found(entry, f"{path_of(entry)} was written {quiet:.1f} s after the last change")

    def checks_by(self, end: float) -> int:
        return self.checks + self._stretch(end)

    def _disturb(self, now: float) -> None:
        self.checks += self._stretch(now)
        self._since = now

    def _stretch(self, now: float) -> int:
        if self._since is None or not self._present:
            return 0
        needed = self.bounds.converge_seconds + self.bounds.quiet_seconds
        return int(now - max(self._since, self._weather.last(now)) >= needed)
