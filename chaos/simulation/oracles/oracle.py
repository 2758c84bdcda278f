"""What an oracle is: it hears what happens, and says when a promise was broken."""

from __future__ import annotations

from typing import ClassVar

from chaos.simulation.oracles.scene import Scene
from chaos.simulation.outcome import Breach


class Oracle:
    """One promise. id: "I1" to "I27" as in docs/invariants.md, or "A1" and on: bounds of availability.

    A subclass has a method for each sort of happening that it wants: `hears_written`, `hears_opened`, `hears_acted`
    and so on, see `SORTS` in `chaos.simulation.oracles.jury`. The scene has heard it already. checks: how often
    something could have been found broken.
    """

    id: ClassVar[str]
    sentence: ClassVar[str]

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        """breaches: where findings go; shared by all oracles of a history."""
        self.scene = scene
        self.checks = 0
        self._breaches = breaches

    def found(self, at: float, what: str) -> None:
        self._breaches.append(Breach(self.id, at, what))

    def pending(self, now: float) -> str | None:
        """After the healing: what of its promise is not kept yet; None where all is as it should be."""
        return None
