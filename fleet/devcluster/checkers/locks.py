"""I2, I8, I22 and I27: what the records of ownership may do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Set
from dataclasses import dataclass, field

from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import Invariant, LeaseWrite, MapWrite
from fleet.devcluster.recording.journal import Entry
from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus
from shards.keyrange import SPACE, KeyRange


class GrowingEpochs(Invariant):
    """Judged on what fleets write: a hand that edits a Lease may lower its epoch, and then nothing of before binds."""

    id = "I2"
    sentence = "Epochs of shards, members and the map only grow, and each epoch has one holder."
    what = "writes of records"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._highest: dict[tuple[str, str], int] = {}
        self._holders: dict[tuple[str, str, int], str] = {}
        self._maps: dict[str, ShardMap] = {}

    def hears_gap(self, entry: Entry) -> None:
        self._highest.clear()
        self._holders.clear()
        self._maps.clear()

    def hears_lease(self, write: LeaseWrite) -> None:
        fleet = write.owned.fleet
        if write.entry.removed:
            self._removed(write)
        elif write.coordinator is not None:
            self._record(write, fleet, "coordinator", write.coordinator.epoch, write.coordinator.holder)
        elif write.shard is not None and write.key is not None:
            holder = str(write.shard.holder) if write.shard.holder is not None else ""
            self._record(write, fleet, f"shard {write.key[0]} {write.key[1]}", write.shard.epoch, holder)
        elif write.member is not None:
            holder = str(write.member.holder) if write.member.holder is not None else ""
            self._record(write, fleet, f"member {write.member.name}", write.member.epoch, holder)

    def _removed(self, write: LeaseWrite) -> None:
        """A Lease that a hand removes takes its epochs with it."""
        if write.agent is not None:
            return
        fleet, what = write.owned.fleet, ""
        if write.key is not None:
            what = f"shard {write.key[0]} {write.key[1]}"
        elif write.member_before is not None:
            what = f"member {write.member_before.name}"
        self._highest.pop((fleet, what), None)
        for known in [each for each in self._holders if each[:2] == (fleet, what)]:
            del self._holders[known]

    def hears_map(self, write: MapWrite) -> None:
        if write.map is not None:
            self._one_content(write, write.map)
            self._record(write, write.owned.fleet, "map", write.map.version, "")
            self._record(write, write.owned.fleet, "coordinator of the map", write.map.coordinator_epoch, "")

    def _one_content(self, write: MapWrite, found: ShardMap) -> None:
        """A version stands for one map."""
        known = self._maps.get(write.owned.fleet)
        if write.agent is not None and known is not None and known.version == found.version and known != found:
            self.found(write.entry, f"map version {found.version} was written again, with another content")
        self._maps[write.owned.fleet] = found

    def _record(self, write: LeaseWrite | MapWrite, fleet: str, what: str, epoch: int, holder: str) -> None:
        before, known = self._highest.get((fleet, what), 0), self._holders.get((fleet, what, epoch), "")
        if write.agent is None:
            # By hand: whatever it says is where the fleet has to go on from.
            self._highest[fleet, what] = epoch
            for known_epoch in [each for each in self._holders if each[:2] == (fleet, what) and each[2] >= epoch]:
                del self._holders[known_epoch]
            return
        self.checks += 1
        if epoch < before:
            self.found(write.entry, f"{what} fell from epoch {before} to {epoch}")
        if known and holder and holder != known:
            self.found(write.entry, f"{what} is held by {known} and by {holder} at epoch {epoch}")
        self._highest[fleet, what] = epoch
        if holder:
            self._holders[fleet, what, epoch] = holder


class WholeSpace(Invariant):
    """Every map that a fleet writes can be read and begins at hash 0, so that its ranges are the whole space; whatever
    is active and held lies inside it, or is on its list of ranges that are retiring; and who claims a range claims no
    key that lies in another held one. Whether every range has an owner is I7's."""

    id = "I8"
    sentence = "No key is lost: the ranges of the map are the whole hash space, each key in exactly one."
    what = "writes of the map and claims"

    def hears_lease(self, write: LeaseWrite) -> None:
        if write.agent is None or not write.claim or write.key is None:
            return
        self.checks += 1
        owned = write.owned
        for where in sorted(owned.overlapping(write.key) - {write.key}):
            other = owned.shards.get(where)
            held = other is not None and other.status is ShardStatus.ACTIVE and other.holder is not None
            if held and other is not None and other.holder is not None and owned.alive(other.holder):
                self.found(
                    write.entry, f"keys of {write.key[1]} are claimed and lie in {where[1]} of {other.holder} too"
                )

    def hears_map(self, write: MapWrite) -> None:
        if write.agent is None:
            return
        self.checks += 1
        found = write.map
        if found is None:
            self.found(write.entry, "the map was written so that it cannot be read, or removed")
            return
        ranges = found.ranges
        ends = [each.last + 1 for each in ranges]
        if not ranges or ranges[0].first != 0 or ends[-1] != SPACE or ends[:-1] != [each.first for each in ranges[1:]]:
            self.found(write.entry, f"map version {found.version} does not cover the hash space")
        known = set(ranges) | found.retiring
        for (key, covered), record in write.owned.shards.items():
            held = record.status is ShardStatus.ACTIVE and record.holder is not None
            if held and key is found.partition_key and covered not in known:
                self.found(write.entry, f"{covered} is held by {record.holder} and unknown to map {found.version}")


