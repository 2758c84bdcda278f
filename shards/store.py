"""A filtered cache of one resource: objects as bytes, metadata decoded once, and what the cache has proof of.

Readers and the one writer are different types. Nothing here knows where events come from; `shards.informer` feeds the
writer. Versions that come in are decimal resource versions (`shards.objects.version_key`); the decoder refuses others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from shards.objects import Meta, Object, ObjectName, at_least, newest

TOMBSTONES = 16_384
"""Deletions remembered by UID. A forgotten one costs a live read where the view's version alone does not prove it."""


class Entry(msgspec.Struct, gc=False):
    """One object. raw: its JSON, owned by the entry (never a slice of a larger buffer)."""

    meta: Meta
    raw: bytes


class Change(NamedTuple):
    """What one step did to the cache.

    old None: added. new None: deleted. Both, with different UIDs: deleted and created again under one name.
    initial: from the first list; work that it makes may wait behind other work.
    """

    old: Meta | None
    new: Meta | None
    initial: bool = False


class StoreReader:
    """What the rest of the shard sees.

    resource_version: everything in the range up to this version is in the view; "" until the first complete list.
    It follows lists, events and bookmarks, and goes back only by a list (a server that was restored from a backup):
    compare with >= at every use, never remember that it was reached.
    highest_object_version: highest version of an object of the range that was received, deletions too; "" = none.
    regressions: how many lists were older than the view before them.

    Invariants: `_names` holds exactly the UIDs of `_entries`; `_owned` exactly their controllers; a UID is never both
    in `_names` and in `_tombstones`.
    """

    __slots__ = ("_entries", "_names", "_owned", "_tombstones", "highest_object_version", "regressions",
                 "resource_version")  # fmt: skip

    def __init__(self) -> None:
        self.resource_version = ""
        self.highest_object_version = ""
        self.regressions = 0
        self._entries: dict[ObjectName, Entry] = {}
        self._names: dict[str, ObjectName] = {}
        self._owned: dict[str, dict[ObjectName, None]] = {}
        self._tombstones: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def get(self, name: ObjectName) -> Object | None:
        """A copy of its own for every caller, decoded anew. None: not in this view, which does not mean absent."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        decoded: Object = msgspec.json.decode(entry.raw)
        return decoded

    def raw(self, name: ObjectName) -> bytes | None:
        """The object's JSON."""
        entry = self._entries.get(name)
        return None if entry is None else entry.raw

    def meta(self, name: ObjectName) -> Meta | None:
        entry = self._entries.get(name)
        return None if entry is None else entry.meta

    def name_of(self, uid: str) -> ObjectName | None:
        """Where the object with this UID is; None when the view does not hold it."""
        return self._names.get(uid)

    def owned_by(self, uid: str) -> tuple[Meta, ...]:
        """Metadata of the objects whose controller has this UID."""
        return tuple(self._entries[name].meta for name in self._owned.get(uid, ()))

    def metas(self) -> Iterator[Meta]:
        """Metadata of all objects. The store must not change while the iterator is in use: no await in between."""
        return (entry.meta for entry in self._entries.values())

    def shows(self, name: ObjectName, uid: str, resource_version: str) -> bool:
        """Whether the view includes that write: the object at this version or later, or proof that it is past.

        Proof: a later object under the same name, its deletion (or its leaving the filter) seen, or a view that is
        past the version and does not hold it. A view that is past the version and still holds the object, or an
        earlier one of that name, below it contradicts itself, and proves nothing. Raises ValueError for a version that
        cannot be compared.
        """
        entry = self._entries.get(name)
        if entry is not None:
            return at_least(entry.meta.resource_version, resource_version)
        return at_least(self._tombstones.get(uid, ""), resource_version) or at_least(
            self.resource_version, resource_version
        )

    def gone(self, uid: str) -> bool:
        """Whether the object was seen to be deleted (or to leave the filter) and has not come back.

        Proof, not absence: False for a UID that this view never held, and for one deleted longer ago than TOMBSTONES.
        """
        return uid in self._tombstones


