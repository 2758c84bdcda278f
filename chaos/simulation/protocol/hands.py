"""What people do to records, as with kubectl: they see the newest truth, ask nobody, and compare nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from chaos.simulation.happenings import Written
from chaos.simulation.stage import EditHow
from chaos.simulation.strikes import Record as RecordSort
from fleet.backends.local_store import LocalStore, Unreadable
from fleet.backends.record_cache import Record
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    Incarnation,
    MemberRecord,
    ShardRecord,
    ShardStatus,
    StoredMap,
)

_KINDS = {
    "member": Kind.MEMBER,
    "shard": Kind.SHARD,
    "coordinator": Kind.COORDINATOR,
    "map": Kind.MAP,
}

Found = Record | CoordinatorRecord | Unreadable


class Hands:
    """hits: counts what was there to be changed, by the strike's tag."""

    def __init__(self, store: LocalStore, hits: Counter[str]) -> None:
        self._store = store
        self._hits = hits
        self._maps: list[StoredMap] = []

    def delete(self, record: RecordSort, index: int) -> None:
        self._change("delete", record, index, lambda found: None)

    def steal(self, record: RecordSort, index: int, holder: str) -> None:
        self._change("steal", record, index, lambda found: _stolen(found, holder))

    def edit(self, record: RecordSort, index: int, how: EditHow) -> None:
        self._change("edit", record, index, lambda found: self._edited(found, how))

    def saw(self, written: Written) -> None:
        """A map that somebody writes can be put back by somebody else."""
        if isinstance(written.after, StoredMap):
            self._maps.append(written.after)

    def reshard(self, text: str) -> None:
        """The fleet's config becomes that text."""
        self._hits["reshard"] += 1
        key = (Kind.DOCUMENT, str(DocumentName.CONFIG))
        found = self._store.records.get(key)
        version = found.version if found is not None else ""
        self._store.put(*key, Document(DocumentName.CONFIG, text, version), version)

    def _change(self, tag: str, record: RecordSort, index: int, change: Callable[[Found], Found | None]) -> None:
        names = sorted(name for kind, name in self._store.records if kind is _KINDS[record])
        if not names:
            return
        kind, name = _KINDS[record], names[index % len(names)]
        found = self._store.records[kind, name]
        changed = change(found)
        if changed is not found:
            self._hits[tag] += 1
            self._store.edit(kind, name, changed)

    def _edited(self, found: Found, how: EditHow) -> Found:
        """The same object where that means nothing for it."""
        if how == "touch":
            return replace(found) if not isinstance(found, tuple) else found._replace()
        if isinstance(found, StoredMap):
            if how == "rollback" and len(self._maps) > 1:
                earlier = self._maps[-min(3, len(self._maps))]
                return found._replace(map=earlier.map)
            return Unreadable(found.version) if how == "mangle" else found
        if isinstance(found, ShardRecord):
            return _edited_shard(found, how)
        if isinstance(found, MemberRecord | CoordinatorRecord):
            if how == "lower-epoch":
                return replace(found, epoch=max(found.epoch - 1, 0))
            if how == "mangle" and isinstance(found, MemberRecord):
                return replace(found, holder=Incarnation("?", 0))
        return found


def _edited_shard(found: ShardRecord, how: EditHow) -> ShardRecord:
    if how == "lower-epoch":
        return replace(found, epoch=max(found.epoch - 1, 0))
    if how in ("retire", "activate"):
        wanted = ShardStatus.RETIRED if how == "retire" else ShardStatus.ACTIVE
        return found if found.status is wanted else replace(found, status=wanted)
    if how == "mangle":
        return replace(found, holder=None, holder_text="?", released=None)
    return found


def _stolen(found: Found, holder: str) -> Found:
    if isinstance(found, ShardRecord):
        return replace(found, holder=None, holder_text=holder)
    if isinstance(found, CoordinatorRecord):
        return replace(found, holder=holder)
    if isinstance(found, MemberRecord):
        return replace(found, holder=Incarnation(holder or "nobody-knows", 0))
    return found
