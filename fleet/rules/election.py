"""Electing the coordinator among agents: an ordinary lease election. Pure.

The election keeps two coordinators from planning against each other most of the time; it is not what makes ownership
safe. That is the compare-and-swap and the epoch on everything a coordinator writes (R10).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fleet.records.record import CoordinatorRecord, Incarnation
from fleet.rules.membership import Sighting


class Stand(NamedTuple):
    """Write `record` over its version: on success this candidate is in office."""

    record: CoordinatorRecord


class Watch(NamedTuple):
    """Somebody else is in office, as far as can be seen; look again no later than `until`."""

    until: float


def stand(
    me: Incarnation,
    found: CoordinatorRecord | None,
    *,
    sighting: Sighting,
    lease_seconds: float,
    known_epoch: int,
    reaped_predecessor: bool,
    now: float,
) -> Stand | Watch:
    """Whether this candidate may take the office. found: the record as just read. sighting: since when it stands so.

    An empty holder is free at once, and so is this candidate's own (the answer to its claim was lost). A holder that
    is an earlier incarnation of this very agent, reaped by the same supervisor, is gone for certain. Anybody else gets
    the lease that its own record grants. known_epoch: the highest in the map, which outlives a record that somebody
    deleted: an office below it could not write the map.
    """
    if found is None:
        return Stand(CoordinatorRecord(str(me), known_epoch + 1, lease_seconds))
    epoch = max(found.epoch, known_epoch) + 1
    candidate = Stand(
        CoordinatorRecord(str(me), epoch, lease_seconds, renewals=found.renewals + 1, version=found.version)
    )
    holder = Incarnation.parse(found.holder)
    reaped = (
        reaped_predecessor and holder is not None and holder.supervisor == me.supervisor and holder.count < me.count
    )
    if found.holder in ("", str(me)) or reaped:
        return candidate
    free_at = sighting.since + sighting.lease_seconds
    return candidate if now >= free_at else Watch(free_at)


def renewed(record: CoordinatorRecord) -> CoordinatorRecord:
    """The next renewal: it always changes the record."""
    return replace(record, renewals=record.renewals + 1)


def resigned(record: CoordinatorRecord) -> CoordinatorRecord:
    """An office given up: free for the next candidate at once."""
    return replace(record, holder="", renewals=record.renewals + 1)
