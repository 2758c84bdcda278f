"""I2, I7, I8, I22, I24 and I27: what the records of ownership may do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fleet.coordination import Holder, ShardMap, ShardRecord, ShardStatus
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.judging.invariant import Invariant, LeaseWrite, MapWrite
from fleet.devcluster.judging.signs import Signs
from fleet.devcluster.ownership import LeaseKey, Ownership
from shards.keyrange import SPACE


class GrowingEpochs(Invariant):
    """Judged on what fleets write: a hand that edits a Lease may lower its epoch, and then nothing of before binds."""

    id = "I2"
    sentence = "Epochs of shards, members and the map only grow, and each epoch has one holder."
    what = "writes of records"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._highest: dict[tuple[str, str], int] = {}
        self._holders: dict[tuple[str, str, int], str] = {}

    def hears_lease(self, write: LeaseWrite) -> None:
        fleet = write.owned.fleet
        if write.shard is not None and write.key is not None:
            holder = str(write.shard.holder) if write.shard.holder is not None else ""
            self._record(write, fleet, f"shard {write.key[0]} {write.key[1]}", write.shard.epoch, holder)
        elif write.member is not None:
            holder = str(write.member.holder) if write.member.holder is not None else ""
            self._record(write, fleet, f"member {write.member.name}", write.member.epoch, holder)

    def hears_map(self, write: MapWrite) -> None:
        if write.map is not None:
            self._record(write, write.owned.fleet, "map", write.map.version, "")
            self._record(write, write.owned.fleet, "coordinator of the map", write.map.coordinator_epoch, "")

    def _record(self, write: LeaseWrite | MapWrite, fleet: str, what: str, epoch: int, holder: str) -> None:
        before, known = self._highest.get((fleet, what), 0), self._holders.get((fleet, what, epoch), "")
        if write.agent is None:
            # By hand: whatever it says is where the fleet has to go on from.
            self._highest[fleet, what] = epoch
            self._holders.pop((fleet, what, epoch), None)
            return
        self.checks += 1
        if epoch < before:
            self.found(write.entry, f"{what} fell from epoch {before} to {epoch}")
        if known and holder and holder != known:
            self.found(write.entry, f"{what} is held by {known} and by {holder} at epoch {epoch}")
        self._highest[fleet, what] = epoch
        if holder:
            self._holders[fleet, what, epoch] = holder


class SoonOwned(Invariant):
    """A range whose holder gives no more signs of life, is dead or has released it, is claimed within the bound, of
    which only time counts in which some member and a coordinator were alive: one failure, not two."""

    id = "I7"
    sentence = "Every key is owned again within the bound after any single failure."
    what = "ranges that lost their owner and were claimed again"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._signs: dict[str, Signs] = {}
        self._lost: dict[tuple[str, LeaseKey], float] = {}
        self._told: set[tuple[str, LeaseKey]] = set()
        self._owned: dict[str, Ownership] = {}

    def hears_lease(self, write: LeaseWrite) -> None:
        fleet = write.owned.fleet
        self._owned[fleet] = write.owned
        signs = self._signs.setdefault(fleet, Signs(self.bounds))
        moved = signs.hear(write)
        if write.claim and write.key is not None and self._lost.pop((fleet, write.key), None) is not None:
            self.checks += 1
            self._told.discard((fleet, write.key))
        for where, what in self._late(write.owned, signs, write.entry.time) if moved else ():
            self._told.add(where)
            self.found(write.entry, what)

    def pending(self, end: float) -> list[str]:
        found = []
        for fleet, owned in self._owned.items():
            found += [what for _, what in self._late(owned, self._signs[fleet], end)]
        return found

    def _late(self, owned: Ownership, signs: Signs, now: float) -> Iterator[tuple[tuple[str, LeaseKey], str]]:
        for key, record in owned.shards.items():
            where = owned.fleet, key
            if record.status is not ShardStatus.ACTIVE:
                self._lost.pop(where, None)
                continue
            holder = record.holder
            seen = signs.last_sign(holder.member) if holder is not None else None
            silent = seen is not None and now - seen > signs.lease_seconds
            if holder is not None and owned.alive(holder) and not silent:
                self._lost.pop(where, None)
                continue
            since = self._lost.setdefault(where, seen if seen is not None and silent else now)
            waited = signs.served(since, now)
            if waited > signs.patience_seconds and where not in self._told:
                yield where, f"range {key[1]} has had no living owner for {now - since:.1f} s"


class WholeSpace(Invariant):
    """Every map that a fleet writes can be read and begins at hash 0, so that its ranges are the whole space; whatever
    is active and held lies inside it, or is on its list of ranges that are retiring."""

    id = "I8"
    sentence = "No key is lost: the ranges of the map are the whole hash space, each key in exactly one."
    what = "writes of the map"

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


class FewMoves(Invariant):
    """Compares each map with the one before: ranges whose target was alive, and was not leaving, and is another now."""

    id = "I22"
    sentence = "A rebalance moves no more than the fair share of those who joined."
    what = "writes of the map after the first"

    def hears_map(self, write: MapWrite) -> None:
        old, new = write.before, write.map
        if old is None or new is None or old.boundaries != new.boundaries or write.agent is None:
            return
        self.checks += 1
        members = write.owned.members
        stay = {name for name, each in members.items() if each.holder is not None and not each.leaving}
        moved = sum(
            1 for before, after in zip(old.targets, new.targets, strict=True) if before in stay and before != after
        )
        allowed = self._allowed(old, new, stay)
        if moved > allowed:
            self.found(write.entry, f"map {new.version} moves {moved} ranges of living members; {allowed} would do")

    def _allowed(self, old: ShardMap, new: ShardMap, stay: set[str]) -> int:
        """The ideal share of the members that the new map names first, and a little."""
        members = set(new.targets) - {""}
        joined = len(members - set(old.targets))
        share = len(new.targets) / max(1, len(members | stay))
        return math.ceil(1.05 * share * max(1, joined)) + self.bounds.moves


class Freed(Invariant):
    """A member that gives no more signs of life is fenced, or rejoins, within the bound of coordinated time; the
    coordinator's office likewise passes on, where anybody takes it."""

    id = "I24"
    sentence = "The lease of a process that is dead or hangs is freed within the bound."
    what = "ends of memberships"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._signs: dict[str, Signs] = {}
        self._owned: dict[str, Ownership] = {}
        self._told: set[tuple[str, Holder]] = set()

    def hears_lease(self, write: LeaseWrite) -> None:
        fleet = write.owned.fleet
        self._owned[fleet] = write.owned
        signs = self._signs.setdefault(fleet, Signs(self.bounds))
        moved = signs.hear(write)
        old, new = write.member_before, write.member
        if old is not None and old.holder is not None and (new is None or new.epoch != old.epoch):
            self.checks += 1
        for where, what in self._hanging(write.owned, signs, write.entry.time) if moved else ():
            self._told.add(where)
            self.found(write.entry, what)

    def pending(self, end: float) -> list[str]:
        found = []
        for fleet, owned in self._owned.items():
            found += [what for _, what in self._hanging(owned, self._signs[fleet], end)]
        return found

    def _hanging(self, owned: Ownership, signs: Signs, now: float) -> Iterator[tuple[tuple[str, Holder], str]]:
        for name, record in owned.members.items():
            where = owned.fleet, Holder(name, record.epoch)
            seen = signs.last_sign(name)
            if record.holder is None or seen is None or where in self._told:
                continue
            if signs.served(seen, now) > signs.patience_seconds:
                yield where, f"{name}@{record.epoch} is held though it has been silent for {now - seen:.1f} s"


