"""Reads what `fleet status` shows: one list of Leases and one read of the map, as records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from fleet.records.controls import Controls, ControlsUnreadable, parse_controls
from fleet.records.coordination import ProtocolMismatch
from fleet.records.document import Unlabelled, labelled_document
from fleet.records.lease_records import (
    coordinator_record,
    foreign_member,
    lease_of,
    map_from_configmap,
    member_record_from_lease,
    shard_record_from_lease,
)
from fleet.records.object_names import CONFIG_MAPS, FLEET_LABEL, KIND_LABEL, LEASES, Kind, Names
from fleet.records.quarantine import Quarantine, QuarantineUnreadable, parse_quarantine
from fleet.records.record import CoordinatorRecord, DocumentName, MemberRecord, ShardMap, ShardRecord
from fleet.records.shard_lease import foreign_shard
from fleet.status.statusview import FleetStatus, Sight, fleet_status
from shards.api.client import Client
from shards.errors import Forbidden, NotFound, ShardError
from shards.keyrange import KeyRange
from shards.objects import Object

T = TypeVar("T")

_LONGEST_LOOK_SECONDS = 4.0


class FleetNotFound(ShardError):
    """No such fleet, or several where one was meant. The message names those that there are."""


class StatusReader:
    """Reads one fleet's status. today: the wall clock in epoch seconds, for hints only."""

    def __init__(self, client: Client, names: Names, *, today: Callable[[], float]) -> None:
        self._client = client
        self._names = names
        self._today = today

    async def read(self, *, patient: bool = False) -> FleetStatus:
        """One look. patient: where a timestamp makes somebody look silent, look again before saying so.

        Clocks may differ, so a renewal that arrives meanwhile counts for more than a timestamp. Raises ApiError,
        Unreachable.
        """
        return fleet_status(await self.sight(patient=patient))

    async def sight(self, *, patient: bool = False) -> Sight:
        """The same, as it was read."""
        first = await self._look()
        doubtful = [first.members[name] for name in first.silent if name and first.members[name].holder]
        if not patient or not doubtful:
            return first
        await asyncio.sleep(min(_LONGEST_LOOK_SECONDS, *(record.lease_seconds / 2 for record in doubtful)))
        second = await self._look()
        still = frozenset(name for name in second.silent & first.silent if not _moved(first, second, name))
        return replace(second, silent=still)

    async def _look(self) -> Sight:
        names = self._names
        selector = [("labelSelector", f"{FLEET_LABEL}={names.fleet}")]
        leases = await self._client.list(LEASES, names.namespace, query=selector)
        try:
            stored = map_from_configmap(await self._client.get(CONFIG_MAPS, names.namespace, names.map))
        except NotFound:
            stored = None
        sight = sight_of(names, stored.map if stored else None, leases["items"], self._today())
        controls, trouble = await self._document(DocumentName.CONTROLS, parse_controls, Controls())
        quarantine, unread = await self._document(DocumentName.QUARANTINE, parse_quarantine, Quarantine())
        return replace(
            sight,
            controls=controls,
            controls_trouble=trouble,
            quarantine=quarantine or Quarantine(),
            quarantine_trouble=unread,
        )

    async def _document(self, document: DocumentName, parse: Callable[[str], T], nothing: T) -> tuple[T | None, str]:
        """What it says, and why it cannot be read. nothing: where it is not there."""
        name = self._names.document(document)
        try:
            found = await self._client.get(CONFIG_MAPS, self._names.namespace, name)
            return parse(labelled_document(msgspec.json.encode(found), self._names).text), ""
        except NotFound:
            return nothing, ""
        except (ControlsUnreadable, QuarantineUnreadable, Forbidden, Unlabelled) as error:
            return None, str(error)


def sight_of(names: Names, shard_map: ShardMap | None, leases: Iterable[Object], now: float) -> Sight:
    """Records from the fleet's Leases. now: epoch seconds."""
    members: dict[str, MemberRecord] = {}
    shards: dict[KeyRange, ShardRecord] = {}
    coordinator: CoordinatorRecord | None = None
    ages: dict[str, float | None] = {}
    leases_seconds: dict[str, float] = {}
    for item in leases:
        if shard := _shard(item, names.fleet):
            shards[shard.range] = shard
        elif member := _member(item, names.fleet):
            members[member.name] = member
            ages[member.name], leases_seconds[member.name] = renewed_ago(item, now), member.lease_seconds
        elif (lease := lease_of(item)) and lease.label(KIND_LABEL) == Kind.COORDINATOR:
            coordinator = coordinator_record(lease, names.fleet)
            ages[""], leases_seconds[""] = renewed_ago(item, now), coordinator.lease_seconds
    return Sight(
        fleet=names.fleet,
        namespace=names.namespace,
        map=shard_map,
        members=members,
        shards=shards,
        coordinator=coordinator,
        # A timestamp from the future comes from a clock that differs: no ground to call somebody alive.
        silent=frozenset(name for name, age in ages.items() if age is None or not 0 <= age <= leases_seconds[name]),
        renewed_ago={name: age for name, age in ages.items() if age is not None},
        at=now,
    )


def _shard(item: Object, fleet: str) -> ShardRecord | None:
    try:
        return shard_record_from_lease(item)
    except ProtocolMismatch:
        lease = lease_of(item)
        return foreign_shard(lease, fleet) if lease is not None else None


def _member(item: Object, fleet: str) -> MemberRecord | None:
    try:
        return member_record_from_lease(item)
    except ProtocolMismatch:
        lease = lease_of(item)
        return foreign_member(lease, fleet) if lease is not None else None


def renewed_ago(lease: Object, now: float) -> float | None:
    """Seconds since a Lease's renewTime by the clock here; None where it cannot be read. now: epoch seconds."""
    text = (lease.get("spec") or {}).get("renewTime")
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


async def find_fleet(client: Client, namespace: str, wanted: str = "") -> Names:
    """The fleet whose map is in the namespace. wanted: its name, "" for the only one. Raises FleetNotFound."""
    found = await client.list(CONFIG_MAPS, namespace, query=[("labelSelector", f"{KIND_LABEL}={Kind.MAP}")])
    fleets = sorted((item["metadata"].get("labels") or {}).get(FLEET_LABEL, "") for item in found["items"])
    if wanted and wanted not in fleets:
        there = f"those that are there: {', '.join(fleets)}" if fleets else "there is none; has it been started?"
        raise FleetNotFound(f"no fleet {wanted!r} in namespace {namespace!r}; {there}")
    if not wanted and len(fleets) != 1:
        what = f"several fleets ({', '.join(fleets)}); choose one with --fleet" if fleets else "no fleet"
        raise FleetNotFound(f"namespace {namespace!r} has {what}{'' if fleets else '; choose another with -n'}")
    return Names(wanted or fleets[0], namespace)


def _moved(first: Sight, second: Sight, name: str) -> bool:
    if name:
        return first.members[name].version != second.members[name].version
    before, after = first.coordinator, second.coordinator
    return before is not None and after is not None and before.version != after.version
