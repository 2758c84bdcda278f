"""Why a process must not join, or coordinate, the fleet that it found."""

from __future__ import annotations

from collections.abc import Collection

from fleet.records.record import PROTOCOL_VERSION, ShardMap
from shards.errors import ConfigError
from shards.keyrange import HASH_VERSION, PartitionKey


class Refused(ConfigError):
    """The map in force is not one that this process can serve (R7, R16)."""


def check_map(found: ShardMap, *, identity: str, keys: Collection[PartitionKey] = tuple(PartitionKey)) -> None:
    """identity: of the process. keys: those by which its objects can be divided. Raises Refused with what would be
    right."""
    if found.identity != identity:
        raise Refused(
            "controller",
            f"fleet {found.fleet} already runs other controllers (identity {found.identity}, this process has "
            f"{identity}); give this one another `fleet:` name",
        )
    if found.partition_key not in keys:
        raise Refused(
            "shards.partitionBy",
            f"fleet {found.fleet} is partitioned by {found.partition_key}, and the controllers of this process can be "
            f"served by {' or '.join(keys)} only; change the fleet's key first (fleet reshard --partition-by)",
        )
    if (found.protocol, found.hash_version) != (PROTOCOL_VERSION, HASH_VERSION):
        raise Refused(
            "",
            f"fleet {found.fleet} speaks protocol {found.protocol} with hash {found.hash_version}, this process "
            f"{PROTOCOL_VERSION} with hash {HASH_VERSION}",
        )
