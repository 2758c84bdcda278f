"""What a candidate's own config says about its fleet."""

from __future__ import annotations

from dataclasses import dataclass

from shards.keyrange import PartitionKey


@dataclass(frozen=True, slots=True)
class FleetLayout:
    """What this process's own config says about the fleet as a whole.

    partition_key, shard_count: for a new fleet. Afterwards the map says what is in force, and follows the ConfigMap.
    """

    fleet: str
    identity: str
    partition_key: PartitionKey
    shard_count: int
