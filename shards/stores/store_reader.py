"""What readers see of a store: a filtered cache of one resource, and what it has proof of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest
from typing import Any, NamedTuple, TypeVar

import msgspec

from shards.objects import Key, Meta, Object, ObjectName, Resource
from shards.stores.change import Held
from shards.stores.indexes import NAMESPACE_INDEX, Indexes, label_index
from shards.stores.intake import Intake
from shards.stores.kept import PAUSED, Kept, LabelMatch, key_of, name_in, primary_in
from shards.stores.postings import Postings
from shards.versions import Incomparable, Version, includes, version_key

TOMBSTONES = 16_384
"""Deletions remembered by UID. A forgotten one costs a live read where the view's version alone does not prove it."""


T = TypeVar("T")


class Hits(NamedTuple):
    """What an index knows. unknown: objects whose index function failed, so that nobody knows whether they belong."""

    names: list[ObjectName]
    unknown: list[ObjectName]


_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}
"""By the types that authors ask for; making one costs as much as many decodes."""


def decoder_of(type: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(type)
    if decoder is None:
        decoder = _decoders[type] = msgspec.json.Decoder(type)
    return decoder


class StoreReader:
    """What the rest of the shard sees.

    resource_version: everything in the range up to this version is in the view; "" until the first complete list.
    It follows lists, events and bookmarks, and goes back only by a list (a server that was restored from a backup):
    compare with >= at every use, never remember that it was reached.
    highest_object_version: highest version of an object of the range that was received, deletions too; "" = none.
    listed_version: of the last complete list: what had been deleted by then is not in the view, whether or not it ever
    was, and no object's version says so.
    regressions: how many lists were older than the view before them: how often the server's history went back.
    resource: whose objects these are; None: nobody has said, and no gate may ask.

    Invariants: `_names` holds exactly the UIDs of `_entries`; `_owned` exactly their controllers; a UID is never both
    in `_names` and in `_tombstones`. All are keyed by `key_of` namespace and name. `_unheld`: those of what was not
    in the view when its end came, by UID.
    """

    __slots__ = (
        "_entries",
        "_indexes",
        "_intake",
        "_names",
        "_owned",
        "_tombstones",
        "_unheld",
        "highest_object_version",
        "listed_version",
        "regressions",
        "resource",
        "resource_version",
    )

    def __init__(self, intake: Intake | None = None, resource: Resource | None = None) -> None:
        self.resource = resource
        self._intake = Intake() if intake is None else intake
        self._indexes = Indexes(self._intake.index_names)
        self.resource_version = ""
        self.highest_object_version = ""
        self.listed_version = ""
        self.regressions = 0
        self._entries: dict[str, Kept] = {}
        self._names: dict[str, str] = {}
        self._owned = Postings()
        self._tombstones: dict[str, str] = {}
        self._unheld: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def version(self) -> Version:
        """`resource_version`, for who has versions of several resources. Raises Incomparable where nobody has said of
        which resource this is."""
        if self.resource is None:
            raise Incomparable("versions of a view of an unknown resource say nothing")
        return Version(self.resource, self.resource_version)

    @property
    def partial(self) -> bool:
        """Whether objects may have less here than on the server, because they were trimmed."""
        return self._intake.partial

    def __contains__(self, name: object) -> bool:
        return isinstance(name, ObjectName) and key_of(name.namespace, name.name) in self._entries

    def get(self, name: ObjectName) -> Object | None:
        """A copy of its own for every caller, decoded anew. None: not in this view, which does not mean absent."""
        kept = self._entries.get(key_of(name.namespace, name.name))
        if kept is None:
            return None
        decoded: Object = msgspec.json.decode(kept.raw)
        return decoded

    def get_as(self, name: ObjectName, type: type[T]) -> T | None:
        """The object as the caller's own msgspec.Struct: only the fields that it has are decoded.

        Raises msgspec.ValidationError where the object does not fit, also for fields that were trimmed.
        """
        kept = self._entries.get(key_of(name.namespace, name.name))
        return None if kept is None else decoder_of(type).decode(kept.raw)

    def raw(self, name: ObjectName) -> bytes | None:
        """The object's JSON."""
        kept = self._entries.get(key_of(name.namespace, name.name))
        return None if kept is None else kept.raw

    def meta(self, name: ObjectName) -> Meta | None:
        """Its metadata, put together anew; `version_of` is cheaper where identity is all that is asked for."""
        key = key_of(name.namespace, name.name)
        kept = self._entries.get(key)
        return None if kept is None else kept.meta(key)

    def version_of(self, name: ObjectName) -> tuple[str, str] | None:
        """UID and resourceVersion of the object."""
        kept = self._entries.get(key_of(name.namespace, name.name))
        return None if kept is None else (kept.uid, kept.version)

    def paused(self, key: Key) -> bool:
        """Whether the object is held, and somebody asks that it is not reconciled. Nothing is decoded for it."""
        kept = self._entries.get(key_of(key.namespace, key.name))
        return kept is not None and kept.annotated == PAUSED and kept.uid == key.uid

    def generation_of(self, key: Key) -> int | None:
        """Of its spec; 0 where the resource has none. None: the object is not held."""
        kept = self._entries.get(key_of(key.namespace, key.name))
        return None if kept is None or kept.uid != key.uid else kept.generation

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

    def each_held(self) -> Iterator[Held]:
        """All objects as they are kept. The store may change, and the caller may await.

        What was there at the beginning comes, except what went meanwhile; what was added meanwhile does not.
        """
        for key in tuple(self._entries):
            kept = self._entries.get(key)
            if kept is not None:
                yield key, kept

    def each_key(self) -> Iterator[Key]:
        """The same as keys; far cheaper than their metadata."""
        return (primary_in(key, kept.uid) for key, kept in self.each_held())

    def namespaces(self) -> Counter[str]:
        """How many objects each namespace has here; "" for those without one. 10 ms for 100,000 objects."""
        return Counter(key.partition("/")[0] for key in self._entries)

    def newest_keys(self, count: int) -> list[Key]:
        """Those of the objects that changed last, the last one first."""
        newest = nlargest(count, self.each_held(), key=lambda held: version_key(held[1].version))
        return [primary_in(key, kept.uid) for key, kept in newest]

    def find(self, index: str, value: str) -> Hits:
        """Names of the objects that are found under the value. Raises ConfigError for an index that is not declared."""
        found, unknown = self._indexes.find(index, value)
        return Hits([name_in(key) for key in found], [name_in(key) for key in unknown])

    def values_of(self, index: str, meta: Meta, raw: bytes) -> tuple[str, ...] | None:
        """What another state of an object would be found under; None where the index's function fails."""
        return self._intake.values(self._indexes.position(index), meta, raw)

    def select(self, *, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> list[ObjectName]:
        """Names of the objects in the namespace that have all these labels.

        With `Index.namespace()`, or `Index.label()` of one of the keys, only those that it finds are looked at;
        without, all are, which takes 10 ms for 100,000.
        """
        labels = labels or {}
        matches, entries = LabelMatch(labels), self._entries
        found: Iterable[str] = self._candidates(namespace, labels)
        if namespace is not None:
            prefix = f"{namespace}/"
            found = (key for key in found if key.startswith(prefix))
        return [name_in(key) for key in found if matches(entries[key])]

    def _candidates(self, namespace: str | None, labels: Mapping[str, str]) -> Iterable[str]:
        indexes = self._indexes
        for key, value in labels.items():
            if label_index(key) in indexes.names:
                return indexes.find(label_index(key), value)[0]
        if namespace is not None and NAMESPACE_INDEX in indexes.names:
            return indexes.find(NAMESPACE_INDEX, namespace)[0]
        return self._entries

    def reached(self, version: str) -> bool:
        """Whether everything up to the version is in the view, or something that is newer was received."""
        return includes(self.resource_version, version) or includes(self.highest_object_version, version)

    def shows(self, name: ObjectName, uid: str, resource_version: str) -> bool:
        """Whether the view includes that write: the object at this version or later, or proof that it is past.

        Proof: a later object under the same name, its deletion (or its leaving the filter) seen, or a view that is
        past the version and does not hold it. A view that is past the version and still holds the object, or an
        earlier one of that name, below it contradicts itself, and proves nothing. Of a version that cannot be compared
        only the object itself at that very version does.
        """
        kept = self._entries.get(key_of(name.namespace, name.name))
        if kept is not None:
            return includes(kept.version, resource_version)
        return includes(self._tombstones.get(uid, ""), resource_version) or includes(
            self.resource_version, resource_version
        )

    def saw_go(self, uid: str, resource_version: str) -> bool:
        """Whether the view held the object, and saw it deleted, or leaving the filter, at that version or later.

        Of the end of what it did not hold it tells nobody.
        """
        end = self._tombstones.get(uid, "")
        return includes(end, resource_version) and self._unheld.get(uid) != end

    def gone(self, uid: str) -> bool:
        """Whether the object was seen to be deleted (or to leave the filter) and has not come back.

        Proof, not absence: False for a UID that this view never held, and for one deleted longer ago than TOMBSTONES.
        """
        return uid in self._tombstones
