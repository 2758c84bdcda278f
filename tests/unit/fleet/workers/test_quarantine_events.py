from __future__ import annotations

from fleet.health.telemetry import Telemetry
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.records.quarantine import QuarantineEntry
from fleet.workers.quarantine_events import QuarantineEvents
from shards.objects import Key


class Counter(Telemetry):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def key_quarantined(self, entry: QuarantineEntry) -> None:
        self.heard.append("quarantined")

    def key_released(self, entry: QuarantineEntry, why: str) -> None:
        self.heard.append("released")

    def recycled(self) -> None:
        self.heard.append("recycled")


def test_quarantine_and_release_are_told_with_key_and_cause_and_counted_as_before() -> None:
    told: list[Happening] = []
    counter = Counter()
    events = QuarantineEvents(counter, told.append)
    entry = QuarantineEntry("websites", Key("team-a", "shop", "uid"), deaths=3, ended="SIGSEGV")
    events.key_quarantined(entry)
    events.key_released(entry, "its spec changed")
    events.recycled()
    assert counter.heard == ["quarantined", "released", "recycled"]
    assert told == [
        Happening(
            "Quarantined",
            "team-a/shop of websites is not reconciled any more: 3 workers died on it, the last by SIGSEGV",
            Kind.MAP,
            warning=True,
        ),
        Happening("Released", "team-a/shop of websites may be reconciled again: its spec changed", Kind.MAP),
    ]
