"""I11 and I12: what a fleet brings about, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import FAULTS, REFERENCE, Act, Invariant, path_of
from fleet.devcluster.recording.journal import LOST, Entry
from shards.api.useragent import UserAgent

ChildName = tuple[str, str, str, str]
"""(owner UID, resource, namespace, name)."""


Summary = Mapping[tuple[str, str, str], int]
"""How often each (verb, resource, namespace/name) was created and deleted."""


class OnceOnly(Invariant):
    """No child is posted while it exists, and no status written that is there already; see `judge.judge`.

    children: UIDs of the children that exist. told: hears each finding under the name of the verdict's count.
    """

    id = "I11"
    sentence = "No side effect happens twice: no child is posted again while it lives, no status written twice."
    what = "posts of children and writes of status after another one"
    also = (FAULTS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.children: dict[str, ChildName] = {}
        self.child_posts = 0
        self.status_writes = 0
        self.told: Callable[[str, Entry, str], None] = lambda rule, entry, what: None
        self._live: dict[ChildName, str] = {}
        self._statuses: dict[str, tuple[str, bool]] = {}
        self._on_the_wire: set[ChildName] = set()
        """Posts that a fault carries out after their sender gave up: one of all that are made comes late."""

    def hears_gap(self, entry: Entry) -> None:
        self._live.clear()
        self._statuses.clear()

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        if entry.verb == LOST and "late_landing" in entry.note and agent is not None and agent.reason == "create":
            self._on_the_wire.add((agent.uid, entry.resource, entry.namespace, entry.name))

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
            # The server has one object of a name: the one before is gone, whether the journal says so or not.
            self.children.pop(self._live.get(child, ""), None)
            self._live[child] = entry.uid
            self.children[entry.uid] = child
        elif entry.status == 409 and child in self._live and child not in self._on_the_wire:
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
        self.checks += before is not None
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
        self._lost = False

    def blindness(self) -> str:
        return "the journal lost entries: creations and removals cannot be counted" if self._lost else ""

    def hears_gap(self, entry: Entry) -> None:
        self._lost = True

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