WRITE_SECONDS = 1.0
"""From the look at the members to the map that is made of it, at most."""

SHORTEST_DEADLINE_SECONDS = 1.0
"""No target is late for a range sooner (R13)."""


class Moves:
    """Of some maps in a row: how often ranges were taken from members that are there.

    What is given back to who holds it, or held it last, has not moved; and where its target has had time enough to take
    it (R13), what was counted when that became the target was no move either: the range never came to it. For the same
    reason one that is free, and that its target did not claim in time, does not move away from it.
    """

    def __init__(self) -> None:
        self._counts: Counter[KeyRange] = Counter()
        self._meant_since: dict[KeyRange, float] = {}
        self._began: float | None = None

    @property
    def total(self) -> int:
        return self._counts.total()

    def add(
        self, old: ShardMap, new: ShardMap, away_from: Container[str], records: Iterable[ShardRecord], at: float
    ) -> int:
        """The next map, of the same ranges, in seconds; how many it moves away from these members."""
        records = tuple(records)
        holders, free = last_holders(records), _free(records)
        moved = 0
        began = self._began = at if self._began is None else self._began
        for each, before, after in zip(old.ranges, old.targets, new.targets, strict=True):
            if before == after:
                continue
            late = at - self._meant_since.get(each, began) >= SHORTEST_DEADLINE_SECONDS
            self._meant_since[each] = at
            if holders.get(each) == after:
                self._counts[each] -= bool(self._counts[each]) and late
            elif before in away_from and not (late and each in free and holders.get(each) != before):
                self._counts[each] += 1
                moved += 1
        return moved


@dataclass(slots=True)
class _Round:
    """The maps of one fleet since its members changed last. targets: of the map before."""

    targets: frozenset[str]
    moves: Moves = field(default_factory=Moves)


def last_holders(records: Iterable[ShardRecord]) -> dict[KeyRange, str]:
    """By range: the member that holds it, or held it last."""
    found = ((each.range, each.holder or each.last_holder) for each in records)
    return {covered: holder.member for covered, holder in found if holder is not None}


def _free(records: Iterable[ShardRecord]) -> frozenset[KeyRange]:
    """Ranges that their targets could claim."""
    return frozenset(each.range for each in records if each.holder is None and each.status is ShardStatus.ACTIVE)


def fair_moves(before: frozenset[str], new: ShardMap, stay: Set[str], slack: int) -> int:
    """How many may move: the ideal share of the members that the maps name first, and a little. before: targets of the
    first map. stay: members that are there."""
    members = set(new.targets) - {""}
    joined = len(members - before)
    share = len(new.targets) / max(1, len(members | stay))
    # With more members than ranges a fair share is less than a range, and who is given one has taken a whole one.
    return max(joined, math.ceil(1.05 * share * max(1, joined))) + slack


