"""The coordination protocol: the store that holds a fleet's records (`fleet.records.record`), and a watched view of it.

Backends: `fleet.backends.kubernetes_leases`, `fleet.backends.local`. Every write is a compare-and-swap: a record that
was read carries a `version`, and a write names the version that it replaces ("" = must not exist).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, Protocol

from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    MemberRecord,
    ShardMap,
    ShardRecord,
    StoredMap,
)
from shards.errors import ConfigError
from shards.keyrange import KeyRange


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

    kind "shard" names a range by str(KeyRange), "member" and "document" a name, "map" and "coordinator" nothing.
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

    async def read_shard(self, wanted: KeyRange) -> ShardRecord | None: ...

    async def list_shards(self) -> list[ShardRecord]: ...

    async def write_shard(self, new: ShardRecord, replaces: str, *, not_after: float | None = None) -> ShardRecord: ...

    async def delete_shard(self, record: ShardRecord) -> None: ...

    async def read_coordinator(self) -> CoordinatorRecord | None: ...

    async def write_coordinator(
        self, new: CoordinatorRecord, replaces: str, *, not_after: float | None = None
    ) -> CoordinatorRecord: ...

    async def read_document(self, name: DocumentName) -> Document | None:
        """Raises ConfigError for an object of that name which no view would find."""
        ...

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        """Over `new.version`; "" creates it. What else its object holds stays."""
        ...

    def watch(self, *, members: bool) -> CoordinationView:
        """Starts to follow map, shards and documents, and members where asked for (coordinator candidates only)."""
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
        """Those of every partition key; each range says which is its own."""
        ...

    @property
    def members(self) -> Mapping[str, MemberRecord]: ...

    @property
    def documents(self) -> Mapping[DocumentName, Document]: ...

    @property
    def synced(self) -> bool: ...

    @property
    def confirmed_at(self) -> float:
        """Boot-clock reading of the last moment at which the view was known to be current (R13): the last event,
        bookmark or list of its least recent watch, or the start of the last `confirm`. Minus infinity before the
        first. Records of another protocol are seen as foreign ones, and stop nobody who knows this one."""
        ...

    @property
    def history_went_back(self) -> int:
        """How often resource versions ran backwards (a restore): every member then drops its shards and joins again
        (R14). Counted once per watched collection. The view follows the new history by itself."""
        ...

    async def confirm(self) -> None:
        """One live list of everything that the view follows, taken into it; moves `confirmed_at`.

        For a view that is older than half a lease: a quiet watch confirms nothing for a minute. Raises
        CoordinationUnavailable.
        """
        ...

    def changes(self) -> AsyncIterator[Change]:
        """Endless; ends with `close`. Changes may be merged: read the view, not the change. Any number of consumers;
        each begins with one change, so that its loop runs once on what is there already."""
        ...

    async def close(self) -> None: ...
