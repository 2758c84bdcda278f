"""Carries the lines of journals to the invariants that they concern."""

from __future__ import annotations

from collections import Counter, deque
from typing import TypeVar

import msgspec

from fleet.devcluster.checkers.effects import OnceOnly, SameAsReference, Summary
from fleet.devcluster.checkers.registry import INVARIANTS
from fleet.devcluster.evidence.fleets import Fleets
from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.evidence.rangeindex import LeaseKey
from fleet.devcluster.evidence.verdict import Judgement
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import (
    DELIVERIES,
    LATELY,
    NOTES,
    PRECONDITIONS,
    READS,
    REFERENCE,
    Act,
    Invariant,
    LeaseWrite,
    MapWrite,
    path_of,
)
from fleet.devcluster.invariants.invariant import FAULTS as SOME_FAULTS
from fleet.devcluster.recording.journal import EVENT, FAULTS, GAP, LATE, LOST, RESTORED, Entry
from fleet.devcluster.recording.journal import READS as READ_VERBS
from fleet.records.coordination import ProtocolMismatch
from fleet.records.lease_records import (
    Lease,
    coordinator_record,
    lease_of,
    map_from_configmap,
    member_record_from_lease,
    shard_record_from_lease,
)
from fleet.records.object_names import CONFIG_MAPS, FLEET_LABEL, KIND_LABEL, LEASES, Kind
from fleet.records.record import CoordinatorRecord, Holder, MemberRecord, ShardMap, ShardRecord
from shards.api.useragent import UserAgent
from shards.journal import Note
from shards.objects import Object

T = TypeVar("T", bound=Invariant)

_LATE = "late_landing"
"""The fault that carries a request out after its sender gave up."""

_HEARINGS = (
    "hears_act", "hears_change", "hears_fault", "hears_gap", "hears_given", "hears_lease", "hears_map", "hears_note",
    "hears_read", "hears_restored", "hears_write",
)  # fmt: skip


