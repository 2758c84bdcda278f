"""The judge: reads a journal and says which promises were kept. It asks nobody but the record."""

from __future__ import annotations

from collections.abc import Iterable

from fleet.coordination import Holder
from fleet.devcluster.fleets import Fleets
from fleet.devcluster.journal import Entry
from fleet.devcluster.verdict import Finding, Verdict
from fleet.object_names import CONFIG_MAPS, KIND_LABEL, LEASES, Kind
from shards.useragent import UserAgent

FINDINGS_LIMIT = 1000
"""Findings that are kept; the counts go on."""

ChildName = tuple[str, str, str, str]
"""(owner UID, resource, namespace, name)."""


def judge(entries: Iterable[Entry]) -> Verdict:
    """The verdict over a journal in commit order.

    A *fleet write* is a write whose User-Agent begins with `fleet/`. Coordination objects are Leases and the map.
    Several fleets on one server are judged each by itself; the counts are sums over all of them.

    children: objects created by fleet writes with a controller owner reference that exist at the end.
    child_posts: such creates, and creates by the fleet that were answered AlreadyExists where such an object exists.
    duplicate_child_posts: per owner UID, resource, namespace and name: a successful create while an earlier one's
        object still exists, and a create answered 409 while that object exists under the owner that the User-Agent
        names (`u=`). A create after the object's deletion is none, nor is a 409 against somebody else's object.
    duplicate_status_writes: successful status writes by the fleet whose resulting status is byte for byte that of the
        status write before it on the same object (UID), where that one was the fleet's too.
    takeovers: claims of a shard Lease over a holder that had not released it; not a broken promise by itself.
    overlap_violations: (a) moments at which two live incarnations of one fleet begin to hold active ranges that
        overlap; live means that the member Lease is held at that epoch; ranges of different partition keys always
        overlap. (b) successful fleet writes to other than coordination objects whose author (`m=`, `e=`) is fenced, or
        does not hold the active shard Lease that covers the key (`k=`, `u=`) when the write commits.
    writes_after_release: those of (b) whose author had released that range itself.
    unattributed_writes: successful fleet writes to other than coordination objects without one of m, e, s, k and u.
    lease_writes_per_range: successful writes of its shard Lease. map_writes, member_lease_writes: likewise.
    timeline: every ownership per range, with claims and ends. gaps: times without a live owner.
    """
    seat = Judge()
    for entry in entries:
        seat.hear(entry)
    return seat.verdict()


class Judge:
    """The same, entry by entry: `hear` in commit order, `verdict` at any time."""

    def __init__(self) -> None:
        self._fleets = Fleets()
        self._counts = Verdict()
        self._children: dict[str, ChildName] = {}
        self._live: dict[ChildName, str] = {}
        self._statuses: dict[str, tuple[str, bool]] = {}

    def verdict(self) -> Verdict:
        found, fleets = self._counts, self._fleets
        found.children = len(self._children)
        found.takeovers = fleets.takeovers
        found.member_lease_writes = fleets.member_writes
        found.lease_writes_per_range = fleets.lease_writes
        found.timeline = fleets.timeline()
        found.gaps = list(fleets.gaps())
        return found

    def hear(self, entry: Entry) -> None:
        """Takes in the next entry."""
        self._counts.entries += 1
        if not entry.write:
            return
        agent = UserAgent.parse(entry.user_agent)
        if agent is not None:
            self._hear_create(entry, agent)
        if not entry.succeeded:
            return
        if entry.resource == str(LEASES):
            for what in self._fleets.follow(entry):
                self._find("overlap_violations", entry, what)
        elif _is_map(entry):
            self._counts.map_writes += 1
        elif agent is not None:
            self._counts.fleet_writes += 1
            self._hear_author(entry, agent)
        if entry.subresource == "status":
            self._hear_status(entry, by_fleet=agent is not None)
        if entry.removed:
            self._forget(entry)

    def _hear_create(self, entry: Entry, agent: UserAgent) -> None:
        if entry.verb != "create":
            return
        owner = entry.owner_uid if entry.succeeded else agent.uid
        child = (owner, entry.resource, entry.namespace, entry.name)
        if not owner:
            return
        if entry.succeeded:
            self._counts.child_posts += 1
            if child in self._live:
                self._find("duplicate_child_posts", entry, f"{_path(entry)} was created twice for owner {owner}")
                self._children.pop(self._live[child], None)
            self._live[child] = entry.uid
            self._children[entry.uid] = child
        elif entry.status == 409 and child in self._live:
            self._counts.child_posts += 1
            self._find("duplicate_child_posts", entry, f"{_path(entry)} was posted again for owner {owner}")

    def _hear_status(self, entry: Entry, *, by_fleet: bool) -> None:
        before = self._statuses.get(entry.uid)
        self._statuses[entry.uid] = entry.content, by_fleet
        if not by_fleet:
            return
        self._counts.status_writes += 1
        if before == (entry.content, True):
            self._find("duplicate_status_writes", entry, f"{_path(entry)} got the same status twice in a row")

    def _hear_author(self, entry: Entry, agent: UserAgent) -> None:
        if not (agent.member and agent.epoch.isdigit() and agent.range and agent.key and agent.uid):
            self._find("unattributed_writes", entry, f"{_path(entry)} was written by {entry.user_agent!r}")
            return
        holder = Holder(agent.member, int(agent.epoch))
        namespace, _, name = agent.key.rpartition("/")
        key = namespace, name, agent.uid
        owned = self._fleets.author_of(agent, holder, key)
        if not owned.alive(holder):
            self._find("overlap_violations", entry, f"{_path(entry)} was written by {holder}, which is fenced")
        elif not owned.holds(holder, *key):
            self._find(
                "overlap_violations", entry, f"{_path(entry)} was written by {holder}, which does not hold {agent.key}"
            )
        else:
            return
        if owned.has_released(holder, *key):
            self._find("writes_after_release", entry, f"{_path(entry)} was written by {holder} after its release")

    def _forget(self, entry: Entry) -> None:
        self._statuses.pop(entry.uid, None)
        child = self._children.pop(entry.uid, None)
        if child is not None and self._live.get(child) == entry.uid:
            del self._live[child]

    def _find(self, rule: str, entry: Entry, what: str) -> None:
        setattr(self._counts, rule, getattr(self._counts, rule) + 1)
        if len(self._counts.findings) < FINDINGS_LIMIT:
            self._counts.findings.append(Finding(rule, entry.seq, entry.time, what))


def _is_map(entry: Entry) -> bool:
    obj = entry.decoded() if entry.resource == str(CONFIG_MAPS) else None
    if obj is None:
        return False
    return (obj["metadata"].get("labels") or {}).get(KIND_LABEL) == Kind.MAP


def _path(entry: Entry) -> str:
    tail = f"/{entry.subresource}" if entry.subresource else ""
    return f"{entry.resource} {entry.namespace}/{entry.name}{tail}"
