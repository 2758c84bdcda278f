"""Members that may still act though no record says so: somebody deleted it. Pure: rule R14.

Such a member finds out at its next renewal, and may act until its own deadline. Until a lease has passed it counts as
one that lives and has repeated no map. What named it may be gone with it: only who saw its record knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fleet.records.record import Incarnation, MemberRecord

NOBODY_KNOWN = Incarnation("of whom nobody knows", 0)


class Vanished(NamedTuple):
    """record: as it was seen last. until: reading of the clock, a lease after it was found to be gone."""

    record: MemberRecord
    until: float


@dataclass(slots=True)
class VanishedMembers:
    """What one coordinator has seen vanish.

    seen: the records as they were at the last look. since: when it first saw any; what had vanished before, it does not
    know. ended: by length in seconds, of leases that no record carries any more: reading until which somebody may act
    under one.
    """

    seen: Mapping[str, MemberRecord] = field(default_factory=dict)
    since: float | None = None
    ended: dict[float, float] = field(default_factory=dict)
    gone: dict[tuple[str, str], Vanished] = field(default_factory=dict)
    """By name, and UID of the record."""

    def observe(self, members: Mapping[str, MemberRecord], now: float) -> None:
        """members: all that are in the view now. Records without a holder are of nobody who could act."""
        if members and self.since is None:
            self.since = now
        # What was seen at the last look stood until now.
        ended = _leases(self.seen).difference(_leases(members))
        if ended:
            running = {lease: until for lease, until in self.ended.items() if now <= until}
            self.ended = running | {lease: now + lease for lease in ended}
        missing = self._missing(members)
        if missing:
            longest = self.longest(now)
            self.gone = {key: each for key, each in self.gone.items() if now <= each.until}
            for record in missing:
                self.gone[record.name, record.uid] = Vanished(record, now + longest)
        self.seen = members

    def longest(self, now: float) -> float:
        """Lease, in seconds, under which somebody may act: of a record that is there, or was so within that lease."""
        return max([0.0, *_leases(self.seen), *(lease for lease, until in self.ended.items() if now <= until)])

    def everybody(self, members: Iterable[MemberRecord], now: float) -> list[MemberRecord]:
        """Those, and stand-ins for who may still act beside them, none of whom has repeated any map."""
        found = list(members)
        missing = self._missing({each.name: each for each in found})
        missing += [each.record for each in self.gone.values() if now <= each.until]
        if not self._has_watched(now):
            missing.append(MemberRecord("", NOBODY_KNOWN, 0, self.longest(now)))
        return found + [MemberRecord(each.name, each.holder, each.epoch, each.lease_seconds) for each in missing]

    def doubted(self, names: Iterable[str], now: float) -> frozenset[str]:
        """Which of the names an incarnation may bear that nobody knows any more but by the map."""
        if not self._has_watched(now):
            return frozenset(names)
        return frozenset(record.name for record, until in self.gone.values() if now <= until).intersection(names)

    def _has_watched(self, now: float) -> bool:
        return self.since is not None and now - self.since > self.longest(now)

    def _missing(self, members: Mapping[str, MemberRecord]) -> list[MemberRecord]:
        return [
            record
            for name, record in self.seen.items()
            if record.holder is not None and ((found := members.get(name)) is None or found.uid != record.uid)
        ]


def _leases(members: Mapping[str, MemberRecord]) -> set[float]:
    return {each.lease_seconds for each in members.values()}
