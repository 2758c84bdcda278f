"""Member and coordinator records as Leases, and back. Pure.

Shards are in `fleet.records.shard_lease`, the map is in `fleet.records.map_record`. Somebody may edit any of it by
hand, so decoding errs on the side of "held": what cannot be read is never free, and an epoch is the higher of the two
places that hold it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import msgspec

from fleet.records.coordination import MapUnreadable
from fleet.records.filter_record import FilterRecord
from fleet.records.lease import Lease, Times, check_owner, lease_object, lease_of, micro_time
from fleet.records.map_record import stored_map
from fleet.records.object_names import FLEET_LABEL, KIND_LABEL, Kind, Names
from fleet.records.record import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    CoordinatorRecord,
    Incarnation,
    MemberRecord,
    ShardRecord,
    StoredMap,
    natural,
)
from fleet.records.report_record import (
    FailingRecord,
    PartRecord,
    RolloutRecord,
    ShardLoad,
    WaitingRecord,
)
from fleet.records.shard_lease import shard_record
from shards.objects import Object

__all__ = [
    "NOBODY_KNOWN",
    "UNREADABLE_COORDINATOR_LEASE_SECONDS",
    "UNREADABLE_MEMBER_LEASE_SECONDS",
    "Lease",
    "Times",
    "coordinator_record",
    "lease_from_coordinator",
    "lease_from_member",
    "lease_of",
    "map_from_configmap",
    "member_record",
    "member_record_from_lease",
    "micro_time",
    "shard_record_from_lease",
]

_SPREAD = re.compile(r"\b([0-9a-f]{8}):([0-9]{1,12}(?:\.[0-9]{1,6})?(?:e\+[0-9]{1,2})?)(?= |$)")

R = TypeVar("R", FailingRecord, WaitingRecord, PartRecord, FilterRecord)

UNREADABLE_MEMBER_LEASE_SECONDS = 3600.0
"""Taken for a member's lease when its Lease does not say: a fence must not be early."""

UNREADABLE_COORDINATOR_LEASE_SECONDS = 60.0
"""The same for the coordinator, whose writes are safe even when it is replaced too early (R10)."""

NOBODY_KNOWN = Incarnation("emptied-by-hand", 0)
"""Holder of a member Lease that names none although nobody fenced it and it did not leave."""


def member_record_from_lease(obj: Object) -> MemberRecord | None:
    """None for any object that is no member Lease of any fleet. Raises ProtocolMismatch."""
    lease = lease_of(obj)
    if lease is None or lease.label(KIND_LABEL) != Kind.MEMBER:
        return None
    return member_record(lease, lease.label(FLEET_LABEL))


def shard_record_from_lease(obj: Object) -> ShardRecord | None:
    """None for any object that is no shard Lease of any fleet. Raises ProtocolMismatch."""
    lease = lease_of(obj)
    if lease is None or lease.label(KIND_LABEL) != Kind.SHARD:
        return None
    return shard_record(lease, lease.label(FLEET_LABEL))


def map_from_configmap(obj: Object) -> StoredMap | None:
    """None for any object that is no map, or a map that cannot be read. Raises ProtocolMismatch."""
    metadata = obj.get("metadata", {})
    labels = metadata.get("labels") or {}
    if labels.get(KIND_LABEL) != Kind.MAP:
        return None
    try:
        return stored_map(obj, labels.get(FLEET_LABEL, ""))
    except MapUnreadable:
        return None


def member_record(lease: Lease, fleet: str) -> MemberRecord | None:
    """None where the Lease's name is not one of the fleet's members. Raises ProtocolMismatch."""
    prefix = f"{fleet}-member-"
    if not lease.metadata.name.startswith(prefix):
        return None
    check_owner(lease, fleet)
    epoch = lease.epoch
    return MemberRecord(
        name=lease.metadata.name.removeprefix(prefix),
        holder=_member_holder(lease, epoch),
        epoch=epoch or 0,
        lease_seconds=lease.seconds(UNREADABLE_MEMBER_LEASE_SECONDS),
        revision=lease.note("revision"),
        leaving=lease.note("leaving") == "true",
        pod=lease.note("pod"),
        pid=natural(lease.note("pid")) or 0,
        seen_map=natural(lease.note("seen-map")) or 0,
        scope=lease.note("scope"),
        renewals=natural(lease.note("renewals")) or 0,
        loads=_loads(lease.note("loads")),
        failing=_each(lease.note("failing"), FailingRecord),
        waiting=_each(lease.note("waiting"), WaitingRecord),
        parts=_each(lease.note("parts"), PartRecord),
        rollout=_rollout(lease.note("rollout")),
        filters=_each(lease.note("filters"), FilterRecord),
        spread=_spread(lease.note("spread")),
        demand=natural(lease.note("demand")),
        weight=_weight(lease.note("weight")),
        version=lease.metadata.resource_version,
        uid=lease.metadata.uid,
    )