class FewMoves(Invariant):
    """Counts ranges whose target was alive and not leaving, and is another now, over all maps since the members changed
    last: what one map may not move, several in a row may not either. Who joins anew has left before. Of who joined a
    moment ago the writer of a map may not have heard yet, and a range that is given back has not moved (`Moves`)."""

    id = "I22"
    sentence = "A rebalance moves no more than the fair share of those who joined."
    what = "writes of the map after the first"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._rounds: dict[str, _Round] = {}
        self._stay: dict[str, dict[str, int]] = {}
        """Epochs of the members that live, do not leave, and are not dead by the map (a hand may lower an epoch)."""
        self._joined: dict[tuple[str, str], float] = {}
        """By fleet and member: since when its incarnation is there."""

    def hears_gap(self, entry: Entry) -> None:
        self._rounds.clear()

    def hears_lease(self, write: LeaseWrite) -> None:
        old, new = write.member_before, write.member
        if new is not None and new.holder is not None and (old is None or old.epoch != new.epoch):
            self._joined[write.owned.fleet, new.name] = write.entry.time

    def hears_map(self, write: MapWrite) -> None:
        old, new, fleet = write.before, write.map, write.owned.fleet
        if old is None or new is None or old.boundaries != new.boundaries or write.agent is None:
            self._rounds.pop(fleet, None)
            return
        self.checks += 1
        there = {
            name: each.epoch
            for name, each in write.owned.members.items()
            if each.holder is not None and not each.leaving and each.epoch >= old.floors.get(name, 0)
        }
        if there != self._stay.get(fleet):
            self._rounds.pop(fleet, None)
            self._stay[fleet] = there
        stay = there.keys()
        so_far = self._rounds.setdefault(fleet, _Round(frozenset(old.targets)))
        heard = frozenset(
            name for name in stay if self._joined.get((fleet, name), -math.inf) <= write.entry.time - WRITE_SECONDS
        )
        moved = so_far.moves.add(old, new, heard, write.owned.shards.values(), write.entry.time)
        allowed = fair_moves(so_far.targets, new, stay, self.bounds.moves)
        if moved and so_far.moves.total > allowed:
            moves = f"{so_far.moves.total} ranges of living members"
            self.found(write.entry, f"map {new.version} moves {moves}; {allowed} would do")


class Mutex(Invariant):
    """Each shard's Lease as a lock. Its writes are compare-and-swap and so have one order; what has to be shown is that
    each claim finds the lock free (R3), and each release comes from who holds it. What the map calls lost, everybody
    has let go of (R14): whether they have is I1's."""

    id = "I27"
    sentence = "The history of each shard's lock is that of a mutex."
    what = "claims and releases"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._lost: dict[str, frozenset[KeyRange]] = {}

    def hears_map(self, write: MapWrite) -> None:
        if write.map is not None and write.agent is not None:
            self._lost[write.owned.fleet] = frozenset(write.map.lost)

    def hears_lease(self, write: LeaseWrite) -> None:
        new, old = write.shard, write.shard_before
        if new is None or old is None or write.agent is None:
            return
        if write.claim and new.holder is not None:
            self.checks += 1
            if not self._free(old, new.holder, write.owned):
                why = f"{old.holder or 'nobody, though it was not released'}"
                self.found(write.entry, f"{new.holder} claimed {new.range}, held by {why}")
            elif write.agent.member != new.holder.member:
                self.found(write.entry, f"{write.agent.member} claimed {new.range} for {new.holder}")
            elif new.status is not ShardStatus.ACTIVE:
                self.found(write.entry, f"{new.holder} claimed {new.range}, which is {new.status}")
        elif old.holder is not None and new.holder is None and old.status is ShardStatus.ACTIVE:
            # A retired one that names a holder is a hand's work, and locks nothing.
            self.checks += 1
            own = write.agent.member == old.holder.member
            lost = old.range in self._lost.get(write.owned.fleet, frozenset())
            if not own and not lost and write.owned.alive(old.holder):
                self.found(write.entry, f"{write.agent.member} emptied {new.range}, held by {old.holder}")

    @staticmethod
    def _free(old: ShardRecord, claimant: Holder, owned: Ownership) -> bool:
        if old.holder is None:
            return old.released == old.epoch
        return old.holder.member == claimant.member or not owned.alive(old.holder)
