"""One reading of the whole fleet: what a coordinator decides from. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.records.controls import Controls
from fleet.records.record import MemberRecord, ShardMap, ShardRecord
from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of everything. own_renewal_at: send time of the coordinator's last acknowledged renewal.

    None of the mappings changes afterwards, and two looks may share them: what is the same object says the same.
    controls: what people ordered. today: seconds since 1970, 0.0 where nobody has said so.
    """

    epoch: int
    map: ShardMap
    shards: Mapping[KeyRange, ShardRecord]
    members: Mapping[str, MemberRecord]
    own_renewal_at: float
    lease_seconds: float
    controls: Controls = field(default_factory=Controls)
    today: float = 0.0
