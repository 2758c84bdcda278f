"""I3 and I9: what is known of the objects."""

from __future__ import annotations

from collections import deque

from chaos.simulation.happenings import Acted, Changed, Restored, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import Scene
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.freshness import FreshView as FreshViewChecker
from fleet.devcluster.checkers.responses import WokenUp as WokenUpChecker
from fleet.records.record import ShardRecord
from shards.keyrange import KeyRange

CLAIMS_KEPT = 32
ACTS_KEPT = 8


class FreshView(Oracle):
    """Each act rests on a view that shows what had been accepted for its key before it was sent.

    What lands late is the wire's: it neither binds nor is judged. So is what was sent before, and landed after, another
    claim of the range.
    """

    id, sentence = FreshViewChecker.id, FreshViewChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._accepted: dict[int, deque[Acted]] = {}
        self._claims: deque[tuple[float, KeyRange, int]] = deque(maxlen=CLAIMS_KEPT)

    def hears_restored(self, restored: Restored) -> None:
        self._accepted.clear()

    def hears_written(self, written: Written) -> None:
        new = written.after
        if isinstance(new, ShardRecord) and new.holder is not None:
            self._claims.append((written.at, new.range, new.epoch))

    def hears_acted(self, acted: Acted) -> None:
        if acted.late or self._overtaken(acted):
            return
        accepted = self._accepted.setdefault(acted.key, deque(maxlen=ACTS_KEPT))
        self.checks += 1
        known = [each for each in accepted if each.at <= acted.sent_at]
        if (
            known
            and self.scene.holds(acted.at)
            and (newest := max(known, key=lambda each: each.version)).version > acted.based_on
        ):
            what = f"{acted.holder} acts on key {acted.key:#x} as it was at {acted.based_on}"
            self.found(acted.at, f"{what}; {newest.holder} had written {newest.version}")
        accepted.append(acted)

    def _overtaken(self, acted: Acted) -> bool:
        return any(
            acted.sent_at <= at <= acted.at
            and (each, epoch) != (acted.range, acted.epoch)
            and each.first <= acted.key <= each.last
            for at, each, epoch in self._claims
        )


class WokenUp(Oracle):
    """Judged after the healing: each object's last change by somebody else has been acted on by somebody who saw it."""

    id, sentence = WokenUpChecker.id, WokenUpChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._waiting: dict[int, Changed] = {}

    def hears_changed(self, changed: Changed) -> None:
        self._waiting[changed.key] = changed

    def hears_acted(self, acted: Acted) -> None:
        waiting = self._waiting.get(acted.key)
        if waiting is not None and acted.based_on >= waiting.version:
            self.checks += 1
            del self._waiting[acted.key]

    def pending(self, now: float) -> str | None:
        for key, changed in sorted(self._waiting.items()):
            return f"key {key:#x} has changed at {changed.at:.3f} and nobody has acted on it"
        return None