def foreign_member(lease: Lease, fleet: str) -> MemberRecord | None:
    """What stands for a member record of another protocol: held, and to be given nothing."""
    prefix = f"{fleet}-member-"
    if not lease.metadata.name.startswith(prefix) or lease.label(FLEET_LABEL) not in ("", fleet):
        return None
    return MemberRecord(
        name=lease.metadata.name.removeprefix(prefix),
        holder=NOBODY_KNOWN,
        epoch=lease.epoch or 0,
        lease_seconds=lease.seconds(UNREADABLE_MEMBER_LEASE_SECONDS),
        leaving=True,
        pod=lease.note("pod"),
        foreign=True,
        version=lease.metadata.resource_version,
        uid=lease.metadata.uid,
    )


def lease_from_member(names: Names, record: MemberRecord, *, replaces: str, times: Times) -> Object:
    """Raises ConfigError for a name that no Lease can have."""
    notes = {
        "revision": record.revision,
        "leaving": "true" if record.leaving else "",
        "pod": record.pod,
        "pid": str(record.pid) if record.pid else "",
        "seen-map": str(record.seen_map),
        "scope": record.scope,
        "renewals": str(record.renewals),
        "loads": _loads_text(record.loads),
        "failing": msgspec.json.encode(record.failing).decode() if record.failing else "",
        "waiting": msgspec.json.encode(record.waiting).decode() if record.waiting else "",
        "parts": _brief(record.parts),
        "rollout": msgspec.json.encode(record.rollout).decode() if record.rollout else "",
        "filters": _brief(record.filters),
        "spread": _spread_text(record.spread),
        "demand": "" if record.demand is None else str(record.demand),
        "weight": "" if record.weight == 1 else repr(record.weight),
        "left": "" if record.holder else str(record.epoch),
    }
    return lease_object(
        names,
        Kind.MEMBER,
        names.member(record.name),
        holder=str(record.holder) if record.holder else "",
        epoch=record.epoch,
        lease_seconds=record.lease_seconds,
        notes=notes,
        version=replaces,
        uid=record.uid,
        times=times,
    )


def _member_holder(lease: Lease, epoch: int | None) -> Incarnation | None:
    """None only when a fence or a leave said so under this very epoch; a holder emptied by hand may still be alive."""
    if lease.holder:
        return Incarnation.parse(lease.holder) or Incarnation(lease.holder, 0)
    left = natural(lease.note("left"))
    return None if left is not None and left == epoch else NOBODY_KNOWN


def _loads(text: str) -> Mapping[str, ShardLoad]:
    try:
        return msgspec.json.decode(text, type=dict[str, ShardLoad]) if text else {}
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _loads_text(loads: Mapping[str, ShardLoad]) -> str:
    """Without what is zero: a member may hold thousands of shards, most of them idle, and a Lease has its limit."""
    if not loads:
        return ""
    return msgspec.json.encode({each: _telling(load) for each, load in loads.items()}).decode()


def _brief(parts: tuple[PartRecord, ...] | tuple[FilterRecord, ...]) -> str:
    """The same of these."""
    return msgspec.json.encode([_telling(part) for part in parts]).decode() if parts else ""


def _telling(record: ShardLoad | PartRecord | FilterRecord) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if value}


def _weight(text: str) -> float:
    """1 for anything that is no weight: a member that cannot be weighed still counts."""
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if MIN_WEIGHT <= weight <= MAX_WEIGHT else 1.0


def _spread_text(spread: tuple[tuple[int, float], ...]) -> str:
    """The first 8 digits of each hash: a range that begins there has the whole namespace."""
    return " ".join(f"{value >> 32:08x}:{weight:g}" for value, weight in spread)


def _spread(text: str) -> tuple[tuple[int, float], ...]:
    found = _SPREAD.findall(text)
    return tuple((int(value, 16) << 32, float(weight)) for value, weight in found)


def _rollout(text: str) -> RolloutRecord | None:
    try:
        return msgspec.json.decode(text, type=RolloutRecord) if text else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def _each(text: str, kind: type[R]) -> tuple[R, ...]:
    """Those that were written down; none where somebody edited them."""
    try:
        return msgspec.json.decode(text, type=tuple[kind, ...]) if text else ()  # type: ignore[valid-type]
    except (msgspec.MsgspecError, RecursionError):
        return ()


def coordinator_record(lease: Lease, fleet: str) -> CoordinatorRecord:
    """An unreadable epoch is 0: what orders coordinators for good is the epoch in the map (R10).

    Raises ProtocolMismatch.
    """
    check_owner(lease, fleet)
    return CoordinatorRecord(
        holder=lease.holder,
        epoch=lease.epoch or 0,
        lease_seconds=lease.seconds(UNREADABLE_COORDINATOR_LEASE_SECONDS),
        renewals=natural(lease.note("renewals")) or 0,
        version=lease.metadata.resource_version,
    )


def lease_from_coordinator(names: Names, record: CoordinatorRecord, *, replaces: str, times: Times) -> Object:
    return lease_object(
        names,
        Kind.COORDINATOR,
        names.coordinator,
        holder=record.holder,
        epoch=record.epoch,
        lease_seconds=record.lease_seconds,
        notes={"renewals": str(record.renewals)},
        version=replaces,
        uid="",
        times=times,
    )
