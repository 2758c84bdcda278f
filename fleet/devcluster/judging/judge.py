"""The judge: reads a journal and says which promises were kept. It asks nobody but the record."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge

from fleet.devcluster.checkers.effects import SameAsReference, Summary
from fleet.devcluster.evidence.verdict import Finding, Verdict
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import Act, is_document, is_own_event, path_of
from fleet.devcluster.judging.court import Court
from fleet.devcluster.recording.journal import GAP, RESTORED, Entry
from fleet.records.object_names import CONFIG_MAPS, KIND_LABEL, LEASES, Kind
from shards.api.useragent import UserAgent
from shards.journal import Note

FINDINGS_LIMIT = 1000
"""Findings that are kept; the counts go on."""


def judge(
    entries: Iterable[Entry],
    notes: Iterable[Note] = (),
    *,
    bounds: Bounds | None = None,
    reference: Summary | None = None,
) -> Verdict:
    """The verdict over a journal in commit order, and the workers' own journals beside it.

    notes: of all workers, on the same clock as the entries. reference: of a run to compare with, see `counts_of`.

    A *fleet write* is a write whose User-Agent begins with `fleet/`. Coordination objects are Leases and the map.
    Several fleets on one server are judged each by itself; the counts are sums over all of them.

    Entries that a journal lost, known by their numbers, are never held against anybody: what they may explain is no
    finding.

    children: objects created by fleet writes with a controller owner reference that exist at the end.
    child_posts: such creates, and creates by the fleet that were answered AlreadyExists where such an object exists.
    duplicate_child_posts: per owner UID, resource, namespace and name: a create answered 409 while such an object
        exists under the owner that the User-Agent names (`u=`). A create after the object's deletion is none, nor is a
        409 against somebody else's object, or against what landed late (or what met it then). One that succeeds is
        none: the server would not let it, so the one before is gone, though the journal does not say how.
    duplicate_status_writes: successful status writes by the fleet whose resulting status is byte for byte that of the
        status write before it on the same object (UID), where that one was the fleet's too.
    takeovers: claims of a shard Lease over a holder that had not released it; not a broken promise by itself.
    overlap_violations: (a) moments at which two live incarnations of one fleet begin to hold active ranges that
        overlap; live means that the member Lease is held at that epoch; ranges of different partition keys always
        overlap. (b) successful fleet writes to other than coordination objects whose author (`m=`, `e=`) is fenced, or
        does not hold the active shard Lease that covers the key (`k=`, `u=`) when the write commits. What a fault
        held on the wire, what a hand took from its holder and what the journal does not know is none.
    writes_after_release: those of (b) whose author had released that range itself.
    unattributed_writes: successful fleet writes to other than coordination objects without one of m, e, s, k and u.
    event_writes: Events in which the fleet tells its own story, which are no writes to objects.
    lease_writes_per_range: successful writes of its shard Lease. map_writes, member_lease_writes: likewise.
    timeline: every ownership per range, with claims and ends. gaps: times without a live owner.
    invariants: see `fleet.devcluster.judging`. missing: entries that are not in the journal, by their numbers, and
        lines that workers could not write.
    """
    seat = Judge(bounds, reference)
    lines: Iterable[Entry | Note] = entries
    if notes := list(notes):
        # What a worker notes follows from what the server did: of two lines at one time, the server's comes first.
        ordered: list[Entry | Note] = sorted(notes, key=_moment)
        lines = merge(entries, ordered, key=_moment)
    for line in lines:
        if isinstance(line, Note):
            seat.note(line)
        else:
            seat.hear(line)
    return seat.verdict()


def counts_of(entries: Iterable[Entry]) -> Summary:
    """Creations and removals per object of a reference run."""
    seat = Judge()
    for entry in entries:
        seat.hear(entry)
    return dict(seat.court.find(SameAsReference).counts)


class Judge:
    """The same, line by line: `hear` in commit order, `note` in order of time, `verdict` at any time."""

    def __init__(
        self, bounds: Bounds | None = None, reference: Summary | None = None, *, with_notes: bool = True
    ) -> None:
        """with_notes: False where none will come: what only they show is not prepared for then."""
        self.court = Court(bounds, reference, with_notes=with_notes)
        self._once_only = self.court.once_only
        self._once_only.told = self._find
        self._counts = Verdict()
        self._heard = 0

    def verdict(self) -> Verdict:
        found, fleets, once = self._counts, self.court.fleets, self._once_only
        found.children, found.child_posts, found.status_writes = (
            len(once.children),
            once.child_posts,
            once.status_writes,
        )
        found.takeovers = fleets.takeovers
        found.member_lease_writes = fleets.member_writes
        found.lease_writes_per_range = fleets.lease_writes
        found.timeline = fleets.timeline()
        found.gaps = list(fleets.gaps())
        found.invariants = self.court.judgements()
        return found

    def note(self, note: Note) -> None:
        """Takes in the next line of a worker's journal."""
        if note.what == "lost":
            self._counts.missing += note.count
        self.court.note(note)

    def hear(self, entry: Entry) -> None:
        """Takes in the next entry."""
        counts = self._counts
        counts.entries += entry.verb not in (GAP, RESTORED)
        counts.missing += entry.verb == GAP
        if entry.seq != self._heard + 1:
            counts.missing += max(0, entry.seq - self._heard - 1)
            self.court.gap(entry)
        elif entry.verb == GAP:
            self.court.gap(entry)
        if entry.verb == RESTORED:
            self.court.restored(entry)
        self._heard = entry.seq
        agent = UserAgent.parse(entry.user_agent)
        self._acquit(self.court.acquitted)
        act = self.court.hear(entry, agent)
        self._acquit(self.court.acquitted)
        for what in self.court.overlaps:
            self._find("overlap_violations", entry, what)
        if not entry.write or not entry.succeeded or entry.resource == str(LEASES):
            return
        if _is_map(entry):
            counts.map_writes += 1
        elif agent is not None and is_own_event(entry, agent):
            counts.event_writes += 1
        elif agent is not None and not is_document(entry, agent):
            counts.fleet_writes += 1
            self._hear_author(entry, act)

    def _hear_author(self, entry: Entry, act: Act | None) -> None:
        if act is None:
            self._find("unattributed_writes", entry, f"{path_of(entry)} was written by {entry.user_agent!r}")
            return
        if act.late:
            return
        if not act.alive:
            self._find("overlap_violations", entry, f"{act.path} was written by {act.holder}, which is fenced")
        elif not act.holds:
            what = f"{act.path} was written by {act.holder}, which does not hold {act.agent.key}"
            self._find("overlap_violations", entry, what)
        else:
            return
        if act.owned.has_released(act.holder, *act.key):
            self._find("writes_after_release", entry, f"{act.path} was written by {act.holder} after its release")

    def _acquit(self, seq: int) -> None:
        """Takes back what was found at that entry; 0 for none."""
        if not seq:
            return
        counts = self._counts
        for each in [each for each in counts.findings if each.seq == seq]:
            counts.findings.remove(each)
            setattr(counts, each.rule, getattr(counts, each.rule) - 1)

    def _find(self, rule: str, entry: Entry, what: str) -> None:
        setattr(self._counts, rule, getattr(self._counts, rule) + 1)
        if len(self._counts.findings) < FINDINGS_LIMIT:
            self._counts.findings.append(Finding(rule, entry.seq, entry.time, what))


def _moment(line: Entry | Note) -> tuple[float, bool]:
    return line.time, isinstance(line, Note)


def _is_map(entry: Entry) -> bool:
    obj = entry.decoded() if entry.resource == str(CONFIG_MAPS) else None
    if obj is None:
        return False
    return (obj["metadata"].get("labels") or {}).get(KIND_LABEL) == Kind.MAP
