"""A filtered cache of one resource: objects as bytes, metadata decoded once, and what the cache has proof of.

Readers and the one writer are different types. Nothing here knows where events come from; `shards.informer` feeds the
writer. Versions that come in are decimal resource versions (`shards.objects.version_key`); the decoder refuses others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from shards.bodies import Bodies
from shards.change import Change, Entry
from shards.kept import Keeper, Kept, key_of
from shards.objects import Meta, at_least, newest
from shards.postings import Postings
from shards.store_reader import TOMBSTONES, StoreReader

__all__ = ["COMPARE_SLICE", "TOMBSTONES", "Change", "Entry", "Replacement", "StoreReader", "StoreWriter"]

COMPARE_SLICE = 2_048
"""Objects between two steps of `Replacement.compare`: about half a millisecond."""


class StoreWriter:
    """The one writer. Each method is one move: readers see the state before it or after it.

    bodies: how bodies are kept; stores of one resource in one event loop may share it. None: one of its own.
    """

    __slots__ = ("_bodies", "_keeper", "_moves", "reader")

    def __init__(self, bodies: Bodies | None = None) -> None:
        self.reader = StoreReader()
        self._bodies = Bodies() if bodies is None else bodies
        self._keeper = Keeper()
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
        kept = self._keep(meta, raw)
        old = None
        self._moves += 1
        elsewhere = view._names.get(meta.uid)
        if elsewhere is not None and elsewhere != key:
            # No server gives a UID to two names. Of one that does, the last word counts.
            _unlink(view._names, view._owned, elsewhere, view._entries.pop(elsewhere))
        if known is not None:
            old = known.meta(key)
            _unlink(view._names, view._owned, key, known)
            if known.uid != meta.uid:
                self._bury(known.uid, version)
        _link(view._names, view._owned, key, kept)
        view._entries[key] = kept
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
        key = view._names.get(meta.uid)
        old = None
        if key is not None:
            kept = view._entries[key]
            old = kept.meta(key)
            _unlink(view._names, view._owned, key, kept)
            del view._entries[key]
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

    def _keep(self, meta: Meta, raw: bytes) -> Kept:
        kept = self._keeper.keep(meta)
        self._bodies.keep(kept, raw)
        return kept

    def _bury(self, uid: str, version: str) -> None:
        tombstones = self.reader._tombstones
        tombstones[uid] = newest(tombstones.pop(uid, ""), version)
        if len(tombstones) > TOMBSTONES:
            del tombstones[next(iter(tombstones))]

    def _bury_all(self, uids: Sequence[str], version: str) -> None:
        """UIDs that were in the view, and so have no tombstones; oldest first."""
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
    the store holds at the same version keeps the store's bytes, so that a relist does not double the memory.
    A list that comes as a watch may carry live events too: `add` and `remove` take them in any number.
    """

    __slots__ = (
        "_arrivals",
        "_began_at",
        "_comparing",
        "_entries",
        "_highest",
        "_missing",
        "_names",
        "_owned",
        "_writer",
    )

    def __init__(self, writer: StoreWriter, began_at: int) -> None:
        self._writer = writer
        self._began_at = began_at
        self._entries: dict[str, Kept] = {}
        self._names: dict[str, str] = {}
        self._owned = Postings()
        self._arrivals = _Arrivals()
        self._missing = _Missing()
        self._comparing: Iterator[None] | None = None
        self._highest = ""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """One object of the list. Of two of a name, the higher version counts; a UID's second name is ignored."""
        meta, view = entry.meta, self._writer.reader
        key = key_of(meta.namespace, meta.name)
        if self._names.get(meta.uid, key) != key:
            return
        known = self._entries.get(key)
        if known is not None:
            if at_least(known.version, meta.resource_version):
                return
            self._remove(key)
        held = view._names.get(meta.uid)
        kept = None
        if held is not None and held == key:
            key, kept = held, view._entries[held]
        if kept is None or kept.version != meta.resource_version:
            kept = self._writer._keep(meta, entry.raw)
            self._arrivals.add(key, view._entries.get(key), kept)
        self._entries[key] = kept
        _link(self._names, self._owned, key, kept)
        if not at_least(self._highest, meta.resource_version):
            self._highest = meta.resource_version

    def remove(self, meta: Meta) -> None:
        """An object was deleted, or left the range, since it was added here. By UID; without effect on others."""
        key = self._names.get(meta.uid)
        if key is not None:
            self._remove(key)

    def _remove(self, key: str) -> None:
        kept = self._entries.pop(key)
        _unlink(self._names, self._owned, key, kept)
        self._arrivals.dropped.add(id(kept))

    def compare(self) -> Iterator[None]:
        """After the last `add`: looks for what the list does not have, in steps, between which others may run.

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
        first = not view.resource_version
        regressed = not first and not at_least(resource_version, view.resource_version)
        view._entries, view._names, view._owned = self._entries, self._names, self._owned
        if regressed:
            # Another history: objects whose deletion was seen may exist again, under the same UIDs.
            view.regressions += 1
            view._tombstones.clear()
            view.highest_object_version = self._highest
        else:
            view.highest_object_version = newest(view.highest_object_version, self._highest)
            writer._bury_all(self._missing.uids, resource_version)
            for uid in view._tombstones.keys() & self._names.keys():
                del view._tombstones[uid]
        view.resource_version = resource_version
        writer._moves += 1
        return _retold(self._missing, self._arrivals, first)


class _Missing:
    """What a list does not have any more."""

    __slots__ = ("_gone", "_keys", "uids")

    def __init__(self) -> None:
        self.uids: list[str] = []
        self._keys: list[str] = []
        self._gone: list[Kept] = []

    def add(self, uid: str, key: str, gone: Kept) -> None:
        self.uids.append(uid)
        self._keys.append(key)
        self._gone.append(gone)

    def retold(self) -> Iterator[Change]:
        """Once."""
        self._keys.reverse()
        self._gone.reverse()
        while self._keys:
            yield Change(self._gone.pop().meta(self._keys.pop()), None)


class _Arrivals:
    """What a list added or modified. Three lists: 100,000 tuples would be another 9 MB.

    dropped: ids of the new ones that were removed or superseded before the list was complete.
    """

    __slots__ = ("_keys", "_new", "_old", "dropped")

    def __init__(self) -> None:
        self.dropped: set[int] = set()
        self._keys: list[str] = []
        self._old: list[Kept | None] = []
        self._new: list[Kept] = []

    def add(self, key: str, old: Kept | None, new: Kept) -> None:
        self._keys.append(key)
        self._old.append(old)
        self._new.append(new)

    def retold(self, initial: bool) -> Iterator[Change]:
        """Once."""
        for each in (self._keys, self._old, self._new):
            each.reverse()
        while self._keys:
            key, old, new = self._keys.pop(), self._old.pop(), self._new.pop()
            if id(new) in self.dropped:
                continue
            known = old is not None and old.uid == new.uid
            yield Change(old.meta(key) if old is not None and known else None, new.meta(key), initial)


def _retold(missing: _Missing, arrivals: _Arrivals, initial: bool) -> Iterator[Change]:
    """Lets go of what it has told of, so that what has gone is not freed all at once."""
    yield from missing.retold()
    yield from arrivals.retold(initial)


def _link(names: dict[str, str], owned: Postings, key: str, kept: Kept) -> None:
    names[kept.uid] = key
    if kept.owners is not None and (owner := kept.controller):
        owned.add(owner, key)


def _unlink(names: dict[str, str], owned: Postings, key: str, kept: Kept) -> None:
    del names[kept.uid]
    if kept.owners is not None:
        owned.discard(kept.controller, key)
