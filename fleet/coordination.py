"""The coordination protocol: records of members, shards, the map and the coordinator, and the store that holds them.

Rules R1 to R16 of the design are written in terms of these records. Backends: `fleet.kubernetes_leases`, `fleet.local`.
Every write is a compare-and-swap: a record that was read carries a `version`, and a write names the version that it
replaces ("" = must not exist). Epochs only grow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from shards.errors import ConfigError
from shards.keyrange import HASH_VERSION, SPACE, KeyRange, PartitionKey, range_of, ranges_from
from shards.watermark import Watermark

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
class ShardLoad:
    """What one shard cost lately; rides on the member record."""

    objects: int = 0
    queue_depth: int = 0
    parked: int = 0
    failing: int = 0
    """Keys that keep failing."""
    waiting: int = 0
    """Keys that wait for long."""
    reconciles_per_second: float = 0.0
    reconcile_seconds_per_second: float = 0.0
    closed: str = ""
    """Why its reconciles have not begun; "" once they have."""


@dataclass(frozen=True, slots=True)
class FailingRecord:
    """A key that keeps failing; rides on the member record. since: seconds since 1970 on the member's clock.

    range: of its shard. error: without values of any object. terminal: not tried again until the object changes.
    """

    controller: str
    key: str
    range: str
    since: int
    count: int
    error: str
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class WaitingRecord:
    """A key that waits for long, and does not fail; rides likewise. times: how often in a row it was told to wait.

    waits_for: a word of `shards.waiting_keys.WaitsFor`. why: without values of any object.
    """

    controller: str
    key: str
    range: str
    since: int
    times: int
    waits_for: str
    why: str


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
    partition_key: PartitionKey
    status: ShardStatus
    epoch: int
    holder: Holder | None = None
    holder_text: str = ""
    """Raw holder, so that text which is no holder is not taken for none."""
    released: int | None = None
    """Release stamp: equals `epoch` when the holder was emptied by a release and not by hand (R3)."""
    last_holder: Holder | None = None
    watermark: Watermark | None = None
    standby: Standby | None = None
    version: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
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

    @property
    def ranges(self) -> tuple[KeyRange, ...]:
        return ranges_from(self.boundaries)

    def target_of(self, wanted: KeyRange) -> str | None:
        """The member that should own the range; None when the range is not in the layout."""
        i = range_of(wanted.first, self.boundaries)
        end = self.boundaries[i + 1] if i + 1 < len(self.boundaries) else SPACE
        return self.targets[i] if wanted.first == self.boundaries[i] and wanted.last == end - 1 else None


class StoredMap(NamedTuple):
    map: ShardMap
    version: str
    """CAS token of the backend, not `map.version`."""


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """Ordinary leader election among agents. holder "" = free."""

    holder: str
    epoch: int
    lease_seconds: float
    renewals: int = 0
    version: str = ""


class CasConflict(Exception):
    """The record is no longer at the version that the write named. Read it again, live."""


class CoordinationUnavailable(Exception):
    """The store gave no answer or an error.

    maybe_applied: a write may have been carried out; treat the record as unknown until a live read.
    """

    def __init__(self, message: str, *, maybe_applied: bool = False) -> None:
        super().__init__(message)
        self.maybe_applied = maybe_applied


class MapUnreadable(CoordinationUnavailable):
    """The stored map is no map: somebody edited it. Workers keep the last one; a coordinator may replace `version`."""

    def __init__(self, message: str, version: str) -> None:
        super().__init__(message)
        self.version = version


class ProtocolMismatch(ConfigError):
    """A record was written by another version of the protocol, or for another fleet: neither read nor overwritten."""


class Change(NamedTuple):
    """One step of a watch. kind: what moved. synced: the view is complete at least once.

    kind "shard" names a range by str(KeyRange), "member" a name, "map" and "coordinator" nothing.
    """

    kind: str
    name: str
    synced: bool


class Coordination(Protocol):
    """A backend. Reads named read_* and list_* are live (quorum); the `view` is a watched cache that may lag.

    Writes return the record as stored (with its new version) and raise CasConflict or CoordinationUnavailable.
    not_after: boot-clock reading; the write is not sent after it (raises CoordinationUnavailable, maybe_applied False).
    """

    async def read_map(self) -> StoredMap | None: ...

    async def write_map(self, new: ShardMap, replaces: str, *, not_after: float | None = None) -> StoredMap: ...

    async def read_member(self, name: str) -> MemberRecord | None: ...

    async def list_members(self) -> list[MemberRecord]: ...

    async def write_member(
        self, new: MemberRecord, replaces: str, *, not_after: float | None = None
    ) -> MemberRecord: ...

    async def delete_member(self, record: MemberRecord) -> None: ...

    async def read_shard(self, wanted: KeyRange, partition_key: PartitionKey = PartitionKey.UID) -> ShardRecord | None:
        """partition_key: the map's; ranges of two keys have records of their own."""
        ...

    async def list_shards(self) -> list[ShardRecord]: ...

    async def write_shard(self, new: ShardRecord, replaces: str, *, not_after: float | None = None) -> ShardRecord: ...

    async def delete_shard(self, record: ShardRecord) -> None: ...

    async def read_coordinator(self) -> CoordinatorRecord | None: ...

    async def write_coordinator(
        self, new: CoordinatorRecord, replaces: str, *, not_after: float | None = None
    ) -> CoordinatorRecord: ...

    def watch(self, *, members: bool) -> CoordinationView:
        """Starts to follow map and shards, and members where asked for (coordinator candidates only)."""
        ...


class CoordinationView(Protocol):
    """A watched cache. `map`, `shards`, `members` are plain values that change between awaits.

    It includes what the same Coordination wrote or read last, and no record in it goes back to an earlier version.
    """

    @property
    def map(self) -> StoredMap | None:
        """None: there is none, or none that can be read."""
        ...

    @property
    def last_map(self) -> StoredMap | None:
        """The last map that could be read: what workers go on with while it is missing (R14)."""
        ...

    @property
    def shards(self) -> Mapping[KeyRange, ShardRecord]:
        """Those under the partition key of `last_map`; without a map, all of them."""
        ...

    @property
    def members(self) -> Mapping[str, MemberRecord]: ...

    @property
    def synced(self) -> bool: ...

    @property
    def confirmed_at(self) -> float:
        """Boot-clock reading of the last moment at which the view was known to be current (R13): the last event,
        bookmark or list of its least recent watch, or the start of the last `confirm`. Minus infinity before the first,
        and while the view holds a record of another protocol."""
        ...

    @property
    def history_went_back(self) -> int:
        """How often resource versions ran backwards (a restore): every member then drops its shards and joins again
        (R14). Counted once per watched collection. The view follows the new history by itself."""
        ...

    async def confirm(self) -> None:
        """One live list of everything that the view follows, taken into it; moves `confirmed_at`.

        For a view that is older than half a lease: a quiet watch confirms nothing for a minute. Raises
        CoordinationUnavailable and ProtocolMismatch.
        """
        ...

    def changes(self) -> AsyncIterator[Change]:
        """Endless; ends with `close`. Changes may be merged: read the view, not the change. Any number of consumers;
        each begins with one change, so that its loop runs once on what is there already."""
        ...

    async def close(self) -> None: ...
