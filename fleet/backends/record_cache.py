"""The cache behind every view of the coordination records: what backends feed, and what readers see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import cast

from fleet.backends.changes import Changes
from fleet.backends.followed import Followed
from fleet.records.coordination import Change
from fleet.records.object_names import Kind
from fleet.records.record import Document, DocumentName, MemberRecord, ShardRecord, StoredMap
from shards.keyrange import KeyRange

Record = StoredMap | ShardRecord | MemberRecord | Document


class RecordCache:
    """Map, shards, documents and (where asked for) members, each followed by itself, and who hears of changes.

    Records are entered under the name of the object that holds them. Readers get snapshots: a mapping that was handed
    out never changes.
    """

    def __init__(self, *, members: bool) -> None:
        self.kinds = (Kind.MAP, Kind.SHARD, Kind.DOCUMENT, *((Kind.MEMBER,) if members else ()))
        self.last_map: StoredMap | None = None
        self.history_went_back = 0
        self._of_another_history = False
        """Whether `last_map` may be: each collection finds out by itself that the store was restored, or never does."""
        self._followed: dict[Kind, Followed[Record]] = {kind: Followed() for kind in self.kinds}
        self._unsynced = set(self.kinds)
        self._changes = Changes()
        self._shards: Mapping[KeyRange, ShardRecord] | None = None
        self._members: Mapping[str, MemberRecord] | None = None
        self._documents: Mapping[DocumentName, Document] | None = None

    # -- what readers see -------------------------------------------------------------------------------------------

    @property
    def map(self) -> StoredMap | None:
        return cast("StoredMap | None", next(iter(self._followed[Kind.MAP]), None))

    @property
    def shards(self) -> Mapping[KeyRange, ShardRecord]:
        if self._shards is None:
            self._shards = self._by_range()
        return self._shards

    @property
    def members(self) -> Mapping[str, MemberRecord]:
        if self._members is None:
            followed = self._followed.get(Kind.MEMBER, ())
            self._members = {record.name: record for record in cast("Iterable[MemberRecord]", followed)}
        return self._members

    @property
    def documents(self) -> Mapping[DocumentName, Document]:
        if self._documents is None:
            followed = cast("Iterable[Document]", self._followed[Kind.DOCUMENT])
            self._documents = {found.name: found for found in followed}
        return self._documents

    @property
    def synced(self) -> bool:
        return not self._unsynced

    def changes(self) -> AsyncIterator[Change]:
        return self._changes.subscribe(Change(str(Kind.MAP), "", self.synced))

    def close(self) -> None:
        self._changes.close()

    def _remember_map(self) -> None:
        if self.map is not None:
            self.last_map = self.map
        elif self._of_another_history and self.last_map is not None:
            # A map that is made from it must not call every config of the new history an older one.
            self._of_another_history = False
            self.last_map = self.last_map._replace(map=replace(self.last_map.map, config_version=""))

    def _by_range(self) -> Mapping[KeyRange, ShardRecord]:
        followed = cast("Iterable[ShardRecord]", self._followed[Kind.SHARD])
        return {record.range: record for record in followed}

    # -- what backends feed -----------------------------------------------------------------------------------------

    def complete(self, kind: Kind) -> str:
        """Everything of that kind up to this version is included; "" = nothing is known yet."""
        return self._followed[kind].complete

    def watched(self, kind: Kind, name: str, found: Record | None, at: str) -> None:
        """One step of the watch, which then is at version `at`. found None: gone."""
        self._publish(kind, self._followed[kind].watched(name, found, at))

    def progressed(self, kind: Kind, at: str, holds: Callable[[str], bool]) -> None:
        """The watch is complete up to `at`. holds: whether the watched collection has an object of that name."""
        moved = self._followed[kind].progressed(at, holds)
        self._publish(kind, moved)
        self._sync(kind)

    def listed(self, kind: Kind, found: Mapping[str, Record], at: str) -> None:
        """A complete live list at version `at`."""
        self._publish(kind, self._followed[kind].listed(found, at))
        self._sync(kind)

    def noted(self, kind: Kind, name: str, found: Record) -> None:
        """A record as a write or a live read returned it: readers see their own writes."""
        if kind in self._followed:
            self._publish(kind, self._followed[kind].noted(name, found))

    def restarted(self, kind: Kind, found: Mapping[str, Record], at: str) -> None:
        """A complete list of another history, which replaces everything."""
        self.history_went_back += 1
        self._of_another_history = True
        self._publish(kind, self._followed[kind].restarted(found, at))
        self._remember_map()
        self._changes.publish(Change(str(Kind.MAP), "", self.synced))

    def _sync(self, kind: Kind) -> None:
        if kind in self._unsynced:
            self._unsynced.discard(kind)
            if self.synced:
                self._changes.publish(Change(str(Kind.MAP), "", True))

    def _publish(self, kind: Kind, moved: Iterable[Record]) -> None:
        for record in moved:
            name = ""
            if isinstance(record, ShardRecord):
                self._shards, name = None, str(record.range)
            elif isinstance(record, MemberRecord):
                self._members, name = None, record.name
            elif isinstance(record, Document):
                self._documents, name = None, str(record.name)
            else:
                self._remember_map()
            self._changes.publish(Change(str(kind), name, self.synced))


class CachedView:
    """The reading side of a view over a cache; see `fleet.records.coordination.CoordinationView`."""

    def __init__(self, *, members: bool) -> None:
        self._cache = RecordCache(members=members)

    @property
    def map(self) -> StoredMap | None:
        return self._cache.map

    @property
    def last_map(self) -> StoredMap | None:
        return self._cache.last_map

    @property
    def shards(self) -> Mapping[KeyRange, ShardRecord]:
        return self._cache.shards

    @property
    def members(self) -> Mapping[str, MemberRecord]:
        return self._cache.members

    @property
    def documents(self) -> Mapping[DocumentName, Document]:
        return self._cache.documents

    @property
    def synced(self) -> bool:
        return self._cache.synced

    @property
    def history_went_back(self) -> int:
        return self._cache.history_went_back

    def changes(self) -> AsyncIterator[Change]:
        return self._cache.changes()
