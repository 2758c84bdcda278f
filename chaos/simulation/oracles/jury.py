"""All oracles of one history: hears every happening once, and passes it on to those that want it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chaos.simulation.happenings import (
    Acted,
    Changed,
    Closed,
    Happening,
    Healed,
    Lived,
    Opened,
    Read,
    Restored,
    Stepped,
    Struck,
    Written,
)
from chaos.simulation.oracles.bounds import (
    BrownOutWaits,
    CauseFirst,
    SilenceFirst,
    StandbyFirst,
    TargetsClaim,
)
from chaos.simulation.oracles.ends import AtRest, SoonOwned, WantedComesTrue
from chaos.simulation.oracles.epochs import GrowingEpochs
from chaos.simulation.oracles.layouts import FewMoves, WholeSpace
from chaos.simulation.oracles.lives import Freed, HonestHealth, LiveRead, Stopped
from chaos.simulation.oracles.locks import Mutex
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.owners import OneOwner
from chaos.simulation.oracles.scene import Scene, Store
from chaos.simulation.oracles.views import FreshView, WokenUp
from chaos.simulation.outcome import Breach

SORTS: dict[type[Any], str] = {
    Written: "hears_written",
    Restored: "hears_restored",
    Opened: "hears_opened",
    Closed: "hears_closed",
    Acted: "hears_acted",
    Read: "hears_read",
    Changed: "hears_changed",
    Stepped: "hears_stepped",
    Lived: "hears_lived",
    Struck: "hears_struck",
    Healed: "hears_healed",
}
"""The method of an oracle that hears each sort of happening."""

ORACLES: tuple[type[Oracle], ...] = (
    OneOwner,
    GrowingEpochs,
    FreshView,
    LiveRead,
    SoonOwned,
    WholeSpace,
    WokenUp,
    AtRest,
    FewMoves,
    Stopped,
    Freed,
    HonestHealth,
    Mutex,
    StandbyFirst,
    TargetsClaim,
    WantedComesTrue,
    SilenceFirst,
    BrownOutWaits,
    CauseFirst,
)
"""In order of their ids."""


class Jury:
    """breaches: in the order in which they were found; a history ends with its first.

    store: the newest truth, in which a write is when its happening is heard. settle_seconds: within them all must be as
    it should be after the healing: see `settled` and `overdue`.
    """

    def __init__(self, store: Store, *, lease_seconds: float, oracles: tuple[type[Oracle], ...] = ORACLES) -> None:
        self.breaches: list[Breach] = []
        self.scene = Scene(store, lease_seconds=lease_seconds)
        self.settle_seconds = 10.0 + 5.0 * lease_seconds
        self._oracles = [oracle(self.scene, self.breaches) for oracle in oracles]
        self._ears: dict[type[Any], tuple[Callable[[Any], None], ...]] = {
            sort: tuple(
                getattr(each, method)
                for each in (self.scene, *self._oracles)
                if getattr(each, method, None) is not None
            )
            for sort, method in SORTS.items()
        }

    def hear(self, happening: Happening) -> None:
        for ear in self._ears[type(happening)]:
            ear(happening)

    @property
    def checks(self) -> dict[str, int]:
        """How often each oracle was asked."""
        return {each.id: each.checks for each in self._oracles}

    def settled(self, now: float) -> str | None:
        """After the healing: one sentence about what is not yet as it should be; None when all is."""
        for each in self._oracles:
            if (what := each.pending(now)) is not None:
                return what
        return None

    def overdue(self, now: float) -> None:
        """`settle_seconds` have passed: what is not as it should be is a breach of the promise that says so."""
        for each in self._oracles:
            if (what := each.pending(now)) is not None:
                self.breaches.append(
                    Breach(each.id, now, f"{what}, {now - (self.scene.healed_at or 0.0):.1f} s after the healing")
                )