class Mutex(Invariant):
    """Each shard's Lease as a lock. Its writes are compare-and-swap and so have one order; what has to be shown is that
    each claim finds the lock free (R3), and each release comes from who holds it."""

    id = "I27"
    sentence = "The history of each shard's lock is that of a mutex."
    what = "claims and releases"

    def hears_lease(self, write: LeaseWrite) -> None:
        new, old = write.shard, write.shard_before
        if new is None or old is None or write.agent is None:
            return
        if write.claim and new.holder is not None:
            self.checks += 1
            if not self._free(old, new.holder, write.owned):
                why = f"{old.holder or 'nobody, though it was not released'}"
                self.found(write.entry, f"{new.holder} claimed {new.range}, held by {why}")
            elif new.status is not ShardStatus.ACTIVE:
                self.found(write.entry, f"{new.holder} claimed {new.range}, which is {new.status}")
        elif old.holder is not None and new.holder is None:
            self.checks += 1
            own = write.agent.member == old.holder.member
            if not own and write.owned.alive(old.holder):
                self.found(write.entry, f"{write.agent.member} emptied {new.range}, held by {old.holder}")

    @staticmethod
    def _free(old: ShardRecord, claimant: Holder, owned: Ownership) -> bool:
        if old.holder is None:
            return old.released == old.epoch
        return old.holder.member == claimant.member or not owned.alive(old.holder)
