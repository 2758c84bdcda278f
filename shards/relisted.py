"""What a complete list changed, kept until it has been told.

Lists of strings and of entries rather than one of changes: 100,000 changes, or tuples, would be as large as the store.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Generic, TypeVar

from shards.change import Change
from shards.kept import Kept

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

    def retold(self) -> Iterator[Change]:
        """Once."""
        for key, gone in zip(self._keys.drain(), self._gone.drain(), strict=True):
            yield Change((key, gone), None)


def retold(
    missing: Missing, before: dict[str, Kept], now: dict[str, Kept], told: Container[str], initial: bool
) -> Iterator[Change]:
    """Once: deletions, then additions and modifications, in the list's order.

    before: what the store held; it is emptied on the way, so that what has gone is not freed all at once.
    now: what it holds; it may change while the changes are told. told: keys whose entry is another one than before
    though the object is the same.
    """
    # Tuples of what cannot be part of a cycle: two lists, or one of pairs, the collector would go through each time.
    return _retold(missing, before, tuple(now), tuple(now.values()), told, initial)


def _retold(
    missing: Missing,
    before: dict[str, Kept],
    keys: tuple[str, ...],
    entries: tuple[Kept, ...],
    told: Container[str],
    initial: bool,
) -> Iterator[Change]:
    yield from missing.retold()
    for key, kept in zip(keys, entries, strict=True):
        old = before.pop(key, None)
        if old is kept or key in told:
            continue
        known = old is not None and old.uid == kept.uid
        yield Change((key, old) if old is not None and known else None, (key, kept), initial)
