"""I2: the numbers that order everything."""

from __future__ import annotations

from chaos.simulation.happenings import Restored, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import HAND, Scene
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.locks import GrowingEpochs as Checker
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, MemberRecord, ShardMap, ShardRecord, StoredMap

What = tuple[str, str]


class GrowingEpochs(Oracle):
    """Judged on what the fleet writes: from what a hand wrote, deleted or restored the fleet has to go on."""

    id, sentence = Checker.id, Checker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._highest: dict[What, int] = {}
        self._holders: dict[What, dict[int, str]] = {}
        self._map: ShardMap | None = None

    def hears_restored(self, restored: Restored) -> None:
        self._highest.clear()
        self._holders.clear()
        self._map = None

    def hears_written(self, written: Written) -> None:
        what, new = (str(written.kind), written.name), written.after
        if new is None:
            if written.process == HAND:
                self._highest.pop(what, None)
                self._holders.pop(what, None)
        elif isinstance(new, ShardRecord | MemberRecord):
            self._record(written, what, new.epoch, str(new.holder) if new.holder is not None else "")
        elif isinstance(new, CoordinatorRecord):
            self._record(written, what, new.epoch, new.holder)
        elif isinstance(new, StoredMap):
            self._one_content(written, new.map)
            self._record(written, what, new.map.version, "")
            self._record(written, (str(Kind.MAP), "its coordinator"), new.map.coordinator_epoch, "")

    def _one_content(self, written: Written, new: ShardMap) -> None:
        """A version stands for one map."""
        old, self._map = self._map, new
        if written.process != HAND and old is not None and old.version == new.version and old != new:
            self.found(written.at, f"map version {new.version} was written again, with another content")

    def _record(self, written: Written, what: What, epoch: int, holder: str) -> None:
        holders = self._holders.setdefault(what, {})
        if written.process == HAND:
            # Who held it at what are later epochs again is known to the record no more; those holders have other names.
            self._highest[what] = epoch
            self._holders[what] = {each: name for each, name in holders.items() if each < epoch}
            return
        self.checks += 1
        before, known = self._highest.get(what, 0), holders.get(epoch, "")
        if epoch < before:
            self.found(written.at, f"{' '.join(what)} fell from epoch {before} to {epoch}")
        if known and holder and holder != known:
            self.found(written.at, f"{' '.join(what)} is held by {known} and by {holder} at epoch {epoch}")
        self._highest[what] = epoch
        if holder:
            holders[epoch] = holder