class Court:
    """The invariants over one journal and the workers' journals beside it.

    Calls come in the order of the journal: `hear` for each entry, `note` for each line of a worker. fleets: kept up to
    date by the court; reads of it give the state after the entry that was heard last.
    """

    def __init__(
        self, bounds: Bounds | None = None, reference: Summary | None = None, *, with_notes: bool = True
    ) -> None:
        """with_notes: see `Judge`."""
        self.fleets = Fleets()
        self.invariants = [each(bounds or Bounds()) for each in INVARIANTS]
        self.evidence: set[str] = set()
        self.end = 0.0
        self.overlaps: list[str] = []
        """Overlaps of ownership that began with the entry that was heard last."""
        self._maps: dict[str, ShardMap | None] = {}
        self._kinds: dict[tuple[str, str], tuple[str, Kind]] = {}
        """(fleet, kind) of each coordination object by (namespace, name): what was removed is known by its name."""
        self._on_the_wire: Counter[tuple[str, str]] = Counter()
        """Writes that a fault carries out later, by (User-Agent, path): each that looks like one may be it."""
        present = [each for each in self.invariants if with_notes or NOTES not in each.needs]
        self._acts: deque[tuple[int, tuple[str, str]]] = deque(maxlen=LATELY)
        """The last ones: number, User-Agent and path."""
        self.acquitted = 0
        """The number of the act of which everything that was found is to be taken back now."""
        self._listeners = {
            name: [getattr(each, name) for each in present if name in vars(type(each))] for name in _HEARINGS
        }
        if reference is not None:
            self.evidence.add(REFERENCE)
            self.find(SameAsReference).reference = reference

    @property
    def once_only(self) -> OnceOnly:
        return self.find(OnceOnly)

    def find(self, wanted: type[T]) -> T:
        """The checker of that class."""
        return next(each for each in self.invariants if isinstance(each, wanted))

    def judgements(self) -> list[Judgement]:
        evidence = frozenset(self.evidence)
        return [each.judgement(evidence, self.end) for each in self.invariants]

    def note(self, note: Note) -> None:
        """Takes in the next line of a worker's journal."""
        self.evidence.add(NOTES)
        self.end = max(self.end, note.time)
        self._tell("hears_note", note)

    def gap(self, entry: Entry) -> None:
        """The journal lost what came right before this entry."""
        if self._acts:
            # What comes right behind an act may say that it was held on the wire.
            self._acquit(self._acts[-1][1])
        self.fleets.lost()
        self._maps.clear()
        self._tell("hears_gap", entry)

    def restored(self, entry: Entry) -> None:
        """The server went back to an older state."""
        self.gap(entry)
        self._tell("hears_restored", entry)

    def hear(self, entry: Entry, agent: UserAgent | None) -> Act | None:
        """Takes in the next entry; the act that it is, if it is one. agent: of the entry, where a fleet sent it."""
        self.end = max(self.end, entry.time)
        self.overlaps = []
        self.acquitted = 0
        if entry.verb in READ_VERBS:
            self.evidence.add(READS)
            if agent is not None:
                self._tell("hears_read", entry, agent)
            return None
        if entry.verb in FAULTS:
            self.evidence.add(SOME_FAULTS)
            self._hold(entry)
            self._tell("hears_fault", entry)
            return None
        if entry.verb in (GAP, RESTORED):
            return None
        if entry.verb == EVENT:
            self.evidence.add(DELIVERIES)
            if agent is not None:
                self._tell("hears_given", entry, agent)
            return None
        return self._write(entry, agent)

    def _write(self, entry: Entry, agent: UserAgent | None) -> Act | None:
        if entry.sent is not None and agent is not None:
            self.evidence.add(PRECONDITIONS)
        self._tell("hears_write", entry, agent)
        if entry.resource == str(LEASES):
            if entry.succeeded:
                self._lease(entry, agent)
            elif entry.status >= 500:
                self.fleets.doubt(entry.namespace, entry.name)
            return None
        if entry.resource == str(CONFIG_MAPS) and self._map(entry, agent):
            return None
        if agent is None:
            if entry.succeeded:
                self._tell("hears_change", entry)
            return None
        act = self._act(entry, agent)
        self._acts.append((entry.seq, (entry.user_agent, path_of(entry))))
        if act is not None:
            self._tell("hears_act", act)
        return act

    def _act(self, entry: Entry, agent: UserAgent) -> Act | None:
        """None for a write that does not say who made it for what."""
        if not (agent.member and agent.epoch.isdigit() and agent.range and agent.key and agent.uid):
            return None
        holder = Holder(agent.member, int(agent.epoch))
        namespace, _, name = agent.key.rpartition("/")
        key = namespace, name, agent.uid
        owned = self.fleets.author_of(agent, holder, key)
        knows, late = owned.knows(*key), not self._on_the_wire.keys().isdisjoint(_sent_as(entry))
        return Act(entry, agent, holder, key, owned, owned.alive(holder), owned.holds(holder, *key), knows, late)

    def _hold(self, entry: Entry) -> None:
        """A fault holds a request on the wire, or has carried it out now: its own line comes before that."""
        sent = entry.user_agent, path_of(entry)
        if entry.verb == LOST and _LATE in entry.note:
            self._on_the_wire[sent] += 1
        elif entry.verb == LATE and sent not in self._on_the_wire:
            # That it was held is in what the journal lost.
            self._acquit(sent)
        elif entry.verb == LATE:
            self._on_the_wire[sent] -= 1
            if not self._on_the_wire[sent]:
                del self._on_the_wire[sent]

    def _acquit(self, sent: tuple[str, str]) -> None:
        seq = next((seq for seq, each in reversed(self._acts) if each == sent), 0)
        self.acquitted = seq
        for each in self.invariants:
            each.acquit(seq)

    # -- records of coordination -------------------------------------------------------------------------------------

    def _lease(self, entry: Entry, agent: UserAgent | None) -> None:
        owned = self._fleet_of(entry, entry.decoded())
        before = None if owned is None else self._records(entry, owned)
        self.overlaps = list(self.fleets.follow(entry, by_hand=agent is None))
        if owned is None:
            owned = self._fleet_of(entry, entry.decoded())
        if owned is None:
            return
        key, shard_before, member_before = before or (None, None, None)
        shard, member, coordinator = _decoded(entry)
        if shard is not None:
            key = shard.partition_key, shard.range
        write = LeaseWrite(entry, agent, owned, key, shard, shard_before, member, member_before, coordinator)
        self._tell("hears_lease", write)

    def _records(
        self, entry: Entry, owned: Ownership
    ) -> tuple[LeaseKey | None, ShardRecord | None, MemberRecord | None]:
        """What the fleet's ownership knows of that Lease so far."""
        known = owned.named(entry.namespace, entry.name)
        if isinstance(known, str):
            return None, None, owned.members.get(known)
        return known, owned.shards.get(known) if known is not None else None, None

    def _map(self, entry: Entry, agent: UserAgent | None) -> bool:
        """Whether the entry concerns a map."""
        obj = entry.decoded()
        metadata = (obj or {}).get("metadata", {})
        labels = metadata.get("labels") or {}
        where = entry.namespace, entry.name
        if labels.get(KIND_LABEL) == Kind.MAP:
            self._kinds[where] = labels.get(FLEET_LABEL, ""), Kind.MAP
        elif not (entry.removed and where in self._kinds):
            return False
        if not entry.succeeded:
            return True
        fleet = f"{entry.namespace}/{self._kinds[where][0]}"
        found = None
        if obj is not None and not entry.removed:
            try:
                stored = map_from_configmap(obj)
                found = stored.map if stored is not None else None
            except ProtocolMismatch:
                found = None
        if entry.verb == "create" and agent is not None:
            self.fleets.named(fleet).whole = True
        if found is not None and agent is not None:
            self.fleets.named(fleet).raise_floors(found.floors)
        write = MapWrite(entry, agent, self.fleets.named(fleet), found, self._maps.get(fleet))
        self._maps[fleet] = found
        self._tell("hears_map", write)
        return True

    def _fleet_of(self, entry: Entry, obj: Object | None) -> Ownership | None:
        label = ((obj or {}).get("metadata", {}).get("labels") or {}).get(FLEET_LABEL, "")
        if label:
            return self.fleets.named(f"{entry.namespace}/{label}")
        return self.fleets.owner_of(entry.namespace, entry.name)

    def _tell(self, hearing: str, *what: object) -> None:
        for listener in self._listeners[hearing]:
            listener(*what)


def _sent_as(entry: Entry) -> set[tuple[str, str]]:
    """How the line of a fault that held it may call it: of a create, the server may have made up the name."""
    ways = {(entry.user_agent, path_of(entry))}
    if entry.verb == "create":
        ways.add((entry.user_agent, f"{entry.resource} {entry.namespace}/"))
    return ways


def _decoded(entry: Entry) -> tuple[ShardRecord | None, MemberRecord | None, CoordinatorRecord | None]:
    obj = None if entry.removed else entry.decoded()
    if obj is None:
        return None, None, None
    try:
        shard, member = shard_record_from_lease(obj), member_record_from_lease(obj)
        lease: Lease | None = lease_of(obj)
        if lease is not None and lease.label(KIND_LABEL) == Kind.COORDINATOR:
            return shard, member, coordinator_record(lease, lease.label(FLEET_LABEL))
    except (ProtocolMismatch, msgspec.MsgspecError):
        return None, None, None
    return shard, member, None
