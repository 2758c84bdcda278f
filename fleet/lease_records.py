"""Member, shard and coordinator records as Leases, and back. Pure; the map is in `fleet.map_record`.

Somebody may edit any of it by hand, so decoding errs on the side of "held": what cannot be read is never free, and an
epoch is the higher of the two places that hold it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TypeVar

import msgspec

from fleet.coordination import (
    PROTOCOL_VERSION,
    CoordinatorRecord,
    FailingRecord,
    Holder,
    Incarnation,
    MapUnreadable,
    MemberRecord,
    ProtocolMismatch,
    ShardLoad,
    ShardRecord,
    ShardStatus,
    Standby,
    StoredMap,
    WaitingRecord,
    natural,
)
from fleet.lease import Lease, Times, check_owner, lease_object, lease_of, micro_time
from fleet.map_record import stored_map
from fleet.object_names import FLEET_LABEL, KIND_LABEL, Kind, Names
from shards.keyrange import HASH_VERSION, KeyRange, PartitionKey
from shards.objects import Object, version_key
from shards.watermark import Watermark

__all__ = [
    "MAX_WATERMARK_BYTES",
    "NOBODY_KNOWN",
    "UNREADABLE_COORDINATOR_LEASE_SECONDS",
    "UNREADABLE_MEMBER_LEASE_SECONDS",
    "Lease",
    "Times",
    "coordinator_record",
    "lease_from_coordinator",
    "lease_from_member",
    "lease_from_shard",
    "lease_of",
    "map_from_configmap",
    "member_record",
    "member_record_from_lease",
    "micro_time",
    "shard_record",
    "shard_record_from_lease",
]

R = TypeVar("R", FailingRecord, WaitingRecord)

MAX_WATERMARK_BYTES = 128 * 1024
"""All annotations of an object share 256 KiB. A longer watermark is left out: the next owner lists instead."""

UNREADABLE_MEMBER_LEASE_SECONDS = 3600.0
"""Taken for a member's lease when its Lease does not say: a fence must not be early."""

UNREADABLE_COORDINATOR_LEASE_SECONDS = 60.0
"""The same for the coordinator, whose writes are safe even when it is replaced too early (R10)."""

NOBODY_KNOWN = Incarnation("emptied-by-hand", 0)
"""Holder of a member Lease that names none although nobody fenced it and it did not leave."""

_SHARD_NAME = re.compile(r"(.+)-shard-([a-z]+)v([0-9]{1,9})-([0-9a-f]{16}-[0-9a-f]{16})")


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
    telling = {each: {name: value for name, value in asdict(load).items() if value} for each, load in loads.items()}
    return msgspec.json.encode(telling).decode()


def _each(text: str, kind: type[R]) -> tuple[R, ...]:
    """Those that were written down; none where somebody edited them."""
    try:
        return msgspec.json.decode(text, type=tuple[kind, ...]) if text else ()  # type: ignore[valid-type]
    except (msgspec.MsgspecError, RecursionError):
        return ()


def shard_record(lease: Lease, fleet: str) -> ShardRecord | None:
    """None where the Lease's name is not one of the fleet's ranges. Raises ProtocolMismatch.

    A Lease whose epoch, status or holder cannot be read is active, with no holder and no release stamp: nobody may
    claim, retire or go past it (R3, R8, R9), and its owner, no longer named, stops.
    """
    match = _SHARD_NAME.fullmatch(lease.metadata.name)
    if match is None or match[1] != fleet:
        return None
    check_owner(lease, fleet)
    if match[2] not in list(PartitionKey) or int(match[3]) != HASH_VERSION:
        raise ProtocolMismatch("", f"shard Lease {lease.metadata.name} has an unknown partition key or hash version")
    try:
        covered = KeyRange.parse(match[4])
    except ValueError:
        return None
    epoch, status, holder = lease.epoch, lease.note("status"), Holder.parse(lease.holder)
    readable = epoch is not None and status in list(ShardStatus) and (holder is not None or not lease.holder)
    return ShardRecord(
        range=covered,
        partition_key=PartitionKey(match[2]),
        status=ShardStatus(status) if readable else ShardStatus.ACTIVE,
        epoch=epoch or 0,
        holder=holder if readable else None,
        holder_text=lease.holder,
        released=natural(lease.note("released")) if readable else None,
        last_holder=Holder.parse(lease.note("last-holder")),
        watermark=_watermark(lease.note("watermark")),
        standby=_standby(lease.note("standby")),
        version=lease.metadata.resource_version,
        uid=lease.metadata.uid,
    )


def lease_from_shard(names: Names, record: ShardRecord, *, replaces: str, times: Times) -> Object:
    """`holder_text` is what was read, not what is written: the holder alone decides."""
    notes = {
        "status": str(record.status),
        "released": "" if record.released is None else str(record.released),
        "last-holder": str(record.last_holder) if record.last_holder else "",
        "watermark": _watermark_text(record.watermark),
        "standby": _standby_text(record.standby),
    }
    return lease_object(
        names,
        Kind.SHARD,
        names.shard(record.range, record.partition_key),
        holder=str(record.holder) if record.holder else "",
        epoch=record.epoch,
        lease_seconds=None,
        notes=notes,
        version=replaces,
        uid=record.uid,
        times=times,
    )


class _StoredWatermark(msgspec.Struct):
    protocol: int
    watermark: Watermark


def _watermark_text(watermark: Watermark | None) -> str:
    if watermark is None:
        return ""
    encoded = msgspec.json.encode(_StoredWatermark(PROTOCOL_VERSION, watermark))
    return encoded.decode() if len(encoded) <= MAX_WATERMARK_BYTES else ""


def _watermark(text: str) -> Watermark | None:
    """None for what cannot be trusted whole: a list after the claim replaces it."""
    try:
        stored = msgspec.json.decode(text, type=_StoredWatermark)
        for mark in stored.watermark.marks.values():
            for version in (mark.resource_version, *(unseen.resource_version for unseen in mark.unseen)):
                if version:
                    version_key(version)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors too
        return None
    return stored.watermark if stored.protocol == PROTOCOL_VERSION else None


class _StoredStandby(msgspec.Struct):
    holder: str
    epoch: int


def _standby_text(standby: Standby | None) -> str:
    return msgspec.json.encode(_StoredStandby(str(standby.holder), standby.epoch)).decode() if standby else ""


def _standby(text: str) -> Standby | None:
    try:
        stored = msgspec.json.decode(text, type=_StoredStandby)
    except (msgspec.MsgspecError, RecursionError):
        return None
    holder = Holder.parse(stored.holder)
    return Standby(holder, stored.epoch) if holder else None


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