class StoreWriter:
    """The one writer. Each method is one move: readers see the state before it or after it."""

    __slots__ = ("_moves", "reader")

    def __init__(self) -> None:
        self.reader = StoreReader()
        self._moves = 0

    def apply(self, meta: Meta, raw: bytes) -> Change | None:
        """An object was added or modified. None: the view had that version, a later one, or its deletion."""
        view = self.reader
        name = ObjectName(meta.namespace, meta.name)
        version = meta.resource_version
        known = view._entries.get(name)
        if known is not None and at_least(known.meta.resource_version, version):
            return None
        if at_least(view._tombstones.get(meta.uid, ""), version):
            return None
        self._moves += 1
        old = None if known is None else known.meta
        if old is not None:
            self._unlink(name, old)
            if old.uid != meta.uid:
                self._bury(old.uid, version)
        _link(view._names, view._owned, name, meta)
        view._entries[name] = Entry(meta, raw)
        view._tombstones.pop(meta.uid, None)
        self._reached(version)
        return Change(old, meta)

    def delete(self, meta: Meta) -> Change | None:
        """An object was deleted, or left the range. meta: as last known to the server. None: it was not in the view.

        A deletion counts by UID whatever version it carries: servers have sent it with the version of the object's
        last change (kubernetes/kubernetes#58545).
        """
        view = self.reader
        self._moves += 1
        name = view._names.get(meta.uid)
        old = None if name is None else view._entries[name].meta
        if name is not None and old is not None:
            self._unlink(name, old)
            del view._entries[name]
        self._bury(meta.uid, newest(meta.resource_version, old.resource_version if old else ""))
        self._reached(meta.resource_version)
        return None if old is None else Change(old, None)

    def bookmark(self, resource_version: str) -> None:
        """The view is complete up to this version. Never lowers it; without effect before the first list."""
        view = self.reader
        if view.resource_version and not at_least(view.resource_version, resource_version):
            self._moves += 1
            view.resource_version = resource_version

    def begin(self) -> Replacement:
        """Starts to gather a list. Until it is committed, readers see the old state."""
        return Replacement(self, self._moves)

    def replace(self, entries: Sequence[Entry], resource_version: str) -> list[Change]:
        """The outcome of a complete list, in one move: deletions first, then additions and modifications."""
        replacement = self.begin()
        for entry in entries:
            replacement.add(entry)
        return list(replacement.commit(resource_version))

    def _unlink(self, name: ObjectName, meta: Meta) -> None:
        view = self.reader
        del view._names[meta.uid]
        owner = meta.controller
        if owner is not None:
            owned = view._owned[owner.uid]
            del owned[name]
            if not owned:
                del view._owned[owner.uid]

    def _bury(self, uid: str, version: str) -> None:
        tombstones = self.reader._tombstones
        tombstones[uid] = newest(tombstones.pop(uid, ""), version)
        if len(tombstones) > TOMBSTONES:
            del tombstones[next(iter(tombstones))]

    def _reached(self, version: str) -> None:
        view = self.reader
        if not at_least(view.highest_object_version, version):
            view.highest_object_version = version
        if view.resource_version and not at_least(view.resource_version, version):
            view.resource_version = version


class Replacement:
    """A list that is being gathered, compared with the store page by page, so that the commit is short.

    The store must not change between begin and commit; nothing is taken over if the list is given up. An object that
    the store holds at the same version keeps the store's bytes, so that a relist does not double the memory.
    """

    __slots__ = ("_arrivals", "_began_at", "_entries", "_highest", "_names", "_owned", "_writer")

    def __init__(self, writer: StoreWriter, began_at: int) -> None:
        self._writer = writer
        self._began_at = began_at
        self._entries: dict[ObjectName, Entry] = {}
        self._names: dict[str, ObjectName] = {}
        self._owned: dict[str, dict[ObjectName, None]] = {}
        self._arrivals: list[tuple[Meta | None, Meta]] = []
        self._highest = ""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """One object of the list. A second one under the same name, which no consistent list has, is ignored."""
        meta = entry.meta
        name = ObjectName(meta.namespace, meta.name)
        if name in self._entries:
            return
        old = self._writer.reader._entries.get(name)
        if old is not None and old.meta.uid == meta.uid and old.meta.resource_version == meta.resource_version:
            entry = old
        else:
            self._arrivals.append((None if old is None else old.meta, meta))
        self._entries[name] = entry
        _link(self._names, self._owned, name, entry.meta)
        if not at_least(self._highest, meta.resource_version):
            self._highest = meta.resource_version

    def commit(self, resource_version: str) -> Iterable[Change]:
        """Swaps the store's content. Deletions come first, then additions and modifications, in list order.

        Raises RuntimeError when the store has changed since begin().
        """
        writer, view = self._writer, self._writer.reader
        if writer._moves != self._began_at:
            raise RuntimeError("the store has changed since this list began")
        first = not view.resource_version
        regressed = not first and not at_least(resource_version, view.resource_version)
        missing = view._names.keys() - self._names.keys()
        deletions = [Change(view._entries[view._names[uid]].meta, None) for uid in missing]
        view._entries, view._names, view._owned = self._entries, self._names, self._owned
        if regressed:
            # Another history: objects whose deletion was seen may exist again, under the same UIDs.
            view.regressions += 1
            view._tombstones.clear()
            view.highest_object_version = self._highest
        else:
            view.highest_object_version = newest(view.highest_object_version, self._highest)
            for change in deletions:
                assert change.old is not None
                writer._bury(change.old.uid, resource_version)
            for uid in view._tombstones.keys() & self._names.keys():
                del view._tombstones[uid]
        view.resource_version = resource_version
        writer._moves += 1
        arrivals = (Change(old if old and old.uid == new.uid else None, new, first) for old, new in self._arrivals)
        return [*deletions, *arrivals]


def _link(names: dict[str, ObjectName], owned: dict[str, dict[ObjectName, None]], name: ObjectName, meta: Meta) -> None:
    names[meta.uid] = name
    owner = meta.controller
    if owner is not None:
        owned.setdefault(owner.uid, {})[name] = None
