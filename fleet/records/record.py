"""What a fleet knows of its members, shards, map and coordinator: records, as every backend keeps them.

Rules R1 to R16 of the design are written in terms of these. Epochs only grow. `version` is that of the record as it was
read: what replaces it names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from fleet.records.filter_record import FilterRecord
from fleet.records.report_record import FailingRecord, PartRecord, RolloutRecord, ShardLoad, WaitingRecord
from shards.gates.watermark import Watermark
from shards.keyrange import HASH_VERSION, KeyRange, PartitionKey, range_of, ranges_from

PROTOCOL_VERSION = 1
"""Written into the map and every member record; an unknown one is refused."""


def natural(text: str) -> int | None:
    """The number that the text is; None for anything else: other alphabets' digits, signs, more than 18 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


class Holder(NamedTuple):
    """One incarnation of a member."""

    member: str
    epoch: int

    def __str__(self) -> str:
        return f"{self.member}@{self.epoch}"

    @classmethod
    def parse(cls, text: str) -> Holder | None:
        """None for "" and for anything that is no holder (somebody edited the Lease by hand)."""
        member, _, digits = text.rpartition("@")
        epoch = natural(digits)
        return cls(member, epoch) if member and epoch is not None else None


@dataclass(frozen=True, slots=True)
class Incarnation:
    """Who holds a member record.

    supervisor: pod UID and a nonce of the supervisor's start (R1). count: its n-th fork of this slot.
    """

    supervisor: str
    count: int

    def __str__(self) -> str:
        return f"{self.supervisor}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Incarnation | None:
        supervisor, _, digits = text.rpartition("/")
        count = natural(digits)
        return cls(supervisor, count) if supervisor and count is not None else None


MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """One worker's claim to be alive. holder None: fenced, or left for good."""

    name: str
    holder: Incarnation | None
    epoch: int
    lease_seconds: float
    revision: str = ""
    leaving: bool = False
    pod: str = ""
    pid: int = 0
    seen_map: int = 0
    """Version of the map that this member follows (R13)."""
    scope: str = ""
    """Digest of the controllers' resources and selectors; another scope means list-after-claim."""
    renewals: int = 0
    """Rises with every renewal, so that a renewal always changes the record."""
    loads: Mapping[str, ShardLoad] = field(default_factory=dict)
    failing: tuple[FailingRecord, ...] = ()
    """Some of the keys that keep failing, the longest first; `loads` says how many there are."""
    waiting: tuple[WaitingRecord, ...] = ()
    """The same of keys that wait for long."""
    parts: tuple[PartRecord, ...] = ()
    """How its controllers fare, with and without the features of the canary."""
    rollout: RolloutRecord | None = None
    """None for a member of a version that knows no canary."""
    filters: tuple[FilterRecord, ...] = ()
    """What the views of its open shards stand on."""
    spread: tuple[tuple[int, float], ...] = ()
    """Hashes of namespaces, rising, each with the objects in its shards from there up to the next: a sketch of them."""
    demand: int | None = None
    """What it needs of the fleet's budget of requests, in PARTS of it; None where it knows of no budget."""
    weight: float = 1.0
    """Its fair share of the load, as a multiple of another member's: MIN_WEIGHT to MAX_WEIGHT."""
    foreign: bool = False
    """Written by another version of the protocol: somebody who is there, of whom nothing is known, and whose record
    nobody here writes."""
    version: str = ""
    uid: str = ""


class ShardStatus(StrEnum):
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Standby:
    """A synced view without the right to act. epoch: the shard epoch that the standby saw; another one voids it."""

    holder: Holder
    epoch: int


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """One range. epoch grows with every claim, retire and activate."""

    range: KeyRange
    status: ShardStatus
    epoch: int
    holder: Holder | None = None
    holder_text: str = ""
    """Raw holder, so that text which is no holder is not taken for none."""
    released: int | None = None
    """Release stamp: equals `epoch` when the holder was emptied by a release and not by hand (R3)."""
    last_holder: Holder | None = None
    foreign: bool = False
    """Written by another version of the protocol: held, by nobody who is known, and never written here."""
    watermark: Watermark | None = None
    standby: Standby | None = None
    unowned_seconds: float | None = None
    """Of a release: how long its holder had refused new keys when it was sent."""
    version: str = ""
    uid: str = ""

    @property
    def partition_key(self) -> PartitionKey:
        return self.range.key


