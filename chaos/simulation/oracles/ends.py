"""I7 and I10, and A3: where everything goes once nothing is wrong any more."""

from __future__ import annotations

from chaos.simulation.happenings import Restored, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import Scene, held
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.lives import SoonOwned as SoonOwnedChecker
from fleet.devcluster.checkers.responses import AtRest as AtRestChecker
from fleet.records.object_names import Kind

QUIET_LEASES = 0.5
"""For so long nothing must be written but renewals, before a fleet is taken to be at rest."""


class SoonOwned(Oracle):
    """Judged after the healing, however much has failed before: in each range of the map some living member's
    reconciles run, under the claim that its record shows."""

    id, sentence = SoonOwnedChecker.id, SoonOwnedChecker.sentence

    def pending(self, now: float) -> str | None:
        self.checks += 1
        shard_map = self.scene.map
        if shard_map is None:
            return "there is no map"
        holders = held(self.scene.shards())
        owned = {each.range: each.holder for each in self.scene.open.values() if each.deadline() > now}
        for each in shard_map.ranges:
            holder = holders.get(each)
            if holder is None or not self.scene.alive(holder):
                return f"range {each} has no owner"
            if owned.get(each) != holder:
                return f"range {each} is held by {holder}, who does not act on it"
        return None


class WantedComesTrue(Oracle):
    """What the map wants comes to be: its targets own their ranges, nothing is lost, nothing is left to retire, and the
    layout is the one that people ask for."""

    id = "A3"
    sentence = "What the map wants comes to be in time, and the map wants what people ask for."

    def pending(self, now: float) -> str | None:
        self.checks += 1
        shard_map = self.scene.map
        if shard_map is None:
            return "there is no map"
        wanted = self.scene.wanted_shards
        if wanted is not None and len(shard_map.ranges) != wanted and not shard_map.config_refused:
            return f"the layout has {len(shard_map.ranges)} ranges, {wanted} are asked for"
        if shard_map.lost or shard_map.retiring:
            which = min(shard_map.lost.keys() | shard_map.retiring)
            return f"range {which} is {'lost' if which in shard_map.lost else 'retiring'}"
        holders = held(self.scene.shards())
        for each, target in zip(shard_map.ranges, shard_map.targets, strict=True):
            holder = holders.get(each)
            if holder is not None and holder.member != target:
                return f"range {each} is held by {holder} and meant for {target or 'nobody'}"
        return None


class AtRest(Oracle):
    """Judged after the healing: map and shard records are not written any more."""

    id, sentence = AtRestChecker.id, AtRestChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._last = (0.0, "nothing")

    def hears_restored(self, restored: Restored) -> None:
        self._last = restored.at, "everything"

    def hears_written(self, written: Written) -> None:
        if written.kind in (Kind.MAP, Kind.SHARD):
            self._last = written.at, f"{written.kind} {written.name}"

    def pending(self, now: float) -> str | None:
        self.checks += 1
        at, what = self._last
        if now - at < QUIET_LEASES * self.scene.lease_seconds:
            return f"{what} was written {now - at:.3f} s ago"
        return None
