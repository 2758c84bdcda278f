"""What an invariant's checker is, and the events that it hears."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.evidence.rangeindex import LeaseKey
from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED, Finding, Judgement
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import CONFIG_MAPS, EVENTS, EVENTS_REASON
from fleet.records.record import CoordinatorRecord, DocumentName, Holder, MemberRecord, ShardMap, ShardRecord
from shards.api.useragent import UserAgent
from shards.journal import Note

FINDINGS_KEPT = 20
"""Findings of one invariant that are kept; the count goes on."""

LATELY = 64
"""Entries of which something may yet be taken back."""

READS, PRECONDITIONS, DELIVERIES, NOTES, REFERENCE, FAULTS = (
    "reads", "preconditions", "deliveries", "worker journals", "a reference run", "faults",
)  # fmt: skip
"""Evidence that a journal may lack. Writes are in every journal."""


@dataclass(frozen=True, slots=True)
class Act:
    """A write of a reconcile, whatever became of it. key: namespace, name and UID of its primary.

    alive, holds: whether the author's member Lease, and a shard Lease that covers the key, name it at that moment; True
    where the journal does not know. knows: whether it does. late: the request was on the wire for a while (a fault held
    it there): what it was sent on is older than its line, and its sender may have lost its ownership since.
    """

    entry: Entry
    agent: UserAgent
    holder: Holder
    key: tuple[str, str, str]
    owned: Ownership
    alive: bool
    holds: bool
    knows: bool = True
    late: bool = False

    @property
    def path(self) -> str:
        return path_of(self.entry)


@dataclass(frozen=True, slots=True)
class LeaseWrite:
    """A successful write of a fleet's Lease; at most one of the records is there, none of them where it was removed.

    agent: None for a write that no fleet made. Records before: None where there was none.
    """

    entry: Entry
    agent: UserAgent | None
    owned: Ownership
    key: LeaseKey | None = None
    shard: ShardRecord | None = None
    shard_before: ShardRecord | None = None
    member: MemberRecord | None = None
    member_before: MemberRecord | None = None
    coordinator: CoordinatorRecord | None = None

    @property
    def claim(self) -> bool:
        """Whether a shard has a holder from here on that it did not have, or not under this epoch."""
        new, old = self.shard, self.shard_before
        if new is None or new.holder is None:
            return False
        return old is None or (old.holder, old.epoch) != (new.holder, new.epoch)


@dataclass(frozen=True, slots=True)
class MapWrite:
    """A successful write of a fleet's map. map: None where it cannot be read, or was removed."""

    entry: Entry
    agent: UserAgent | None
    owned: Ownership
    map: ShardMap | None
    before: ShardMap | None


class Invariant:
    """Hears what concerns it, and says what it found. Subclasses define `hears_*` for what they want to hear.

    needs: evidence beyond writes without which nothing can be said. also: what it takes into account besides.
    what: the thing that `checks` counts.
    """

    id: ClassVar[str]
    sentence: ClassVar[str]
    what: ClassVar[str] = "checks"
    needs: ClassVar[tuple[str, ...]] = ()
    also: ClassVar[tuple[str, ...]] = ()

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.checks = 0
        self.broken = 0
        self.findings: list[Finding] = []
        self._latest: deque[int] = deque(maxlen=LATELY)
        """Numbers of the entries of the last breaks."""

    def hears_gap(self, entry: Entry) -> None:
        """The journal lost what came right before this entry: nothing may be claimed that the loss could explain."""

    def hears_restored(self, entry: Entry) -> None:
        """The server went back to an older state. Heard after `hears_gap`: what was known of records and objects may be
        no more, as if their changes had been lost."""

    def hears_act(self, act: Act) -> None:
        """A write of a reconcile that says who made it."""

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        """Any write by anybody, whatever became of it."""

    def hears_change(self, entry: Entry) -> None:
        """A successful write by somebody who is no fleet, of something that is no coordination object."""

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        """A get, list or watch by a fleet."""

    def hears_lease(self, write: LeaseWrite) -> None: ...

    def hears_map(self, write: MapWrite) -> None: ...

    def hears_given(self, entry: Entry, agent: UserAgent) -> None:
        """An event or a list that a fleet's client was given."""

    def hears_fault(self, entry: Entry) -> None: ...

    def hears_note(self, note: Note) -> None: ...

    def pending(self, end: float) -> list[str]:
        """What is broken as of the end, beyond what was found on the way; asked any number of times."""
        return []

    def blindness(self) -> str:
        """Why nothing can be said, whatever evidence there is; "" where something can."""
        return ""

    def suspected(self) -> Sequence[tuple[Entry | float, str]]:
        """What is broken as of now though it may yet turn out not to be: (where, what)."""
        return ()

    def checks_by(self, end: float) -> int:
        """The same for checks."""
        return self.checks

    def acquit(self, seq: int) -> None:
        """Takes back what was found lately at that entry: it turned out to have been on the wire for a while."""
        times = self._latest.count(seq)
        if times:
            self.broken -= times
            self.findings = [each for each in self.findings if each.seq != seq]
            self._latest = deque((each for each in self._latest if each != seq), maxlen=LATELY)

    def found(self, at: Entry | float, what: str) -> None:
        """A break, at an entry or at a time."""
        self.broken += 1
        self._latest.append(at.seq if isinstance(at, Entry) else 0)
        if len(self.findings) < FINDINGS_KEPT:
            self.findings.append(self._finding(at, what))

    def _finding(self, at: Entry | float, what: str) -> Finding:
        seq, time = (at.seq, at.time) if isinstance(at, Entry) else (0, at)
        return Finding(self.id, seq, time, what)

    def judgement(self, evidence: frozenset[str], end: float) -> Judgement:
        """evidence: what the journals hold beyond writes. end: time of the last line."""
        lacking = [each for each in self.needs if each not in evidence]
        last = [self._finding(at, what) for at, what in self.suspected()]
        last += [Finding(self.id, 0, end, what) for what in self.pending(end)] if not lacking else []
        checks = self.checks_by(end)
        broken, findings = self.broken + len(last), [*self.findings, *last][:FINDINGS_KEPT]
        why = self._unjudged(lacking, checks)
        if broken and not lacking and not self.blindness():
            outcome, why = BROKEN, ""
        elif why:
            outcome, broken, findings = NOT_JUDGED, 0, []
        else:
            outcome = HELD
        return Judgement(self.id, self.sentence, outcome, checks, self.what, why, broken, findings)

    def _unjudged(self, lacking: Sequence[str], checks: int) -> str:
        if lacking:
            return f"the journals lack {' and '.join(lacking)}"
        return self.blindness() or ("" if checks else f"no {self.what} in the journal")


def path_of(entry: Entry) -> str:
    subresource = f"/{entry.subresource}" if entry.subresource else ""
    return f"{entry.resource} {entry.namespace}/{entry.name}{subresource}"


def is_document(entry: Entry, agent: UserAgent) -> bool:
    """Whether the fleet wrote a setting of the whole fleet, of which a journal has only the name."""
    named = entry.resource == str(CONFIG_MAPS) and entry.name.rpartition("-")[2] in list(DocumentName)
    return named and agent.reason in ("coordinator", "coordination")


def is_own_event(entry: Entry, agent: UserAgent) -> bool:
    """Whether it is an Event in which the fleet tells of itself."""
    return entry.resource == str(EVENTS) and agent.reason == EVENTS_REASON