PARTS = 1_000_000
"""The fleet's budget of requests is divided into so many parts."""


class Share(NamedTuple):
    """A member's share of the budget, in PARTS. parts: what its incarnation of that epoch may use now.

    before: the most that it may be using until it follows the map of version `since`.
    """

    parts: int
    before: int
    since: int
    epoch: int


@lru_cache(maxsize=8)
def _layout(boundaries: tuple[int, ...], key: PartitionKey) -> tuple[KeyRange, ...]:
    """The layout in force is that of many maps, one after the other: 4,096 ranges take 3 ms to make."""
    return ranges_from(boundaries, key)


@dataclass(frozen=True)
class ShardMap:
    """The assignment. Boundaries instead of pairs, so that a gap or an overlap cannot be written down."""

    version: int
    coordinator_epoch: int
    fleet: str
    identity: str
    """Digest of controllers and primaries: another identity refuses to join (R16)."""
    partition_key: PartitionKey
    boundaries: tuple[int, ...]
    targets: tuple[str, ...]
    """Member per range; "" = nobody yet."""
    opened: frozenset[KeyRange] = frozenset()
    retiring: frozenset[KeyRange] = frozenset()
    lost: Mapping[KeyRange, int] = field(default_factory=dict)
    """Opened ranges whose Lease was found missing or edited by hand, with the map version that first said so: nobody
    claims them, and they come back only when every live member follows that version (R14)."""
    floors: Mapping[str, int] = field(default_factory=dict)
    """Per member: epochs below are dead (R6)."""
    shard_epochs: Mapping[KeyRange, int] = field(default_factory=dict)
    """Highest epoch remembered per opened range, for Leases that somebody deleted (R14)."""
    config_version: str = ""
    hash_version: int = HASH_VERSION
    protocol: int = PROTOCOL_VERSION
    shares: Mapping[str, Share] = field(default_factory=dict)
    """Per member: what it may use of the fleet's budget of requests. Empty: nobody has planned it."""
    moved_at: int = 0
    """When ranges were last moved by choice, or cut: seconds since 1970 on that coordinator's clock; 0 = never. Only
    ever makes the next such round later."""
    forgotten_ranges: int = 0
    """The highest epoch of any range whose record was collected: one that comes back begins above it (R15)."""
    forgotten: int = 0
    """The highest epoch of any member whose record was collected: whoever begins without one begins above it (R15)."""
    base_count: int = 0
    """The `shards.count` that the layout was made for; single ranges were split and merged since. 0: as many as it
    has. Another count in the config makes another layout."""
    requests_done: int = 0
    """The last request for a split or a merge (`fleet.records.controls`) that was carried out or refused."""
    config_refused: str = ""
    """Why a config that is newer than `config_version` is not followed, after its version; "" when it is."""

    @cached_property
    def ranges(self) -> tuple[KeyRange, ...]:
        return _layout(self.boundaries, self.partition_key)

    def target_of(self, wanted: KeyRange) -> str | None:
        """The member that should own the range; None when the range is not in the layout."""
        i = range_of(wanted.first, self.boundaries)
        return self.targets[i] if self.ranges[i] == wanted else None


class StoredMap(NamedTuple):
    map: ShardMap
    version: str
    """CAS token of the backend, not `map.version`."""


class DocumentName(StrEnum):
    """A setting of the whole fleet that people write."""

    CONFIG = "config"
    CONTROLS = "controls"
    QUARANTINE = "quarantine"


class Document(NamedTuple):
    """One such setting, as text. Whoever uses it reads it, and says what is wrong with it."""

    name: DocumentName
    text: str
    version: str
    """CAS token; grows with every change, also over a deletion."""


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """Ordinary leader election among agents. holder "" = free."""

    holder: str
    epoch: int
    lease_seconds: float
    renewals: int = 0
    version: str = ""
