"""From a change in a cache to the keys of the primaries that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shards.objects import Key, Meta, ObjectName
from shards.stores.store import Change, StoreReader

MapFunction = Callable[[Meta], Iterable[ObjectName]]
"""An author's function: the primaries that an object of a watched resource concerns."""


class Route:
    """How one resource's changes become keys. Both states of the object count: what it was and what it is.

    Owners and mapped names are looked up in the primaries' view, which knows the UID and whether the object is a
    primary of this shard at all. One that the view does not hold yet is no loss: its own arrival queues it.
    """

    def __init__(self, find: Callable[[Meta], Iterator[Key]] | None, *, quick: bool = True) -> None:
        """find: None for the object itself. quick: whether it is known to take no time, and not to fail."""
        self._find = find
        self.quick = quick

    @classmethod
    def primary(cls) -> Route:
        """The object itself; both of them where it was deleted and created again under its name."""
        return cls(None)

    @classmethod
    def owned(cls, primaries: StoreReader) -> Route:
        """The object's controller, if it is one of the primaries: by UID, so another kind's never matches."""

        def find(meta: Meta) -> Iterator[Key]:
            owner = meta.controller
            name = None if owner is None else primaries.name_of(owner.uid)
            if owner is not None and name is not None:
                yield Key(name.namespace, name.name, owner.uid)

        return cls(find)

    @classmethod
    def mapped(cls, function: MapFunction, primaries: StoreReader) -> Route:
        """What the author's function says. Its exceptions pass through."""

        def find(meta: Meta) -> Iterator[Key]:
            for name in function(meta):
                held = primaries.version_of(name)
                if held is not None:
                    yield Key(name.namespace, name.name, held[0])

        return cls(find, quick=False)

    def keys(self, change: Change) -> Iterator[Key]:
        """Each key once."""
        if self._find is None:
            # The most frequent of all, and the one that needs no metadata.
            return iter(dict.fromkeys(key for key in (change.old_key, change.new_key) if key is not None))
        find = self._find
        states = (meta for meta in (change.old, change.new) if meta is not None)
        return iter(dict.fromkeys(key for meta in states for key in find(meta)))

    def find(self, meta: Meta) -> Iterator[Key]:
        """The keys of one state of an object."""
        return iter((Key(meta.namespace, meta.name, meta.uid),)) if self._find is None else self._find(meta)
