"""I1: who acts."""

from __future__ import annotations

from chaos.simulation.happenings import Acted, Opened, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import Scene
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.acts import OneOwner as Checker


class OneOwner(Oracle):
    """Two tenures whose ranges overlap are never in force at one instant, whatever their holders do; and nobody acts
    on a key that another has come to own.

    A deadline that has passed may move again, when an answer comes late: such a tenure is looked at again until it has
    ended. A write that was sent in time and lands late is no act of an owner: it is for preconditions (I3).
    """

    id, sentence = Checker.id, Checker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._outlived: list[tuple[Opened, Opened]] = []
        """Tenures whose deadline had passed when another began, and the other."""

    def hears_opened(self, opened: Opened) -> None:
        for other in list(self.scene.open.values()):
            if other.process == opened.process or not other.range.overlaps(opened.range):
                continue
            self.checks += 1
            if other.deadline() > opened.at:
                self._both(opened.at, other, opened)
            else:
                self._outlived.append((other, opened))

    def hears_written(self, written: Written) -> None:
        if self._outlived:
            self._look_again(written.at)

    def hears_acted(self, acted: Acted) -> None:
        self.checks += 1
        if self._outlived:
            self._look_again(acted.at)
        for other in self.scene.open.values():
            if (
                other.process != acted.process
                and other.at < acted.sent_at
                and other.range.first <= acted.key <= other.range.last
                and other.range.key is acted.range.key
                and other.deadline() > acted.sent_at
            ):
                at = acted.at
                self._tell(at, f"{acted.holder} acts on a key of {acted.range}, which {other.holder} owns since then")

    def _look_again(self, at: float) -> None:
        there = self.scene.open
        self._outlived = [
            (one, other)
            for one, other in self._outlived
            if (one.process, one.range, one.epoch) in there and (other.process, other.range, other.epoch) in there
        ]
        for one, other in self._outlived:
            if one.deadline() > at and other.deadline() > at:
                self._both(at, one, other)

    def _both(self, at: float, one: Opened, other: Opened) -> None:
        ranges = str(one.range) if one.range == other.range else f"{one.range} and {other.range}, which overlap"
        self._tell(at, f"{one.holder} and {other.holder} both may act on {ranges}")

    def _tell(self, at: float, what: str) -> None:
        if self.scene.holds(at):
            self.found(at, what)
