"""I21: how often a fleet asks the server, and when it was told to wait."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.informers import INFORMER, Namesakes
from fleet.devcluster.invariants.invariant import FAULTS, READS, Act, Invariant, LeaseWrite, path_of
from fleet.devcluster.recording.journal import Entry
from shards.api.useragent import UserAgent

_EARLY = 0.98
"""Of the seconds that a server asks for: clocks are read on both sides of a connection."""

_ENOUGH = 50
"""Acts of one member, below which a share of conflicts says nothing."""

_WINDOW_SECONDS = 60.0
"""In which conflicts are counted."""


@dataclass(slots=True)
class _Window:
    """The acts of one member since a time."""

    since: float
    acts: int = 0
    conflicts: int = 0


class BoundedLoad(Invariant):
    """A request of a reconcile or an informer that was refused with a Retry-After is not repeated sooner by the same
    process; no member asks more often within any second than the bound; within each minute, conflicts are less than
    the bound's share of a member's acts."""

    id = "I21"
    sentence = "The load on the API server is bounded, and a server that asks for a pause gets it."
    what = "requests of members"
    also = (READS, FAULTS)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._not_before: dict[tuple[str, ...], float] = {}
        self._within: dict[str, deque[float]] = defaultdict(deque)
        self._loud: set[str] = set()
        self._namesakes = Namesakes()
        self._windows: dict[str, _Window] = {}
        self._collection: tuple[str, float] | None = None

    def hears_gap(self, entry: Entry) -> None:
        self._not_before.clear()

    def hears_lease(self, write: LeaseWrite) -> None:
        """Who begins anew does not know what was told before. Whether somebody does, nobody knows where the journal
        does not say who was there."""
        self._namesakes.hears(write)
        old, new = write.member_before, write.member
        name = old.name if old is not None else new.name if new is not None else ""
        if name and (old is None or new is None or new.epoch != old.epoch):
            for who in [who for who in self._not_before if who[0] == name]:
                del self._not_before[who]

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        self._asked(entry, agent)

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        if agent is not None and not agent.uid:
            self._asked(entry, agent)

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        if act.late:
            return
        if entry.verb == "deletecollection":
            # One request, and a line for each object.
            same, self._collection = self._collection, (entry.user_agent, entry.time)
            if same == self._collection:
                return
        self._asked(entry, agent)
        window = self._windows.setdefault(agent.member, _Window(entry.time))
        if entry.time - window.since >= _WINDOW_SECONDS:
            for what in self._fought(agent.member):
                self.found(entry, what)
            window = self._windows[agent.member] = _Window(entry.time)
        window.acts += 1
        window.conflicts += entry.status == 409 and entry.verb != "create"

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        if agent is not None and entry.shown is not None and entry.shown.retry_after_seconds:
            self._asked(entry, agent)

    def pending(self, end: float) -> list[str]:
        return [what for member in self._windows for what in self._fought(member)]

    def _fought(self, member: str) -> list[str]:
        seen = self._windows[member]
        if seen.acts < _ENOUGH or seen.conflicts <= seen.acts * self.bounds.conflict_share:
            return []
        return [f"{member}: {seen.conflicts} of {seen.acts} writes were answered with a conflict"]

    def _asked(self, entry: Entry, agent: UserAgent) -> None:
        self.checks += 1
        self._count(entry, agent.member)
        if not (agent.uid or agent.reason == INFORMER) or self._namesakes.has(agent.member):
            return
        # Of an act all requests of its key to that object count: they have one retry. Of an informer, its collection's.
        who = (agent.member, agent.range, agent.uid or agent.reason, path_of(entry))
        due = self._not_before.pop(who, None)
        if due is not None and entry.time < due:
            self.found(entry, f"{agent.member} asked for {path_of(entry)} {due - entry.time:.2f} s too early")
        if not entry.succeeded and entry.shown is not None and entry.shown.retry_after_seconds:
            self._not_before[who] = entry.time + entry.shown.retry_after_seconds * _EARLY

    def _count(self, entry: Entry, member: str) -> None:
        lately, bound = self._within[member], self.bounds.requests_per_second
        lately.append(entry.time)
        while entry.time - lately[0] >= 1.0:
            lately.popleft()
        if len(lately) <= bound:
            self._loud.discard(member)
        elif member not in self._loud:
            self._loud.add(member)
            self.found(entry, f"{member} sent more than {bound} requests within a second")
