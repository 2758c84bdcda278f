"""What an API server is to `fleet.backends.local`: records in memory, and what can go wrong on the way to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast

from fleet.backends.record_cache import Record
from fleet.records.coordination import CasConflict, CoordinationUnavailable, MapUnreadable
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, Document, MemberRecord, ShardRecord, StoredMap

W = TypeVar("W", StoredMap, MemberRecord, ShardRecord, CoordinatorRecord, Document)


@dataclass(slots=True)
class Faults:
    """What goes wrong between one client and the store. May be set at any time; counts go down as they are used up.

    lag_seconds: how late the views show a change (loop time). held: the views show nothing new at all, until
    `LocalCoordination.release`. unavailable: every request fails and nothing is carried out.
    lost_answers: writes that are carried out, but whose answer never comes. lost_requests: writes that are lost on
    their way, which looks the same to the client.
    """

    lag_seconds: float = 0.0
    held: bool = False
    unavailable: bool = False
    lost_answers: int = 0
    lost_requests: int = 0

    async def reach(self) -> None:
        """What every request does first. Raises CoordinationUnavailable."""
        await asyncio.sleep(0)  # other tasks get their turn, as they do while a real request is on the wire
        if self.unavailable:
            raise CoordinationUnavailable("the store cannot be reached")


class Unreadable(NamedTuple):
    """What is left of a map that somebody edited until it could not be read."""

    version: str


class Step(NamedTuple):
    """One step of the store's history. found None: deleted. before None: created."""

    kind: Kind
    name: str
    found: Record | CoordinatorRecord | Unreadable | None
    at: str
    before: Record | CoordinatorRecord | Unreadable | None = None


@dataclass(slots=True)
class LocalStore:
    """The records, as a server holds them, and who hears of changes.

    revision: grows with every write and deletion; a record's version is the revision that wrote it.
    step: by how much; servers have others who write. listeners: called with each step, and with None when the whole
    history was replaced.
    """

    revision: int = 1
    records: dict[tuple[Kind, str], Record | CoordinatorRecord | Unreadable] = field(default_factory=dict)
    listeners: list[Callable[[Step | None], None]] = field(default_factory=list)
    step: int = 1

    def of(self, kind: Kind) -> dict[str, Record]:
        """All records of a kind that views follow and that can be read, by name."""
        return {
            name: cast("Record", found)
            for (each, name), found in self.records.items()
            if each is kind and not isinstance(found, Unreadable)
        }

    def get(self, kind: Kind, name: str) -> Record | CoordinatorRecord | None:
        """As a request for one object answers it. Raises MapUnreadable."""
        found = self.records.get((kind, name))
        if isinstance(found, Unreadable):
            raise MapUnreadable("somebody has edited the map", found.version)
        return found

    def put(self, kind: Kind, name: str, new: W, replaces: str) -> W:
        """Raises CasConflict."""
        found = self.records.get((kind, name))
        version = found.version if found else ""
        if version != replaces:
            raise CasConflict(f"{kind} {name} is at version {version!r}, not at {replaces!r}")
        self.revision += self.step
        uid = found.uid if isinstance(found, MemberRecord | ShardRecord) else f"uid-{self.revision}"
        written = _stamped(new, str(self.revision), uid)
        self.records[kind, name] = written
        self._tell(Step(kind, name, written, written.version, found))
        return written

    def delete(self, kind: Kind, name: str, *, uid: str, version: str) -> None:
        """Without effect where it is gone. Raises CasConflict for another object or another version."""
        found = self.records.get((kind, name))
        if found is None:
            return
        if found.version != version or getattr(found, "uid", uid) != uid:
            raise CasConflict(f"{kind} {name} is at version {found.version!r}, not at {version!r}")
        self.revision += self.step
        del self.records[kind, name]
        self._tell(Step(kind, name, None, str(self.revision), found))

    def edit(self, kind: Kind, name: str, record: Record | CoordinatorRecord | Unreadable | None) -> None:
        """By hand, as with kubectl: nobody is asked, and every view hears of it. None: delete."""
        found = self.records[kind, name]
        self.revision += self.step
        version = str(self.revision)
        if record is None:
            del self.records[kind, name]
        else:
            if isinstance(record, StoredMap | Document | Unreadable):
                record = record._replace(version=version)
            else:
                record = replace(record, version=version)
            self.records[kind, name] = record
        self._tell(Step(kind, name, record, version, found))

    def backup(self) -> LocalStore:
        """The records as they are now, for `restore`."""
        return LocalStore(self.revision, dict(self.records))

    def restore(self, backup: LocalStore) -> None:
        """Goes back to a backup: revisions run backwards, as on a cluster whose etcd was restored (R14)."""
        self.revision = backup.revision
        self.records = dict(backup.records)
        self._tell(None)

    def _tell(self, step: Step | None) -> None:
        for listener in list(self.listeners):
            listener(step)


def _stamped(new: W, version: str, uid: str) -> W:
    if isinstance(new, StoredMap | Document):
        return new._replace(version=version)
    if isinstance(new, CoordinatorRecord):
        return replace(new, version=version)
    if isinstance(new, MemberRecord):
        return replace(new, version=version, uid=uid)
    return replace(new, version=version, uid=uid, holder_text=str(new.holder) if new.holder else "")
