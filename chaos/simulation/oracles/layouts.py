"""I8 and I22: what maps may say."""

from __future__ import annotations

from itertools import pairwise

from chaos.simulation.happenings import Restored, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import HAND, WIRE_SECONDS, Scene, held
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.locks import FewMoves as FewMovesChecker
from fleet.devcluster.checkers.locks import Moves, fair_moves
from fleet.devcluster.checkers.locks import WholeSpace as WholeSpaceChecker
from fleet.devcluster.invariants.bounds import Bounds
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardMap, ShardRecord, StoredMap
from shards.keyrange import SPACE, KeyRange


class WholeSpace(Oracle):
    """Each map of the fleet covers the hash space; what is held lies in it or is on its way out; and who claims a range
    claims no key of another held one. What a hand has put outside the map may stay there until it is seen to.

    So may what a restore has put there behind the back of a coordinator that retired it just before: the map of the
    backup is the one that it read, and its next one matches it. What is outside goes back to `retiring` (R7).
    """

    id, sentence = WholeSpaceChecker.id, WholeSpaceChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._by_hand: set[KeyRange] = set()
        self._backup: tuple[ShardMap | None, dict[KeyRange, ShardRecord]] = None, {}
        """Map and shard records as the last restore left them."""

    def hears_restored(self, restored: Restored) -> None:
        self._backup = self.scene.map, {each.range: each for each in self.scene.shards()}
        if (shard_map := self.scene.map) is not None:
            self._by_hand |= self._unknown(shard_map)

    def hears_written(self, written: Written) -> None:
        after = written.after
        if written.kind is Kind.SHARD and isinstance(after, ShardRecord):
            if written.process == HAND:
                self._by_hand.add(after.range)
            else:
                self._claim(written, after)
        elif isinstance(after, StoredMap):
            if written.process == HAND:
                self._by_hand |= self._unknown(after.map)
            else:
                self._map(written, after.map)

    def _claim(self, written: Written, new: ShardRecord) -> None:
        old = written.before
        if new.holder is None or (isinstance(old, ShardRecord) and (old.holder, old.epoch) == (new.holder, new.epoch)):
            return
        self.checks += 1
        for each, holder in held(self.scene.shards()).items():
            if each != new.range and each.overlaps(new.range) and self.scene.alive(holder):
                self.found(written.at, f"{new.holder} claims keys of {new.range} that lie in {each} of {holder} too")

    def _map(self, written: Written, new: ShardMap) -> None:
        self.checks += 1
        bounds = new.boundaries
        if not bounds or bounds[0] != 0 or any(a >= b for a, b in pairwise(bounds)) or bounds[-1] >= SPACE:
            self.found(written.at, f"map version {new.version} does not cover the hash space")
            return
        unknown = self._unknown(new)
        for each in sorted(unknown - self._by_hand - self._unnoticed(written)):
            self.found(written.at, f"{each} is held and unknown to map {new.version}")
        self._by_hand = unknown

    def _unknown(self, shard_map: ShardMap) -> set[KeyRange]:
        """Held ranges of its partition key that the map has in neither list."""
        known = {*shard_map.ranges, *shard_map.retiring}
        there = held(self.scene.shards())
        return {each for each in there if each.key is shard_map.partition_key and each not in known}

    def _unnoticed(self, written: Written) -> set[KeyRange]:
        """What a map cannot know that is written over the one of the backup, before anybody hears of the restore."""
        shard_map, records = self._backup
        over = written.before.map if isinstance(written.before, StoredMap) else None
        if over is None or over != shard_map or written.sent_at > self.scene.restored_at + WIRE_SECONDS:
            return set()
        return {each.range for each in self.scene.shards() if records.get(each.range) == each}


class FewMoves(Oracle):
    """Counts ranges whose target was alive and not leaving, and is another now, over all maps since the members changed
    last: who joins anew has left before, and of who joined a moment ago the writer of a map may not have heard yet. A
    range that is given back has not moved (`Moves`)."""

    id, sentence = FewMovesChecker.id, FewMovesChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._stay: dict[str, int] = {}
        self._first_targets: frozenset[str] | None = None
        self._moves = Moves()
        self._joined: dict[str, tuple[int, float]] = {}
        """By member: its epoch, and since when."""

    def hears_restored(self, restored: Restored) -> None:
        self._first_targets = None

    def hears_written(self, written: Written) -> None:
        if written.kind is Kind.MEMBER:
            self._note(written)
        elif written.kind is Kind.MAP:
            self._map(written)

    def _note(self, written: Written) -> None:
        new = written.after
        if isinstance(new, MemberRecord) and new.holder is not None:
            known = self._joined.get(new.name)
            if known is None or known[0] != new.epoch or written.before is None:
                self._joined[new.name] = new.epoch, written.at

    def _map(self, written: Written) -> None:
        old, new = written.before, written.after
        if (
            not isinstance(old, StoredMap)
            or not isinstance(new, StoredMap)
            or old.map.boundaries != new.map.boundaries
            or written.process == HAND
        ):
            self._first_targets = None
            return
        self.checks += 1
        there = self._there(old.map)
        if self._first_targets is None or there != self._stay:
            self._first_targets, self._stay, self._moves = frozenset(old.map.targets), there, Moves()
        heard_by = max(written.sent_at - WIRE_SECONDS, 0.0)
        heard = {name for name in there if self._joined.get(name, (0, 0.0))[1] <= heard_by}
        moved = self._moves.add(old.map, new.map, heard, self.scene.shards(), written.at)
        allowed = fair_moves(self._first_targets, new.map, self._stay.keys(), Bounds().moves)
        if moved and self._moves.total > allowed:
            what = f"map {new.map.version} moves {self._moves.total} ranges of living members; {allowed} would do"
            self.found(written.at, what)

    def _there(self, shard_map: ShardMap) -> dict[str, int]:
        """Epochs of the members that live, do not leave, and are not dead by the map (a hand may lower an epoch)."""
        return {
            name: each.epoch
            for name, each in self.scene.members().items()
            if each.holder is not None and not each.leaving and each.epoch >= shard_map.floors.get(name, 0)
        }
