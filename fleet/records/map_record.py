"""The map as a ConfigMap, and back. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec

from fleet.records.coordination import MapUnreadable, ProtocolMismatch
from fleet.records.object_names import Kind, Names
from fleet.records.record import PROTOCOL_VERSION, ShardMap, Share, StoredMap
from shards.keyrange import HASH_VERSION, KeyRange, PartitionKey, ranges_from
from shards.objects import Object

_MAP_KEY = "map.json"
_Natural = Annotated[int, msgspec.Meta(ge=0)]


class _MapMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _MapObject(msgspec.Struct):
    """As much of a ConfigMap as holds a map."""

    metadata: _MapMetadata
    data: dict[str, str] | None = None


class _MapHead(msgspec.Struct, rename="camel"):
    protocol: int
    hash_version: int


class _MapBody(msgspec.Struct, rename="camel"):
    """Hashes are text of 16 hex digits: numbers above 2**53 do not survive every JSON reader. A range of another
    partition key than the map's says so."""

    protocol: int
    hash_version: int
    version: _Natural
    coordinator_epoch: _Natural
    fleet: str
    identity: str
    partition_key: PartitionKey
    boundaries: list[str]
    targets: list[str]
    opened: list[str]
    retiring: list[str]
    lost: dict[str, _Natural]
    floors: dict[str, _Natural]
    shard_epochs: dict[str, _Natural]
    config_version: str
    shares: dict[str, tuple[_Natural, _Natural, _Natural, _Natural]] = {}
    moved_at: _Natural = 0
    forgotten_ranges: _Natural = 0
    forgotten: _Natural = 0
    base_count: _Natural = 0
    requests_done: _Natural = 0
    config_refused: str = ""


def stored_map(obj: Object, fleet: str) -> StoredMap:
    """Raises MapUnreadable, and ProtocolMismatch for a protocol or hash that this program does not know."""
    version = ""
    try:
        stored = msgspec.convert(obj, _MapObject)
        version = stored.metadata.resource_version
        text = (stored.data or {}).get(_MAP_KEY, "")
        head = msgspec.json.decode(text, type=_MapHead)
        if (head.protocol, head.hash_version) != (PROTOCOL_VERSION, HASH_VERSION):
            raise ProtocolMismatch(
                "",
                f"the map of fleet {fleet!r} has protocol {head.protocol} and hash version {head.hash_version}; "
                f"this program knows {PROTOCOL_VERSION} and {HASH_VERSION} only",
            )
        found = _map(msgspec.json.decode(text, type=_MapBody))
        _check_map(found, fleet)
    except (ValueError, RecursionError) as error:  # of msgspec, KeyRange and _check_map; brackets a thousand deep
        raise MapUnreadable(f"the map of fleet {fleet!r} cannot be read: {error}", version) from error
    return StoredMap(found, version)


def configmap_from_map(names: Names, new: ShardMap, *, replaces: str) -> Object:
    """Raises ValueError for a map that could not be read back."""
    _check_map(new, names.fleet)
    key = new.partition_key
    body = _MapBody(
        protocol=new.protocol,
        hash_version=new.hash_version,
        version=new.version,
        coordinator_epoch=new.coordinator_epoch,
        fleet=new.fleet,
        identity=new.identity,
        partition_key=new.partition_key,
        boundaries=[f"{first:016x}" for first in new.boundaries],
        targets=list(new.targets),
        opened=[each.text(key) for each in sorted(new.opened)],
        retiring=[each.text(key) for each in sorted(new.retiring)],
        lost={each.text(key): since for each, since in sorted(new.lost.items())},
        floors=dict(sorted(new.floors.items())),
        shard_epochs={each.text(key): epoch for each, epoch in sorted(new.shard_epochs.items())},
        config_version=new.config_version,
        shares=dict(sorted(new.shares.items())),
        moved_at=new.moved_at,
        forgotten_ranges=new.forgotten_ranges,
        forgotten=new.forgotten,
        base_count=new.base_count,
        requests_done=new.requests_done,
        config_refused=new.config_refused,
    )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": names.metadata(Kind.MAP, names.map, version=replaces),
        "data": {_MAP_KEY: msgspec.json.format(msgspec.json.encode(body), indent=1).decode()},
    }


def _map(body: _MapBody) -> ShardMap:
    def parsed(text: str) -> KeyRange:
        return KeyRange.parse(text, body.partition_key)

    return ShardMap(
        version=body.version,
        coordinator_epoch=body.coordinator_epoch,
        fleet=body.fleet,
        identity=body.identity,
        partition_key=body.partition_key,
        boundaries=tuple(int(first, 16) for first in body.boundaries),
        targets=tuple(body.targets),
        opened=frozenset(map(parsed, body.opened)),
        retiring=frozenset(map(parsed, body.retiring)),
        lost={parsed(text): since for text, since in body.lost.items()},
        floors=body.floors,
        shard_epochs={parsed(text): epoch for text, epoch in body.shard_epochs.items()},
        config_version=body.config_version,
        hash_version=body.hash_version,
        protocol=body.protocol,
        shares={name: Share(*share) for name, share in body.shares.items()},
        moved_at=body.moved_at,
        forgotten_ranges=body.forgotten_ranges,
        forgotten=body.forgotten,
        base_count=body.base_count,
        requests_done=body.requests_done,
        config_refused=body.config_refused,
    )


def check_layout(found: ShardMap) -> None:
    """Raises ValueError for boundaries that are none, or that do not fit the targets."""
    if len(ranges_from(found.boundaries)) != len(found.targets):
        raise ValueError(f"{len(found.boundaries)} boundaries and {len(found.targets)} targets")


def _check_map(found: ShardMap, fleet: str) -> None:
    if found.fleet != fleet:
        raise ValueError(f"it is the map of fleet {found.fleet!r}")
    check_layout(found)
