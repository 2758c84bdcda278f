"""I1, I4, I5, I6 and I13: what one write of a reconcile may do."""

from __future__ import annotations

from collections import defaultdict, deque

from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.evidence.rangeindex import LeaseKey
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import FAULTS, PRECONDITIONS, READS, Act, Invariant, LeaseWrite, path_of
from fleet.devcluster.recording.journal import LOST, REFUSED, Entry
from fleet.records.record import Holder
from shards.api.useragent import UserAgent
from shards.versions import at_least

Group = tuple[str, str]
"""(member, resource of its primaries; "" where that is not known)."""


class OneOwner(Invariant):
    """A write is accepted only from the holder of the key's range; and once a later claim of it has acted, never again
    from an earlier one."""

    id = "I1"
    sentence = "At most one owner acts on a key at any instant."
    what = "accepted writes for keys whose owner is known"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._claims: dict[tuple[str, LeaseKey, Holder], int] = {}
        self._acted: dict[tuple[str, str], tuple[int, Holder]] = {}

    def hears_gap(self, entry: Entry) -> None:
        self._claims.clear()
        self._acted.clear()

    def hears_lease(self, write: LeaseWrite) -> None:
        shard = write.shard
        if write.claim and write.key is not None and shard is not None and shard.holder is not None:
            self._claims[write.owned.fleet, write.key, shard.holder] = write.entry.seq

    def hears_act(self, act: Act) -> None:
        if not act.entry.succeeded or not act.knows or act.late:
            return
        self.checks += 1
        if not act.alive:
            self.found(act.entry, f"{act.path} was written by {act.holder}, which is fenced")
        elif not act.holds:
            self.found(act.entry, f"{act.path} was written by {act.holder}, which does not hold {act.agent.key}")
        fleet = act.owned.fleet
        ranges = (where for where, _ in act.owned.covering(*act.key))
        claimed = max((self._claims.get((fleet, where, act.holder), 0) for where in ranges), default=0)
        latest, by = self._acted.get((fleet, act.agent.uid), (0, act.holder))
        if claimed < latest and by != act.holder:
            self.found(act.entry, f"{act.path} was written by {act.holder} after {by}, which claimed the key later")
        else:
            self._acted[fleet, act.agent.uid] = claimed, act.holder


