"""I7 and I24: how soon others take over from who is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.evidence.rangeindex import LeaseKey, RangeIndex
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import Invariant, LeaseWrite, MapWrite
from fleet.devcluster.invariants.signs import Signs
from fleet.devcluster.recording.journal import Entry
from fleet.records.record import Holder, ShardStatus


@dataclass(slots=True)
class _Cell:
    """A range of the map. owned: somebody ever was its owner. lost_since: None while somebody is."""

    owned: bool = False
    lost_since: float | None = None
    told: bool = False


@dataclass(slots=True)
class _Space:
    """The hash space of one fleet, in the ranges of its map; before a map is known, in those of its active Leases."""

    ownership: Ownership
    signs: Signs
    cells: dict[LeaseKey, _Cell] = field(default_factory=dict)
    index: RangeIndex = field(default_factory=RangeIndex)
    mapped: bool = False
    silent: dict[str, float] = field(default_factory=dict)

    def lost(self, now: float) -> None:
        self.signs.lost(now)
        self.cells.clear()
        self.index.clear()
        self.silent.clear()
        self.mapped = False

    def add(self, where: LeaseKey) -> _Cell:
        self.index.add(where)
        return self.cells.setdefault(where, _Cell())

    def lay_out(self, layout: Iterable[LeaseKey], now: float) -> None:
        """A map with these ranges holds from now on: what was owned, or lost, is so in its new pieces."""
        wanted = set(layout)
        if self.mapped and wanted == self.cells.keys():
            return
        old, old_index = self.cells, self.index
        self.cells, self.index, self.mapped = {}, RangeIndex(), True
        for where in wanted:
            cell = self.add(where)
            before = [old[each] for each in old_index.overlapping(where) | {where} if each in old]
            cell.owned = any(each.owned for each in before)
            cell.lost_since = min((each.lost_since for each in before if each.lost_since is not None), default=None)
            self.look(where, now)

    def look(self, where: LeaseKey, since: float) -> bool:
        """Whether a cell that had lost its owner has one again. since: when it lost it, if it has none."""
        cell = self.cells[where]
        if not self._covered(where):
            if cell.lost_since is None:
                cell.lost_since = since
            return False
        again = cell.owned and cell.lost_since is not None and not cell.told
        cell.owned, cell.lost_since, cell.told = True, None, False
        return again

    def near(self, keys: Iterable[LeaseKey]) -> set[LeaseKey]:
        """The cells that have to do with these ranges."""
        return {each for key in keys for each in self.index.overlapping(key) | {key} if each in self.cells}

    def held_by(self, member: str) -> list[LeaseKey]:
        shards = self.ownership.shards.items()
        return [key for key, record in shards if record.holder is not None and record.holder.member == member]

    def late(self, now: float) -> Iterator[tuple[_Cell, str]]:
        for (_, covered), cell in self.cells.items():
            since = cell.lost_since
            if since is None or not cell.owned or cell.told:
                continue
            if self.signs.served(since, now) > self.signs.patience_seconds:
                yield cell, f"range {covered} has had no living owner for {now - since:.1f} s"

    def _covered(self, where: LeaseKey) -> bool:
        """Whether each hash of the cell lies in an active range that a living member holds."""
        if self._lives(where):
            return True
        reached = where[1].first
        for key, covered in sorted(self.ownership.overlapping(where)):
            if key is where[0] and covered.first <= reached <= covered.last and self._lives((key, covered)):
                reached = covered.last + 1
        return reached > where[1].last

    def _lives(self, where: LeaseKey) -> bool:
        if self.ownership.doubts(where):
            return True
        record = self.ownership.shards.get(where)
        if record is None or record.holder is None or record.status is not ShardStatus.ACTIVE:
            return False
        return self.ownership.alive(record.holder) and record.holder.member not in self.silent


class SoonOwned(Invariant):
    """Each range of the map that has lost its owner (who gives no more signs of life, is dead or has released it, or
    whose Lease is retired or gone) is in the active range of a living one within the bound, of which only time counts
    in which some member and a coordinator were alive: one failure, not two."""

    id = "I7"
    sentence = "Every key is owned again within the bound after any single failure."
    what = "ranges that lost their owner and have one again"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._spaces: dict[str, _Space] = {}

    def hears_gap(self, entry: Entry) -> None:
        for space in self._spaces.values():
            space.lost(entry.time)

    def hears_map(self, write: MapWrite) -> None:
        if write.map is not None:
            key = write.map.partition_key
            self._space(write.owned).lay_out([(key, each) for each in write.map.ranges], write.entry.time)

    def hears_lease(self, write: LeaseWrite) -> None:
        space, now = self._space(write.owned), write.entry.time
        moved = space.signs.hear(write)
        touched: list[LeaseKey] = []
        if write.key is not None:
            touched.append(write.key)
            self._known(space, write.key, write)
        member = write.member or write.member_before
        if member is not None and (self._changed(write) or space.silent.pop(member.name, None) is not None):
            touched += space.held_by(member.name)
        self._look(space, touched, now)
        if not moved:
            return
        for name, seen in space.signs.silent(now).items():
            if name not in space.silent:
                space.silent[name] = seen
                self._look(space, space.held_by(name), seen)
        for cell, what in space.late(now):
            cell.told = True
            self.checks += 1
            self.found(write.entry, what)

    def pending(self, end: float) -> list[str]:
        return [what for space in self._spaces.values() for _, what in space.late(end)]

    def checks_by(self, end: float) -> int:
        return self.checks + len(self.pending(end))

    def _space(self, owned: Ownership) -> _Space:
        if owned.fleet not in self._spaces:
            self._spaces[owned.fleet] = _Space(owned, Signs(self.bounds))
        return self._spaces[owned.fleet]

    def _look(self, space: _Space, keys: Iterable[LeaseKey], since: float) -> None:
        for where in space.near(keys):
            self.checks += space.look(where, since)

    @staticmethod
    def _known(space: _Space, key: LeaseKey, write: LeaseWrite) -> None:
        """Without a map, active Leases are the layout, and one that vanished is still a part of it."""
        if space.mapped or write.shard is None:
            return
        if write.shard.status is ShardStatus.ACTIVE:
            space.add(key)
        else:
            space.cells.pop(key, None)

    @staticmethod
    def _changed(write: LeaseWrite) -> bool:
        old, new = write.member_before, write.member
        if old is None or new is None:
            return True
        return (old.epoch, old.holder is None) != (new.epoch, new.holder is None)


class Freed(Invariant):
    """A member that gives no more signs of life is fenced, or rejoins, within the bound of coordinated time. Who leaves
    by itself is no test."""

    id = "I24"
    sentence = "The lease of a process that is dead or hangs is freed within the bound."
    what = "memberships that somebody else, or the next incarnation, ended"

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._signs: dict[str, Signs] = {}
        self._owned: dict[str, Ownership] = {}
        self._told: set[tuple[str, Holder]] = set()

    def hears_gap(self, entry: Entry) -> None:
        for signs in self._signs.values():
            signs.lost(entry.time)

    def hears_lease(self, write: LeaseWrite) -> None:
        fleet = write.owned.fleet
        self._owned[fleet] = write.owned
        signs = self._signs.setdefault(fleet, Signs(self.bounds))
        moved = signs.hear(write)
        old, new = write.member_before, write.member
        if old is not None and old.holder is not None and (new is None or new.epoch != old.epoch):
            told = (fleet, Holder(old.name, old.epoch)) in self._told
            left = _by(write, old.name) and (new is None or new.holder is None)
            self.checks += not told and not left
        for where, what in self._hanging(write.owned, signs, write.entry.time) if moved else ():
            self._told.add(where)
            self.checks += 1
            self.found(write.entry, what)

    def pending(self, end: float) -> list[str]:
        found = []
        for fleet, owned in self._owned.items():
            found += [what for _, what in self._hanging(owned, self._signs[fleet], end)]
        return found

    def checks_by(self, end: float) -> int:
        return self.checks + len(self.pending(end))

    def _hanging(self, owned: Ownership, signs: Signs, now: float) -> Iterator[tuple[tuple[str, Holder], str]]:
        for name, record in owned.members.items():
            where = owned.fleet, Holder(name, record.epoch)
            seen = signs.last_sign(name)
            if record.holder is None or seen is None or where in self._told:
                continue
            if signs.served(seen, now) > signs.patience_seconds:
                yield where, f"{name}@{record.epoch} is held though it has been silent for {now - seen:.1f} s"


def _by(write: LeaseWrite, member: str) -> bool:
    """Whether that member wrote it."""
    return write.agent is not None and write.agent.member == member
