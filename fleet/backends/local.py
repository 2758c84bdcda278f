"""Coordination in memory: for tests, simulation and anything else that needs the rules without a server.

One `LocalStore` is what an API server would be; each member or agent talks to it through a `LocalCoordination` of its
own, with faults of its own. Deterministic: versions and UIDs are counted, and nothing waits unless a fault says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from fleet.backends.local_store import Faults, LocalStore
from fleet.backends.local_view import LocalView
from fleet.backends.record_cache import Record
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.records.map_record import check_layout
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    MemberRecord,
    ShardMap,
    ShardRecord,
    StoredMap,
)
from shards.clock import Clock, boot_seconds
from shards.keyrange import KeyRange

_ONLY = "only"
"""Name of the map, and of the coordinator's record."""

W = TypeVar("W", StoredMap, MemberRecord, ShardRecord, CoordinatorRecord, Document)
T = TypeVar("T")


class LocalCoordination:
    """See `fleet.records.coordination.Coordination`. Those that share a store see each other's writes."""

    def __init__(
        self, store: LocalStore | None = None, *, clock: Clock = boot_seconds, faults: Faults | None = None
    ) -> None:
        self.store = LocalStore() if store is None else store
        self.faults = Faults() if faults is None else faults
        self.clock = clock
        self._views: list[LocalView] = []

    async def read_map(self) -> StoredMap | None:
        return cast("StoredMap | None", await self._read(Kind.MAP, _ONLY))

    async def write_map(self, new: ShardMap, replaces: str, *, not_after: float | None = None) -> StoredMap:
        check_layout(new)
        return await self._write(Kind.MAP, _ONLY, StoredMap(new, ""), replaces, not_after)

    async def read_member(self, name: str) -> MemberRecord | None:
        return cast("MemberRecord | None", await self._read(Kind.MEMBER, name))

    async def list_members(self) -> list[MemberRecord]:
        return cast("list[MemberRecord]", await self._list(Kind.MEMBER))

    async def write_member(self, new: MemberRecord, replaces: str, *, not_after: float | None = None) -> MemberRecord:
        return await self._write(Kind.MEMBER, new.name, new, replaces, not_after)

    async def delete_member(self, record: MemberRecord) -> None:
        await self._delete(Kind.MEMBER, record.name, record)

    async def read_shard(self, wanted: KeyRange) -> ShardRecord | None:
        return cast("ShardRecord | None", await self._read(Kind.SHARD, _shard_name(wanted)))

    async def list_shards(self) -> list[ShardRecord]:
        return cast("list[ShardRecord]", await self._list(Kind.SHARD))

    async def write_shard(self, new: ShardRecord, replaces: str, *, not_after: float | None = None) -> ShardRecord:
        return await self._write(Kind.SHARD, _shard_name(new.range), new, replaces, not_after)

    async def delete_shard(self, record: ShardRecord) -> None:
        await self._delete(Kind.SHARD, _shard_name(record.range), record)

    async def read_coordinator(self) -> CoordinatorRecord | None:
        return cast("CoordinatorRecord | None", await self._read(Kind.COORDINATOR, _ONLY))

    async def write_coordinator(
        self, new: CoordinatorRecord, replaces: str, *, not_after: float | None = None
    ) -> CoordinatorRecord:
        return await self._write(Kind.COORDINATOR, _ONLY, new, replaces, not_after)

    async def read_document(self, name: DocumentName) -> Document | None:
        return cast("Document | None", await self._read(Kind.DOCUMENT, str(name)))

    async def write_document(self, new: Document, *, not_after: float | None = None) -> Document:
        return await self._write(Kind.DOCUMENT, str(new.name), new, new.version, not_after)

    def watch(self, *, members: bool) -> LocalView:
        view = LocalView(self.store, self.faults, members=members, clock=self.clock, on_close=self._views.remove)
        self._views.append(view)
        return view

    def release(self) -> None:
        """Ends `faults.held`: the views show what was held back."""
        self.faults.held = False
        for view in self._views:
            view.deliver()

    async def _read(self, kind: Kind, name: str) -> Record | CoordinatorRecord | None:
        found = await self._send(lambda: self.store.get(kind, name), write=False)
        self._note(kind, name, found)
        return found

    async def _list(self, kind: Kind) -> list[Record]:
        return await self._send(lambda: list(self.store.of(kind).values()), write=False)

    async def _write(self, kind: Kind, name: str, new: W, replaces: str, not_after: float | None) -> W:
        act = partial(self.store.put, kind, name, new, replaces)
        written = await self._send(act, write=True, not_after=not_after)
        self._note(kind, name, written)
        return written

    async def _delete(self, kind: Kind, name: str, record: MemberRecord | ShardRecord) -> None:
        await self._send(partial(self.store.delete, kind, name, uid=record.uid, version=record.version), write=True)

    async def _send(self, act: Callable[[], T], *, write: bool, not_after: float | None = None) -> T:
        """One request: the way to the store, `act` there, and the way back. Everything that is asked comes through
        here. Raises what `act` does, and CoordinationUnavailable."""
        await self.faults.reach()
        if not_after is not None and self.clock() >= not_after:
            raise CoordinationUnavailable("not sent: the deadline has passed")
        return self._carried_out(act) if write else act()

    def _carried_out(self, act: Callable[[], T]) -> T:
        if self.faults.lost_requests:
            self.faults.lost_requests -= 1
            raise CoordinationUnavailable("no answer came", maybe_applied=True)
        if not self.faults.lost_answers:
            return act()
        self.faults.lost_answers -= 1
        try:
            act()
        except CasConflict as conflict:
            raise CoordinationUnavailable("no answer came", maybe_applied=True) from conflict
        raise CoordinationUnavailable("no answer came", maybe_applied=True)

    def _note(self, kind: Kind, name: str, found: Record | CoordinatorRecord | None) -> None:
        if found is not None and not isinstance(found, CoordinatorRecord):
            for view in self._views:
                view.noted(kind, name, found)


def _shard_name(wanted: KeyRange) -> str:
    return f"{wanted.key}-{wanted.hashes}"
