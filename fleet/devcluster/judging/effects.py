"""I9, I10, I11 and I12: what a fleet brings about, how soon, how often, and that it then rests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from fleet.devcluster.journal import Entry
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.judging.invariant import FAULTS, NOTES, REFERENCE, Act, Invariant, LeaseWrite, path_of
from shards.journal import Note
from shards.objects import at_least
from shards.useragent import UserAgent

ChildName = tuple[str, str, str, str]
"""(owner UID, resource, namespace, name)."""

Summary = Mapping[tuple[str, str, str], int]
"""How often each (verb, resource, namespace/name) was created and deleted."""


class WokenUp(Invariant):
    """Each change of a primary by somebody else is followed, within the bound after it (and after the last claim or
    fault), by the start of a reconcile of that key whose view has the change."""

    id = "I9"
    sentence = "No change is lost: a reconcile that has seen it starts in time."
    what = "changes that a reconcile has seen"
    needs = (NOTES,)
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._waiting: dict[tuple[str, str], tuple[float, str]] = {}
        self._primaries: set[str] = set()
        self._disturbed_at = float("-inf")

    def hears_change(self, entry: Entry) -> None:
        place = entry.resource, entry.uid
        if entry.removed:
            self._waiting.pop(place, None)
        elif entry.resource_version:
            # Later changes wait no shorter: the first one that nobody has seen counts.
            since = self._waiting[place][0] if place in self._waiting else entry.time
            self._waiting[place] = since, entry.resource_version

    def hears_lease(self, write: LeaseWrite) -> None:
        if write.claim:
            self._disturbed_at = write.entry.time

    def hears_fault(self, entry: Entry) -> None:
        self._disturbed_at = entry.time

    def hears_note(self, note: Note) -> None:
        if note.what != "started":
            return
        self._primaries.add(note.resource)
        place = note.resource, note.uid
        waiting = self._waiting.get(place)
        view = (note.views or {}).get(note.resource, "")
        if waiting is None or not at_least(view, waiting[1]):
            return
        del self._waiting[place]
        self.checks += 1
        late = self._late(waiting[0], note.time)
        if late:
            self.found(note.time, f"{note.key} was reconciled {late:.1f} s after a change of it")

    def pending(self, end: float) -> list[str]:
        return [
            f"{resource} {uid} at {version}: nobody has reconciled it since it changed, {late:.1f} s before the end"
            for (resource, uid), (since, version) in self._waiting.items()
            if resource in self._primaries and (late := self._late(since, end))
        ]

    def _late(self, since: float, now: float) -> float:
        waited = now - max(since, self._disturbed_at)
        return waited if waited > self.bounds.wake_seconds else 0.0


class AtRest(Invariant):
    """Once nobody else has written, no range changed hands and no fault struck for as long as convergence may take,
    the fleet writes nothing."""

    id = "I10"
    sentence = "When nothing changes any more, the fleet converges in time and then writes nothing."
    what = "quiet stretches"
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._since: float | None = None

    def hears_change(self, entry: Entry) -> None:
        self._disturb(entry.time)

    def hears_fault(self, entry: Entry) -> None:
        self._disturb(entry.time)

    def hears_lease(self, write: LeaseWrite) -> None:
        if write.claim:
            self._disturb(write.entry.time)

    def hears_act(self, act: Act) -> None:
        entry = act.entry
        if self._since is None or not entry.succeeded:
            return
        quiet = entry.time - self._since
        if quiet > self.bounds.converge_seconds:
            self.found(entry, f"{act.path} was written {quiet:.1f} s after the last change")

    def checks_by(self, end: float) -> int:
        return self.checks + self._stretch(end)

    def _disturb(self, now: float) -> None:
        self.checks += self._stretch(now)
        self._since = now

    def _stretch(self, now: float) -> int:
        needed = self.bounds.converge_seconds + self.bounds.quiet_seconds
        return int(self._since is not None and now - self._since >= needed)


class OnceOnly(Invariant):
    """No child is posted while it exists, and no status written that is there already; see `judge.judge`.

    children: UIDs of the children that exist. told: hears each finding under the name of the verdict's count.
    """

    id = "I11"
    sentence = "No side effect happens twice: no child is posted again while it lives, no status written twice."
    what = "posts of children and writes of status"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.children: dict[str, ChildName] = {}
        self.child_posts = 0
        self.status_writes = 0
        self.told: Callable[[str, Entry, str], None] = lambda rule, entry, what: None
        self._live: dict[ChildName, str] = {}
        self._statuses: dict[str, tuple[str, bool]] = {}

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        if agent is not None and entry.verb == "create":
            self._create(entry, agent)
        if not entry.succeeded:
            return
        if entry.subresource == "status":
            self._status(entry, by_fleet=agent is not None)
        if entry.removed:
            self._forget(entry)

    def _create(self, entry: Entry, agent: UserAgent) -> None:
        owner = entry.owner_uid if entry.succeeded else agent.uid
        child = (owner, entry.resource, entry.namespace, entry.name)
        if not owner:
            return
        if entry.succeeded:
            self._post()
            if child in self._live:
                self._twice("duplicate_child_posts", entry, f"{path_of(entry)} was created twice for owner {owner}")
                self.children.pop(self._live[child], None)
            self._live[child] = entry.uid
            self.children[entry.uid] = child
        elif entry.status == 409 and child in self._live:
            self._post()
            self._twice("duplicate_child_posts", entry, f"{path_of(entry)} was posted again for owner {owner}")

    def _post(self) -> None:
        self.checks += 1
        self.child_posts += 1

    def _status(self, entry: Entry, *, by_fleet: bool) -> None:
        before = self._statuses.get(entry.uid)
        self._statuses[entry.uid] = entry.content, by_fleet
        if not by_fleet:
            return
        self.checks += 1
        self.status_writes += 1
        if before == (entry.content, True):
            self._twice("duplicate_status_writes", entry, f"{path_of(entry)} got the same status twice in a row")

    def _forget(self, entry: Entry) -> None:
        self._statuses.pop(entry.uid, None)
        child = self.children.pop(entry.uid, None)
        if child is not None and self._live.get(child) == entry.uid:
            del self._live[child]

    def _twice(self, rule: str, entry: Entry, what: str) -> None:
        self.found(entry, what)
        self.told(rule, entry, what)


class SameAsReference(Invariant):
    """How often each object was created and removed, against a run without faults of the same controller and input
    (Sieve's differential oracle).

    reference: of that run, from the `counts` of its checker; None where there is none.
    """

    id = "I12"
    sentence = "Creations and removals per object are those of a reference run."
    what = "objects"
    needs = (REFERENCE,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.reference: Summary | None = None
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def hears_act(self, act: Act) -> None:
        if act.entry.succeeded and (act.entry.verb == "create" or act.entry.removed):
            self._count(act.entry)

    def hears_change(self, entry: Entry) -> None:
        if entry.removed:
            self._count(entry)

    def checks_by(self, end: float) -> int:
        return len(self.counts.keys() | (self.reference or {}).keys())

    def pending(self, end: float) -> list[str]:
        wanted = self.reference or {}
        return [
            f"{' of '.join(each[:2])} {each[2]}: {self.counts[each]} times; {wanted.get(each, 0)} in the reference run"
            for each in sorted(self.counts.keys() | wanted.keys())
            if self.counts[each] != wanted.get(each, 0)
        ]

    def _count(self, entry: Entry) -> None:
        verb = "removal" if entry.removed else entry.verb
        self.counts[verb, entry.resource, f"{entry.namespace}/{entry.name}"] += 1
