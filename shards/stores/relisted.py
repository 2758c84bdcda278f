"""What a complete list changed, kept until it has been told.

Lists of strings and of entries rather than one of changes: 100,000 changes, or tuples, would be as large as the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Generic, TypeVar

from shards.stores.change import Change
from shards.stores.kept import Kept

T = TypeVar("T")

CHUNK = 1024


class Column(Generic[T]):
    """Values that are taken out once, in order, in chunks that the collector of cycles forgets.

    It goes through every list that it knows of: 300,000 values in lists are 20 ms in which nothing else runs. A tuple
    of what cannot be part of a cycle is known to it until its first look only.
    """

    __slots__ = ("_chunks", "_open")

    def __init__(self) -> None:
        self._chunks: list[tuple[T, ...]] = []
        self._open: list[T] = []

    def add(self, value: T) -> None:
        self._open.append(value)
        if len(self._open) >= CHUNK:
            self._chunks.append(tuple(self._open))
            self._open.clear()

    def drain(self) -> Iterator[T]:
        """Lets go of what it has given, chunk by chunk."""
        chunks = [*self._chunks, tuple(self._open)]
        self._chunks, self._open = [], []
        chunks.reverse()
        while chunks:
            yield from chunks.pop()


class Missing:
    """What a list does not have any more."""

    __slots__ = ("_gone", "_keys", "uids")

    def __init__(self) -> None:
        self.uids: list[str] = []
        self._keys = Column[str]()
        self._gone = Column[Kept]()

    def add(self, uid: str, key: str, gone: Kept) -> None:
        self.uids.append(uid)
        self._keys.add(key)
        self._gone.add(gone)

    def retold(self, seen: Set[str]) -> Iterator[Change]:
        """Once; lets go of what it has told of, so that what has gone is not freed all at once.

        seen: UIDs whose deletion came as an event while the list was under way; of all others only the list knows.
        """
        for key, gone in zip(self._keys.drain(), self._gone.drain(), strict=True):
            yield Change((key, gone), None, final_unknown=gone.uid not in seen)


class Arrivals:
    """What a list added or modified, in its order."""

    __slots__ = ("_keys", "_new", "_old")

    def __init__(self) -> None:
        self._keys = Column[str]()
        self._old = Column[Kept | None]()
        self._new = Column[Kept]()

    def add(self, key: str, old: Kept | None, new: Kept) -> None:
        self._keys.add(key)
        self._old.add(old)
        self._new.add(new)

    def retold(self, initial: bool) -> Iterator[Change]:
        """Once; lets go of what it has told of."""
        for key, old, new in zip(self._keys.drain(), self._old.drain(), self._new.drain(), strict=True):
            known = old is not None and old.uid == new.uid
            yield Change((key, old) if old is not None and known else None, (key, new), initial)


def all_new(entries: dict[str, Kept], initial: bool) -> Iterator[Change]:
    """What comes into an empty store. entries may change while it is told."""
    # Tuples of what cannot be part of a cycle: two lists, or one of pairs, the collector would go through each time.
    keys, held = tuple(entries), tuple(entries.values())
    return (Change(None, each, initial) for each in zip(keys, held, strict=True))
