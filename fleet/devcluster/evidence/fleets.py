"""Keeps the fleets of one server apart: every Lease belongs to one of them, and so does every author."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fleet.devcluster.evidence.ownership import Ownership
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan
from fleet.devcluster.recording.journal import Entry
from fleet.records.object_names import FLEET_LABEL
from fleet.records.record import Holder
from shards.api.useragent import UserAgent


class Fleets:
    """The ownership of each fleet, by "namespace/name": fleets never overlap with each other."""

    def __init__(self) -> None:
        self._fleets: dict[str, Ownership] = {}

    def follow(self, entry: Entry, *, by_hand: bool = False) -> Iterator[str]:
        """Takes in a successful write of a Lease; yields each overlap that begins with it. by_hand: by no fleet."""
        obj = entry.decoded()
        label = (obj["metadata"].get("labels") or {}).get(FLEET_LABEL, "") if obj else ""
        if entry.removed:
            # What was removed is known by its name: the record of a delete need not hold the object.
            for each in self._fleets.values():
                yield from each.follow(entry, by_hand=by_hand)
        elif label:
            fleet = f"{entry.namespace}/{label}"
            yield from self._fleets.setdefault(fleet, Ownership(fleet)).follow(entry, by_hand=by_hand)

    def lost(self) -> None:
        """The journal lost entries here."""
        for each in self._fleets.values():
            each.lost()

    def doubt(self, namespace: str, name: str) -> None:
        """Nobody knows whether a write of that Lease was carried out."""
        for each in self._fleets.values():
            each.doubt(namespace, name)

    def named(self, fleet: str) -> Ownership:
        """fleet: "namespace/name"."""
        return self._fleets.setdefault(fleet, Ownership(fleet))

    def owner_of(self, namespace: str, name: str) -> Ownership | None:
        """The fleet to which a Lease of that name belongs, as far as it was seen written."""
        return next((each for each in self._fleets.values() if each.named(namespace, name) is not None), None)

    def author_of(self, agent: UserAgent, holder: Holder, key: tuple[str, str, str]) -> Ownership:
        """The fleet that a write came from. key: namespace, name and UID.

        The one that has a member of that name; where several have, the one that has the range too. Fleets that are
        alike in both are told apart by who may write: nothing else in a User-Agent differs, and a write that one of
        them may make is no finding.
        """
        fleets = list(self._fleets.values()) or [Ownership()]
        fleets = [each for each in fleets if each.has_member(holder.member)] or fleets
        fleets = [each for each in fleets if each.has_had_range(agent.range)] or fleets
        return next((each for each in fleets if each.alive(holder) and each.holds(holder, *key)), fleets[0])

    @property
    def takeovers(self) -> int:
        return sum(each.takeovers for each in self._fleets.values())

    @property
    def member_writes(self) -> int:
        return sum(each.member_writes for each in self._fleets.values())

    @property
    def lease_writes(self) -> dict[str, int]:
        """Per range, over all fleets."""
        return dict(sum((each.lease_writes for each in self._fleets.values()), Counter[str]()))

    def timeline(self) -> dict[str, list[OwnershipSpan]]:
        """Per range, in the order of the claims."""
        found: dict[str, list[OwnershipSpan]] = {}
        for fleet in self._fleets.values():
            for covered, spans in fleet.spans.items():
                found.setdefault(covered, []).extend(spans)
        for spans in found.values():
            spans.sort(key=lambda span: span.claimed_seq)
        return found

    def gaps(self) -> Sequence[Gap]:
        """Closed ones, then those that last."""
        every = [gap for fleet in self._fleets.values() for gap in fleet.all_gaps()]
        return sorted(every, key=lambda gap: gap.ended_at is None)
