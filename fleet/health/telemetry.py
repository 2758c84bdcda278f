"""What the ownership core tells whoever measures it. The base class says nothing to anybody, which suits tests."""

from __future__ import annotations

from fleet.health.range_steps import RangeStep
from fleet.records.quarantine import QuarantineEntry


class Telemetry:
    """Called on the event loop; must neither block nor raise. `fleet.health.metrics.FleetMetrics` is the one that
    counts."""

    def renewed(self, seconds: float) -> None:
        """A renewal was acknowledged, so long after it was sent."""

    def renewal_failed(self) -> None:
        """A renewal conflicted or got no answer."""

    def range_step(self, step: RangeStep) -> None:
        """A range went one step on this member."""

    def history_lost(self) -> None:
        """The records of the fleet went back to an earlier state: their store was restored."""

    def fenced(self) -> None:
        """This coordinator fenced a member."""

    def key_quarantined(self, entry: QuarantineEntry) -> None:
        """This worker counted the death that was one too many for a key."""

    def key_released(self, entry: QuarantineEntry, why: str) -> None:
        """This worker found that a quarantined key may run again. entry: as it was."""

    def recycled(self) -> None:
        """This worker takes the place of one that left because memory was short."""
