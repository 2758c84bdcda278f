"""I27: a shard's record as a lock."""

from __future__ import annotations

from chaos.simulation.happenings import Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import HAND, Scene, member_of
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.locks import Mutex as Checker
from fleet.records.record import Holder, ShardRecord, ShardStatus


class Mutex(Oracle):
    """Each claim finds the lock free (R3), and only its holder empties it while it lives.

    What a hand has written may be emptied by the coordinator: it is lost (R14), and whether its owner has let go is
    I1's."""

    id, sentence = Checker.id, Checker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._by_hand: dict[str, str] = {}
        """Versions that a hand wrote last, by names of records."""

    def hears_written(self, written: Written) -> None:
        old, new = written.before, written.after
        if written.process == HAND:
            if isinstance(new, ShardRecord):
                self._by_hand[written.name] = new.version
            return
        if not isinstance(old, ShardRecord) or not isinstance(new, ShardRecord):
            return
        by = member_of(written.process)
        if new.holder is not None and (old.holder, old.epoch) != (new.holder, new.epoch):
            self.checks += 1
            if not self._free(old, new.holder):
                whom = old.holder or "nobody, though it was not released"
                self.found(written.at, f"{new.holder} claimed {new.range}, held by {whom}")
            elif by != new.holder.member:
                self.found(written.at, f"{by} claimed {new.range} for {new.holder}")
            elif ShardStatus.RETIRED in (old.status, new.status):
                self.found(written.at, f"{new.holder} claimed {new.range}, which is retired")
        elif old.holder is not None and new.holder is None:
            self.checks += 1
            by_hand = self._by_hand.get(written.name) == old.version
            if by != old.holder.member and not by_hand and self.scene.alive(old.holder):
                self.found(written.at, f"{by} emptied {new.range}, held by {old.holder}")

    def _free(self, old: ShardRecord, claimant: Holder) -> bool:
        if old.holder is None:
            return not old.holder_text and old.released == old.epoch
        return old.holder.member == claimant.member or not self.scene.alive(old.holder)
