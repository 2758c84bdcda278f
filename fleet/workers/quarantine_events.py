"""What becomes of keys in quarantine, as happenings, beside what counts them."""

from __future__ import annotations

from collections.abc import Callable

from fleet.health.telemetry import Telemetry
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.records.quarantine import QuarantineEntry


class QuarantineEvents(Telemetry):
    """counted: who measures. tell: hears of it, for people."""

    def __init__(self, counted: Telemetry, tell: Callable[[Happening], None]) -> None:
        self._counted = counted
        self._tell = tell

    def key_quarantined(self, entry: QuarantineEntry) -> None:
        self._counted.key_quarantined(entry)
        what = (
            f"{_named(entry)} is not reconciled any more: {entry.deaths} workers died on it, the last by {entry.ended}"
        )
        self._tell(Happening("Quarantined", what, Kind.MAP, warning=True))

    def key_released(self, entry: QuarantineEntry, why: str) -> None:
        self._counted.key_released(entry, why)
        self._tell(Happening("Released", f"{_named(entry)} may be reconciled again: {why}", Kind.MAP))

    def recycled(self) -> None:
        self._counted.recycled()


def _named(entry: QuarantineEntry) -> str:
    namespace = f"{entry.key.namespace}/" if entry.key.namespace else ""
    return f"{namespace}{entry.key.name} of {entry.controller}"
