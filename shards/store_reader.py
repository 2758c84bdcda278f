"""What readers see of a store: a filtered cache of one resource, and what it has proof of."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shards.kept import Kept, key_of, name_in
from shards.objects import Key, Meta, Object, ObjectName, at_least
from shards.postings import Postings

TOMBSTONES = 16_384
"""Deletions remembered by UID. A forgotten one costs a live read where the view's version alone does not prove it."""


class StoreReader:
    """What the rest of the shard sees.

    resource_version: everything in the range up to this version is in the view; "" until the first complete list.
    It follows lists, events and bookmarks, and goes back only by a list (a server that was restored from a backup):
    compare with >= at every use, never remember that it was reached.
    highest_object_version: highest version of an object of the range that was received, deletions too; "" = none.
    regressions: how many lists were older than the view before them.

    Invariants: `_names` holds exactly the UIDs of `_entries`; `_owned` exactly their controllers; a UID is never both
    in `_names` and in `_tombstones`. All are keyed by `key_of` namespace and name.
    """

    __slots__ = ("_entries", "_names", "_owned", "_tombstones", "highest_object_version", "regressions",
                 "resource_version")  # fmt: skip

    def __init__(self) -> None:
        self.resource_version = ""
        self.highest_object_version = ""
        self.regressions = 0
        self._entries: dict[str, Kept] = {}
        self._names: dict[str, str] = {}
        self._owned = Postings()
        self._tombstones: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, tuple) and len(name) == 2 and key_of(*name) in self._entries

    def get(self, name: ObjectName) -> Object | None:
        """A copy of its own for every caller, decoded anew. None: not in this view, which does not mean absent."""
        kept = self._entries.get(key_of(*name))
        if kept is None:
            return None
        decoded: Object = msgspec.json.decode(kept.raw)
        return decoded

    def raw(self, name: ObjectName) -> bytes | None:
        """The object's JSON."""
        kept = self._entries.get(key_of(*name))
        return None if kept is None else kept.raw

    def meta(self, name: ObjectName) -> Meta | None:
        """Its metadata, put together anew; `version_of` is cheaper where identity is all that is asked for."""
        key = key_of(*name)
        kept = self._entries.get(key)
        return None if kept is None else kept.meta(key)

    def version_of(self, name: ObjectName) -> tuple[str, str] | None:
        """UID and resourceVersion of the object."""
        kept = self._entries.get(key_of(*name))
        return None if kept is None else (kept.uid, kept.version)

    def name_of(self, uid: str) -> ObjectName | None:
        """Where the object with this UID is; None when the view does not hold it."""
        key = self._names.get(uid)
        return None if key is None else name_in(key)

    def owned_by(self, uid: str) -> tuple[Meta, ...]:
        """Metadata of the objects whose controller has this UID."""
        return tuple(self._entries[key].meta(key) for key in self._owned.get(uid))

    def metas(self) -> Iterator[Meta]:
        """Metadata of all objects. The store must not change while the iterator is in use: no await in between."""
        return (kept.meta(key) for key, kept in self._entries.items())

    def each_key(self) -> Iterator[Key]:
        """All objects as keys; far cheaper than their metadata. The store may change, and the caller may await.

        What was there at the beginning comes, except what went meanwhile; what was added meanwhile does not.
        """
        for key in tuple(self._entries):
            kept = self._entries.get(key)
            if kept is not None:
                yield Key(*name_in(key), kept.uid)

    def shows(self, name: ObjectName, uid: str, resource_version: str) -> bool:
        """Whether the view includes that write: the object at this version or later, or proof that it is past.

        Proof: a later object under the same name, its deletion (or its leaving the filter) seen, or a view that is
        past the version and does not hold it. A view that is past the version and still holds the object, or an
        earlier one of that name, below it contradicts itself, and proves nothing. Raises ValueError for a version that
        cannot be compared.
        """
        kept = self._entries.get(key_of(*name))
        if kept is not None:
            return at_least(kept.version, resource_version)
        return at_least(self._tombstones.get(uid, ""), resource_version) or at_least(
            self.resource_version, resource_version
        )

    def gone(self, uid: str) -> bool:
        """Whether the object was seen to be deleted (or to leave the filter) and has not come back.

        Proof, not absence: False for a UID that this view never held, and for one deleted longer ago than TOMBSTONES.
        """
        return uid in self._tombstones
