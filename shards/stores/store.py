"""A filtered cache of one resource: objects as bytes, metadata decoded once, and what the cache has proof of.

Readers and the one writer are different types. Nothing here knows where events come from; `shards.informers.informer`
feeds the writer. Versions that come in are decimal resource versions (`shards.versions`); the decoder
refuses others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from shards.objects import Meta, Resource
from shards.stores.change import Change, Entry
from shards.stores.indexes import Indexes
from shards.stores.intake import Intake
from shards.stores.kept import Kept, key_of
from shards.stores.postings import Postings
from shards.stores.relisted import Arrivals, Missing, all_new
from shards.stores.store_reader import TOMBSTONES, StoreReader
from shards.versions import at_least, includes, newest
from shards.watching.watch_requests import Freshness

__all__ = ["COMPARE_SLICE", "TOMBSTONES", "Change", "Entry", "Replacement", "StoreReader", "StoreWriter"]

COMPARE_SLICE = 2_048
"""Objects between two steps of `Replacement.compare`: about half a millisecond."""


class StoreWriter:
    """The one writer. Each method is one move: readers see the state before it or after it.

    intake: what is kept of each object, and what it is found under; None: all of it, by owner only. resource: of the
    objects; gates refuse a view of which nobody has said that.
    """

    __slots__ = ("_intake", "_moves", "reader")

    def __init__(self, intake: Intake | None = None, resource: Resource | None = None) -> None:
        self._intake = Intake() if intake is None else intake
        self.reader = StoreReader(self._intake, resource)
        self._moves = 0

    def apply(self, meta: Meta, raw: bytes) -> Change | None:
        """An object was added or modified. None: the view had that version, a later one, or its deletion."""
        view = self.reader
        key = key_of(meta.namespace, meta.name)
        version = meta.resource_version
        known = view._entries.get(key)
        if known is not None and at_least(known.version, version):
            return None
        if at_least(view._tombstones.get(meta.uid, ""), version):
            return None
        kept = self._intake.keep(meta, raw)
        self._moves += 1
        elsewhere = view._names.get(meta.uid)
        if elsewhere is not None and elsewhere != key:
            # No server gives a UID to two names. Of one that does, the last word counts.
            self._unlink(elsewhere, view._entries.pop(elsewhere))
        if known is not None:
            self._unlink(key, known)
            if known.uid != meta.uid:
                self._bury(known.uid, version)
        _link(view._names, view._owned, view._indexes, key, kept)
        view._entries[key] = kept
        view._tombstones.pop(meta.uid, None)
        self._reached(version)
        if known is None:
            return Change(None, meta)
        return Change((key, known), meta, final_unknown=known.uid != meta.uid)

    def delete(self, meta: Meta) -> Change | None:
        """An object was deleted, or left the range. meta: as last known to the server. None: it was not in the view.

        A deletion counts by UID whatever version it carries: servers have sent it with the version of the object's
        last change (kubernetes/kubernetes#58545).
        """
        view = self.reader
        self._moves += 1
        key = view._names.get(meta.uid)
        change = None
        known = ""
        if key is not None:
            kept = view._entries.pop(key)
            self._unlink(key, kept)
            known = kept.version
            change = Change((key, kept), None)
        elif not includes(view._tombstones.get(meta.uid, ""), meta.resource_version):
            _keep(view._unheld, meta.uid, meta.resource_version)
        self._bury(meta.uid, newest(meta.resource_version, known))
        self._reached(meta.resource_version)
        return change

    def bookmark(self, resource_version: str) -> None:
        """The view is complete up to this version. Never lowers it; without effect before the first list."""
        view = self.reader
        if view.resource_version and not at_least(view.resource_version, resource_version):
            self._moves += 1
            view.resource_version = resource_version

    def begin(self, freshness: Freshness | None = None) -> Replacement:
        """Starts to gather a list. Until it is committed, readers see the old state. freshness: nothing to this one."""
        return Replacement(self, self._moves)

    def replace(self, entries: Sequence[Entry], resource_version: str) -> list[Change]:
        """The outcome of a complete list, in one move: deletions first, then additions and modifications."""
        replacement = self.begin()
        for entry in entries:
            replacement.add(entry)
        return list(replacement.commit(resource_version))

    def _unlink(self, key: str, kept: Kept) -> None:
        view = self.reader
        del view._names[kept.uid]
        if kept.owners is not None:
            view._owned.discard(kept.controller, key)
        if kept.indexed:
            view._indexes.unlink(key, kept)

    def _bury(self, uid: str, version: str) -> None:
        tombstones = self.reader._tombstones
        _keep(tombstones, uid, newest(tombstones.pop(uid, ""), version))

    def _bury_all(self, uids: Sequence[str], version: str) -> None:
        """Oldest first, all at a version that is newer than any before."""
        view = self.reader
        view._tombstones.update(dict.fromkeys(uids[-TOMBSTONES:], version))
        excess = len(view._tombstones) - TOMBSTONES
        if excess > 0:
            view._tombstones = dict(islice(view._tombstones.items(), excess, None))

    def _reached(self, version: str) -> None:
        view = self.reader
        if not at_least(view.highest_object_version, version):
            view.highest_object_version = version
        if view.resource_version and not at_least(view.resource_version, version):
            view.resource_version = version


class Replacement:
    """A list that is being gathered, compared with the store page by page, so that the commit is short.

    The store must not change between begin and commit; nothing is taken over if the list is given up. An object that
    the store holds as the list has it keeps the store's bytes, so that a relist does not double the memory.
    """

    __slots__ = (
        "_arrivals",
        "_began_at",
        "_comparing",
        "_entries",
        "_highest",
        "_indexes",
        "_missing",
        "_names",
        "_owned",
        "_reindexed",
        "_removed",
        "_writer",
    )

    def __init__(self, writer: StoreWriter, began_at: int) -> None:
        self._writer = writer
        self._began_at = began_at
        self._entries: dict[str, Kept] = {}
        self._names: dict[str, str] = {}
        self._owned = Postings()
        self._indexes = Indexes(writer._intake.index_names)
        self._arrivals = Arrivals()
        self._reindexed: set[str] = set()
        """Keys of objects that are the same as in the store, and have another entry."""
        self._removed: list[str] = []
        self._missing = Missing()
        self._comparing: Iterator[None] | None = None
        self._highest = ""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """One object of the list, or what became of it since. Of two under one name, the higher version counts.

        A UID that is there under another name, which no consistent list has, is ignored.
        """
        meta, view = entry.meta, self._writer.reader
        key = key_of(meta.namespace, meta.name)
        if self._names.get(meta.uid, key) != key:
            return
        there = self._entries.get(key)
        if there is not None:
            if at_least(there.version, meta.resource_version):
                return
            self._withdraw(key, there)
        held = view._names.get(meta.uid)
        kept = None
        if held is not None and held == key:
            key, old = held, view._entries[held]
            if old.version == meta.resource_version:
                kept = self._writer._intake.again(key, old, entry)
                if kept is not None and kept is not old:
                    self._reindexed.add(key)
        if kept is None:
            kept = self._writer._intake.keep(meta, entry.raw)
        self._entries[key] = kept
        _link(self._names, self._owned, self._indexes, key, kept)
        self._seen(meta.resource_version)

    def remove(self, meta: Meta) -> None:
        """An object was deleted, or left the range, while its list was under way. By UID, as `StoreWriter.delete`."""
        key = self._names.get(meta.uid)
        if key is not None:
            self._withdraw(key, self._entries.pop(key))
        self._removed.append(meta.uid)
        self._seen(meta.resource_version)

    def _seen(self, version: str) -> None:
        # As `at_least`, at a third of its price, for what the decoder has let through. Not as integers: of more than
        # 4,300 digits Python makes none.
        known = self._highest
        if len(version) > len(known) or (len(version) == len(known) and version > known):
            self._highest = version

    def _withdraw(self, key: str, kept: Kept) -> None:
        del self._names[kept.uid]
        if kept.owners is not None:
            self._owned.discard(kept.controller, key)
        if kept.indexed:
            self._indexes.unlink(key, kept)
        self._reindexed.discard(key)

    def compare(self) -> Iterator[None]:
        """After the last `add`: looks for what is different, in steps, between which others may run.

        To be exhausted before `commit`, which does what is left of it.
        """
        if self._comparing is None:
            self._comparing = self._compare()
        return self._comparing

    def _compare(self) -> Iterator[None]:
        view = self._writer.reader
        for index, (uid, key) in enumerate(view._names.items(), start=1):
            if uid not in self._names:
                self._missing.add(uid, key, view._entries[key])
            if index % COMPARE_SLICE == 0:
                yield
        if not view._entries:
            return  # all of it is new
        for index, (key, kept) in enumerate(self._entries.items(), start=1):
            old = view._entries.get(key)
            if old is not kept and key not in self._reindexed:
                self._arrivals.add(key, old, kept)
            if index % COMPARE_SLICE == 0:
                yield

    def commit(self, resource_version: str) -> Iterator[Change]:
        """Swaps the store's content, at once. The changes: deletions, then additions and modifications in list order.

        Each change is made when it is asked for, so that 100,000 of them do not exist at a time; they tell of this
        list whatever happens to the store meanwhile. Raises RuntimeError when the store has changed since begin().
        """
        writer, view = self._writer, self._writer.reader
        if writer._moves != self._began_at:
            raise RuntimeError("the store has changed since this list began")
        for _ in self.compare():
            pass
        first, empty = not view.resource_version, not view._entries
        regressed = not first and not at_least(resource_version, view.resource_version)
        held = view._names
        view._entries, view._names, view._owned = self._entries, self._names, self._owned
        view._indexes = self._indexes
        if regressed:
            # Another history: objects whose deletion was seen may exist again, under the same UIDs.
            view.regressions += 1
            view._tombstones.clear()
            view.highest_object_version = self._highest
        else:
            view.highest_object_version = newest(view.highest_object_version, self._highest)
            writer._bury_all(self._missing.uids, resource_version)
            writer._bury_all(self._removed, resource_version)
            for uid in self._removed:
                if uid not in held and uid not in self._names:  # it came and went meanwhile: nobody is told of it
                    _keep(view._unheld, uid, resource_version)
            for uid in view._tombstones.keys() & self._names.keys():
                del view._tombstones[uid]
        view.resource_version = view.listed_version = resource_version
        writer._moves += 1
        if empty:
            return all_new(self._entries, first)
        return chain(self._missing.retold(frozenset(self._removed)), self._arrivals.retold(first))


def _keep(versions: dict[str, str], uid: str, version: str) -> None:
    versions[uid] = version
    if len(versions) > TOMBSTONES:
        del versions[next(iter(versions))]


def _link(names: dict[str, str], owned: Postings, indexes: Indexes, key: str, kept: Kept) -> None:
    names[kept.uid] = key
    if kept.owners is not None and (owner := kept.controller):
        owned.add(owner, key)
    if kept.indexed:
        indexes.link(key, kept)
