"""Who owned which range of one fleet when, read off the Lease writes of a journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fleet.devcluster.evidence.endings import ending
from fleet.devcluster.evidence.rangeindex import LeaseKey, RangeIndex
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan
from fleet.devcluster.recording.journal import Entry
from fleet.records.coordination import ProtocolMismatch
from fleet.records.lease_records import member_record_from_lease, shard_record_from_lease
from fleet.records.record import Holder, MemberRecord, ShardRecord, ShardStatus


class Ownership:
    """The members and shards as of the last entry, and how they came to be so.

    A hand that takes a Lease from its holder does not make another owner: the holder cannot know yet. It counts as the
    holder on, until the fleet itself writes that Lease again.

    whole: the journal tells the fleet from its beginning, and lost nothing since: a Lease that it does not tell of is
    not there. Where it is not, what cannot be known counts for the author of a write.

    Invariants: `_open` holds the span of each range that has a holder; `_gaps` the time since which one has no live
    owner. A gap ends with the next claim by a live member. `_index` finds each key of `shards` and of `_vanished`.
    """

    def __init__(self, fleet: str = "") -> None:
        """fleet: what spans and gaps are marked with."""
        self.fleet = fleet
        self.members: dict[str, MemberRecord] = {}
        self.shards: dict[LeaseKey, ShardRecord] = {}
        self.spans: dict[str, list[OwnershipSpan]] = {}
        self.gaps: list[Gap] = []
        self.takeovers = 0
        self.member_writes = 0
        self.lease_writes: Counter[str] = Counter()
        self.released: dict[Holder, set[LeaseKey]] = {}
        self.whole = False
        self._vanished: set[LeaseKey] = set()
        """Ranges whose Lease was seen to be removed, and not to come back."""
        self._doubted: set[LeaseKey] = set()
        self._index = RangeIndex()
        self._taken_by_hand: dict[LeaseKey, Holder] = {}
        self._fenced_by_hand: dict[str, int] = {}  # epoch by member
        self._floors: dict[str, int] = {}  # by member: epochs below are dead, as a map of the fleet said (R6)
        self._known_members: set[str] = set()
        self._names: dict[tuple[str, str], LeaseKey | str] = {}
        self._open: dict[LeaseKey, OwnershipSpan] = {}
        self._gaps: dict[LeaseKey, tuple[str, float]] = {}
        self._overlapping: set[frozenset[tuple[LeaseKey, Holder]]] = set()

    def follow(self, entry: Entry, *, by_hand: bool = False) -> Iterator[str]:
        """Takes in a successful write of a Lease; yields each overlap that begins with it. by_hand: by no fleet."""
        changed: list[LeaseKey] = []
        if entry.removed:
            changed = self._removed(entry, by_hand=by_hand)
        else:
            obj = entry.decoded()
            if obj is None:
                return
            try:
                shard, member = shard_record_from_lease(obj), member_record_from_lease(obj)
            except ProtocolMismatch:
                return
            where = entry.namespace, entry.name
            if shard is not None:
                key = shard.partition_key, shard.range
                self._names[where] = key
                self._shard_written(entry, key, shard, by_hand=by_hand)
                changed = [key]
            elif member is not None:
                self._names[where] = member.name
                changed = self._member_written(entry, member, by_hand=by_hand)
        for key in changed:
            yield from self._new_overlaps(key)

    def lost(self) -> None:
        """The journal lost entries here: what the Leases say has to be seen anew. Spans go on."""
        self.whole = False
        for known in (self.members, self.shards, self.released, self._vanished, self._doubted, self._index):
            known.clear()
        for hand in (self._taken_by_hand, self._fenced_by_hand, self._floors, self._gaps, self._overlapping):
            hand.clear()

    def doubt(self, namespace: str, name: str) -> None:
        """A write of that Lease failed so that nobody knows whether it was carried out: it has to be seen anew."""
        known = self._names.get((namespace, name))
        if isinstance(known, str):
            self.members.pop(known, None)
        elif known is not None:
            self.shards.pop(known, None)
            self._doubted.add(known)
        else:
            self.whole = False

    def doubts(self, where: LeaseKey) -> bool:
        return where in self._doubted

    def raise_floors(self, floors: Mapping[str, int]) -> None:
        """As a map of the fleet says; they never fall."""
        self._floors.update({name: max(each, self._floors.get(name, 0)) for name, each in floors.items()})

    def alive(self, holder: Holder) -> bool:
        """Whether that incarnation holds its member Lease. Unknown members (a partial journal) count as alive."""
        if holder.epoch < self._floors.get(holder.member, 0):
            return False
        record = self.members.get(holder.member)
        if record is None or (record.epoch == holder.epoch and record.holder is not None):
            return True
        return self._fenced_by_hand.get(holder.member) == holder.epoch

    def named(self, namespace: str, name: str) -> LeaseKey | str | None:
        """The range, or the member, whose Lease has that name."""
        return self._names.get((namespace, name))

    def has_member(self, name: str) -> bool:
        """Whether one of that name was ever seen."""
        return name in self._known_members

    def has_had_range(self, covered: str) -> bool:
        """covered: str(KeyRange)."""
        return covered in self.lease_writes

    def holds(self, holder: Holder, namespace: str, name: str, uid: str) -> bool:
        """Whether that incarnation holds the active range into which the key falls; True where nobody can know."""
        if not self.knows(namespace, name, uid):
            return True
        for where in self.places(namespace, name, uid):
            record = self.shards.get(where)
            held = record is not None and record.holder == holder and record.status is ShardStatus.ACTIVE
            if held or self._taken_by_hand.get(where) == holder:
                return True
        return False

    def knows(self, namespace: str, name: str, uid: str) -> bool:
        """Whether the journal says who holds the key."""
        places = list(self.places(namespace, name, uid))
        if self.whole:
            return self._doubted.isdisjoint(places)
        for where in places:
            record = self.shards.get(where)
            if where in self._vanished or (record is not None and record.status is ShardStatus.ACTIVE):
                return True
        return False

    def places(self, namespace: str, name: str, uid: str) -> Iterator[LeaseKey]:
        """The ranges into which the key falls, whatever became of their Leases."""
        return self._index.places(namespace, name, uid)

    def overlapping(self, where: LeaseKey) -> set[LeaseKey]:
        """The ranges, this one too, that may have keys in common with it."""
        return self._index.overlapping(where) | {where}

    def covering(self, namespace: str, name: str, uid: str) -> Iterator[tuple[LeaseKey, ShardRecord]]:
        """The shard records into whose ranges the key falls, under whatever partition key."""
        for where in self.places(namespace, name, uid):
            if where in self.shards:
                yield where, self.shards[where]

    def has_released(self, holder: Holder, namespace: str, name: str, uid: str) -> bool:
        """Whether that incarnation released a range into which the key falls, and did not claim it again."""
        released = self.released.get(holder, set())
        return bool(released) and any(where in released for where in self.places(namespace, name, uid))

    def all_gaps(self) -> list[Gap]:
        """Closed ones, then those that last."""
        return self.gaps + [Gap(str(key[1]), why, at, None, self.fleet) for key, (why, at) in self._gaps.items()]

    def _shard_written(self, entry: Entry, key: LeaseKey, new: ShardRecord, *, by_hand: bool) -> None:
        self._index.add(key)
        old = self.shards.get(key)
        self.shards[key] = new
        self._vanished.discard(key)
        self._doubted.discard(key)
        self.lease_writes[str(key[1])] += 1
        before = old.holder if old else None
        if not by_hand:
            self._taken_by_hand.pop(key, None)
        elif before is not None and (new.holder != before or new.status is not ShardStatus.ACTIVE):
            self._taken_by_hand[key] = before
        if old is None and self._goes_on(entry, key, new):
            return
        if new.holder != before or (old and new.holder and new.epoch != old.epoch):
            if before is not None:
                self._end(entry, key, ending(new, before))
                if new.holder is not None:
                    self.takeovers += 1
            if new.holder is not None:
                self._claimed(entry, key, new, before)
        if new.holder is None and before is not None and new.released == new.epoch and new.last_holder == before:
            self.released.setdefault(before, set()).add(key)
        if new.holder is None and new.status is ShardStatus.ACTIVE and key not in self._gaps:
            self._gaps[key] = ("release" if before else "activation", entry.time)
        if new.status is ShardStatus.RETIRED:
            self._gaps.pop(key, None)

    def _goes_on(self, entry: Entry, key: LeaseKey, new: ShardRecord) -> bool:
        """Whether a span that began before the journal lost entries lasts; one that does not ends here."""
        span = self._open.get(key)
        if span is None:
            return False
        if (span.holder, span.epoch) == (str(new.holder), new.epoch):
            return True
        self._end(entry, key, "lost")
        return False

    def _claimed(self, entry: Entry, key: LeaseKey, new: ShardRecord, before: Holder | None) -> None:
        holder = new.holder
        if holder is None:
            raise ValueError("a claim names its holder")
        span = OwnershipSpan(
            str(key[1]),
            str(holder),
            new.epoch,
            entry.seq,
            entry.time,
            over=str(before) if before else "",
            fleet=self.fleet,
        )
        self._open[key] = span
        self.spans.setdefault(span.range, []).append(span)
        self.released.get(holder, set()).discard(key)
        if self.alive(holder) and key in self._gaps:
            cause, began = self._gaps.pop(key)
            self.gaps.append(Gap(span.range, cause, began, entry.time, self.fleet))

    def _member_written(self, entry: Entry, new: MemberRecord, *, by_hand: bool) -> list[LeaseKey]:
        """The ranges whose holder lives, or does not live, from here on."""
        old = self.members.get(new.name)
        self.members[new.name] = new
        self._known_members.add(new.name)
        self.member_writes += 1
        if not by_hand:
            self._fenced_by_hand.pop(new.name, None)
        elif old is not None and old.holder is not None and (new.holder is None or new.epoch != old.epoch):
            self._fenced_by_hand[new.name] = old.epoch
        if old is not None and (old.epoch, old.holder is None) == (new.epoch, new.holder is None):
            return []
        changed = []
        for key, record in self.shards.items():
            holder = record.holder
            if holder is not None and holder.member == new.name:
                changed.append(key)
                if not self.alive(holder):
                    self._gaps.setdefault(key, ("death", entry.time))
        return changed

    def _removed(self, entry: Entry, *, by_hand: bool) -> list[LeaseKey]:
        known = self._names.pop((entry.namespace, entry.name), None)
        if isinstance(known, str):
            self.members.pop(known, None)
            return [key for key, record in self.shards.items() if record.holder and record.holder.member == known]
        if known is None:
            return []
        record = self.shards.pop(known, None)
        if record is None:
            return []
        self._vanished.add(known)
        if record.holder is not None:
            if by_hand:
                self._taken_by_hand[known] = record.holder
            self._end(entry, known, "deletion")
            self._gaps.setdefault(known, ("deletion", entry.time))
        else:
            self._gaps.pop(known, None)
        return [known]

    def _end(self, entry: Entry, key: LeaseKey, how: str) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span.ended_seq, span.ended_at, span.ended_by = entry.seq, entry.time, how

    def _new_overlaps(self, key: LeaseKey) -> Iterator[str]:
        """Those of that range."""
        now = set(self._overlaps_of(key))
        for pair in now - self._overlapping:
            shown = sorted(f"{holder} holds {covered} by {key}" for (key, covered), holder in pair)
            yield " while ".join(shown)
        over = {pair for pair in self._overlapping - now if any(where == key for where, _ in pair)}
        self._overlapping = (self._overlapping - over) | now

    def _overlaps_of(self, key: LeaseKey) -> Iterator[frozenset[tuple[LeaseKey, Holder]]]:
        mine = self._held_by(key)
        if mine is None:
            return
        for where in self._index.overlapping(key):
            other = self._held_by(where)
            if other is not None and other != mine:
                yield frozenset(((key, mine), (where, other)))

    def _held_by(self, key: LeaseKey) -> Holder | None:
        """The living holder of an active range."""
        record = self.shards.get(key)
        if record is None or record.holder is None or record.status is not ShardStatus.ACTIVE:
            return None
        return record.holder if self.alive(record.holder) else None