class SameSnapshot(Invariant):
    """An update or patch names the resourceVersion that it replaces, and a delete the UID; that version is none that
    the view which the write names had not reached."""

    id = "I4"
    sentence = "Decision and precondition come from the same snapshot."
    what = "conditional writes"
    needs = (PRECONDITIONS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._viewed: set[str] = set()

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        if agent.uid in (entry.uid, entry.owner_uid):
            self._viewed.add(entry.resource)
        sent = entry.sent
        if entry.verb == "create" or sent is None:
            return
        self.checks += 1
        if entry.verb in ("update", "patch") and not sent.version:
            self.found(entry, f"{entry.verb} of {act.path} without a resourceVersion")
        elif entry.verb in ("delete", "deletecollection") and not sent.uid:
            self.found(entry, f"{entry.verb} of {act.path} without a UID")
        elif (
            sent.version and agent.cache and entry.resource in self._viewed and not at_least(agent.cache, sent.version)
        ):
            self.found(entry, f"{act.path} was decided at {agent.cache} and sent with {sent.version}")


class LiveRead(Invariant):
    """Before each delete by a reconcile, and each fence of a member: a live get of that object by the same incarnation,
    within the bound, that returned the UID (for a fence: the version) which the act then names."""

    id = "I5"
    sentence = "A destructive act follows a live read of its object by the same worker and epoch, with the same UID."
    what = "deletes and fences"
    needs = (READS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._reads: dict[tuple[str, str, str], Entry] = {}
        self._lost_at = float("-inf")
        self._began_at = float("inf")

    def hears_gap(self, entry: Entry) -> None:
        self._lost_at = entry.time

    def hears_write(self, entry: Entry, agent: UserAgent | None) -> None:
        self._began_at = min(self._began_at, entry.time)

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        cached = entry.sent is not None and entry.sent.resource_version is not None
        if entry.verb == "get" and entry.succeeded and not cached:
            self._reads[agent.member, agent.epoch, path_of(entry)] = entry

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        if entry.verb in ("delete", "deletecollection") and not entry.subresource:
            wanted = entry.sent.uid if entry.sent is not None and entry.sent.uid else entry.uid
            read = self._read(entry, agent)
            same = read is not None and (not wanted or read.uid == wanted)
            self._check(entry, read, f"{entry.verb} of {act.path}", same, act.owned, late=act.late)

    def hears_lease(self, write: LeaseWrite) -> None:
        new, old, agent = write.member, write.member_before, write.agent
        fenced = new is not None and new.holder is None and old is not None and old.holder is not None
        if not fenced or agent is None or new is None or old is None or agent.member == new.name:
            return
        read = self._read(write.entry, agent)
        same = read is not None and read.resource_version == old.version
        self._check(write.entry, read, f"fence of {new.name}@{old.epoch}", same, write.owned)

    def _read(self, entry: Entry, agent: UserAgent) -> Entry | None:
        return self._reads.get((agent.member, agent.epoch, path_of(entry)))

    def _check(
        self, entry: Entry, read: Entry | None, act: str, same: bool, owned: Ownership, *, late: bool = False
    ) -> None:
        bound = self.bounds.live_read_seconds
        fresh = read is not None and (late or entry.time - read.time <= bound)
        lost_at = self._lost_at if owned.whole else max(self._lost_at, self._began_at)
        if not (fresh and same) and entry.time - lost_at <= bound:
            return  # the read that counts may be among what the journal lost, or from before it began
        self.checks += 1
        if read is None:
            self.found(entry, f"{act} without a live read before it")
        elif not fresh:
            self.found(entry, f"{act} {entry.time - read.time:.1f} s after its live read")
        elif not same:
            self.found(entry, f"{act} of another incarnation or version than was read live")


class Breaker(Invariant):
    """Per member and kind of its primaries: no more deletes within the window than the limit, and none while the last
    live reads failed, whether the server failed them or a fault kept their answers away."""

    id = "I6"
    sentence = "When live reads fail, or destructive intents exceed their limit, there are no destructive writes."
    what = "deletes"
    also = (READS, FAULTS)

    _ON_THE_WIRE = 0.5
    """Seconds: a delete may have been sent before its sender knew of the failure."""
    _ANSWERS = 256
    """Reads whose answers may yet be lost."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._deletes: dict[Group, deque[float]] = defaultdict(deque)
        self._failed: dict[Group, deque[float]] = defaultdict(deque)
        """When reads failed since the last one that did not."""
        self._forgiven: dict[str, tuple[Entry, deque[float]]] = {}
        """The last read that succeeded, by User-Agent, with the failures that it ended: its answer may be lost."""
        self._kinds: dict[str, str] = {}
        """Of primaries, by UID: each kind has a controller, and with it a breaker, of its own."""

    def hears_gap(self, entry: Entry) -> None:
        self._failed.clear()
        self._forgiven.clear()

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        if entry.verb != "get" or not agent.uid:
            return
        if entry.uid == agent.uid:
            self._kinds[agent.uid] = entry.resource
        group = self._group(agent)
        if entry.succeeded or entry.status == 404:
            self._forgiven[entry.user_agent] = entry, self._failed.pop(group, deque())
            if len(self._forgiven) > self._ANSWERS:
                del self._forgiven[next(iter(self._forgiven))]
        elif _in_trouble(entry.status):
            self._failed[group].append(entry.time)

    def hears_fault(self, entry: Entry) -> None:
        agent = UserAgent.parse(entry.user_agent)
        if agent is None or not agent.uid or entry.sent is not None or agent.reason == "create":
            return  # only writes say what must be there, and only creates have nothing to say
        group = self._group(agent)
        if entry.verb == REFUSED and (not entry.status or _in_trouble(entry.status)):
            self._failed[group].append(entry.time)
        elif entry.verb == LOST:
            read, before = self._forgiven.pop(entry.user_agent, (None, deque[float]()))
            if read is not None and path_of(read) == path_of(entry):
                self._failed[group] = before
            self._failed[group].append(entry.time)

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        if entry.uid == agent.uid:
            self._kinds[agent.uid] = entry.resource
        if entry.verb not in ("delete", "deletecollection") or act.late:
            return
        self.checks += 1
        group = self._group(agent)
        known = sum(1 for at in self._failed[group] if entry.time - at >= self._ON_THE_WIRE)
        if known >= self.bounds.failed_reads:
            self.found(entry, f"delete of {act.path} after {known} failed live reads in a row")
        recent = self._deletes[group]
        recent.append(entry.time)
        while entry.time - recent[0] >= self.bounds.destructive_window_seconds:
            recent.popleft()
        if len(recent) > self.bounds.destructive_limit:
            seconds = self.bounds.destructive_window_seconds
            self.found(entry, f"delete of {act.path} is the {len(recent)}th of {agent.member} within {seconds:g} s")

    def _group(self, agent: UserAgent) -> Group:
        return agent.member, self._kinds.get(agent.uid, "")


def _in_trouble(status: int) -> bool:
    return status >= 500 or status in (401, 408, 429)


class RightIncarnation(Invariant):
    """The UID that a write names, and for the primary itself the UID of its key, is that of the object it changed."""

    id = "I13"
    sentence = "No write lands on another incarnation of its object than it was meant for."
    what = "writes with a UID"
    also = (PRECONDITIONS,)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._primaries: set[str] = set()

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        if not entry.succeeded or entry.verb == "create" or not entry.uid:
            return
        if entry.uid == agent.uid:
            self._primaries.add(entry.resource)
        sent = entry.sent.uid if entry.sent is not None else ""
        meant = agent.reason in ("status", "degraded") or entry.resource in self._primaries
        primary = meant and f"{entry.namespace}/{entry.name}".lstrip("/") == agent.key
        if not sent and not primary:
            return
        self.checks += 1
        if sent and sent != entry.uid:
            self.found(entry, f"{act.path} was meant for {sent} and changed {entry.uid}")
        elif primary and agent.uid != entry.uid:
            self.found(entry, f"{act.path} of {entry.uid} was written for {agent.uid}")
