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
    know. longest: lease of any record so far, in seconds.
    """

    seen: Mapping[str, MemberRecord] = field(default_factory=dict)
    since: float | None = None
    longest: float = 0.0
    gone: dict[tuple[str, str], Vanished] = field(default_factory=dict)
    """By name, and UID of the record."""

    def observe(self, members: Mapping[str, MemberRecord], now: float) -> None:
        """members: all that are in the view now. Records without a holder are of nobody who could act."""
        if members and self.since is None:
            self.since = now
        self.longest = max([self.longest, *(each.lease_seconds for each in members.values())])
        missing = self._missing(members)
        if missing:
            self.gone = {key: each for key, each in self.gone.items() if now <= each.until}
        for record in missing:
            self.gone[record.name, record.uid] = Vanished(record, now + self.longest)
        self.seen = members

    def everybody(self, members: Iterable[MemberRecord], now: float) -> list[MemberRecord]:
        """Those, and stand-ins for who may still act beside them, none of whom has repeated any map."""
        found = list(members)
        missing = self._missing({each.name: each for each in found})
        missing += [each.record for each in self.gone.values() if now <= each.until]
        if self.since is None or now - self.since <= self.longest:
            missing.append(MemberRecord("", NOBODY_KNOWN, 0, self.longest))
        return found + [MemberRecord(each.name, each.holder, each.epoch, each.lease_seconds) for each in missing]

    def _missing(self, members: Mapping[str, MemberRecord]) -> list[MemberRecord]:
        return [
            record
            for name, record in self.seen.items()
            if record.holder is not None and ((found := members.get(name)) is None or found.uid != record.uid)
        ]
