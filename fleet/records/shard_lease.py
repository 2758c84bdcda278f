"""The record of a shard as a Lease, and back. Pure. See `fleet.records.lease_records`."""

from __future__ import annotations

import re

import msgspec

from fleet.records.coordination import ProtocolMismatch
from fleet.records.lease import Lease, Times, check_owner, lease_object
from fleet.records.object_names import Kind, Names
from fleet.records.record import (
    PROTOCOL_VERSION,
    Holder,
    ShardRecord,
    ShardStatus,
    Standby,
    natural,
)
from shards.gates.watermark import Watermark
from shards.keyrange import HASH_VERSION, KeyRange, PartitionKey
from shards.objects import Object
from shards.versions import version_key

MAX_WATERMARK_BYTES = 128 * 1024
"""All annotations of an object share 256 KiB. A longer watermark is left out: the next owner lists instead."""

_SHARD_NAME = re.compile(r"(.+)-shard-([a-z]+)v([0-9]{1,9})-([0-9a-f]{16}-[0-9a-f]{16})")


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
        covered = KeyRange.parse(match[4], PartitionKey(match[2]))
    except ValueError:
        return None
    epoch, status, holder = lease.epoch, lease.note("status"), Holder.parse(lease.holder)
    readable = epoch is not None and status in list(ShardStatus) and (holder is not None or not lease.holder)
    return ShardRecord(
        range=covered,
        status=ShardStatus(status) if readable else ShardStatus.ACTIVE,
        epoch=epoch or 0,
        holder=holder if readable else None,
        holder_text=lease.holder,
        released=natural(lease.note("released")) if readable else None,
        last_holder=Holder.parse(lease.note("last-holder")),
        watermark=_watermark(lease.note("watermark")),
        standby=_standby(lease.note("standby")),
        unowned_seconds=_seconds(lease.note("unowned-milliseconds")),
        version=lease.metadata.resource_version,
        uid=lease.metadata.uid,
    )


def foreign_shard(lease: Lease, fleet: str) -> ShardRecord | None:
    """What stands for a shard record of another protocol: nobody may claim, retire or go past it. None where not even
    its range is known."""
    match = _SHARD_NAME.fullmatch(lease.metadata.name)
    if match is None or match[1] != fleet or match[2] not in list(PartitionKey) or int(match[3]) != HASH_VERSION:
        return None
    return ShardRecord(
        range=KeyRange.parse(match[4], PartitionKey(match[2])),
        status=ShardStatus.ACTIVE,
        epoch=lease.epoch or 0,
        holder_text=lease.holder or "another protocol",
        foreign=True,
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
        "unowned-milliseconds": _milliseconds(record.unowned_seconds),
    }
    return lease_object(
        names,
        Kind.SHARD,
        names.shard(record.range),
        holder=str(record.holder) if record.holder else "",
        epoch=record.epoch,
        lease_seconds=None,
        notes=notes,
        version=replaces,
        uid=record.uid,
        times=times,
    )


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else str(max(0, round(1000 * seconds)))


def _seconds(milliseconds: str) -> float | None:
    count = natural(milliseconds)
    return None if count is None else count / 1000


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
