"""What a complete list changed, kept until it has been told.

Lists of strings and of entries rather than one of changes: 100,000 changes, or tuples, would be as large as the store.
"""

from __future__ import annotations

from collections.abc import Iterator

from shards.change import Change
from shards.kept import Kept


class Missing:
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
            yield Change((self._keys.pop(), self._gone.pop()), None)


class Arrivals:
    """What a list added or modified, in its order."""

    __slots__ = ("_keys", "_new", "_old", "_withdrawn")

    def __init__(self) -> None:
        self._withdrawn: dict[int, Kept] = {}
        """By identity; held, so that no other object gets it."""
        self._keys: list[str] = []
        self._old: list[Kept | None] = []
        self._new: list[Kept] = []

    def add(self, key: str, old: Kept | None, new: Kept) -> None:
        self._keys.append(key)
        self._old.append(old)
        self._new.append(new)

    def withdraw(self, new: Kept) -> None:
        self._withdrawn[id(new)] = new

    def retold(self, initial: bool) -> Iterator[Change]:
        """Once."""
        for each in (self._keys, self._old, self._new):
            each.reverse()
        while self._keys:
            key, old, new = self._keys.pop(), self._old.pop(), self._new.pop()
            if id(new) in self._withdrawn:
                continue
            known = old is not None and old.uid == new.uid
            yield Change((key, old) if old is not None and known else None, (key, new), initial)


def retold(missing: Missing, arrivals: Arrivals, initial: bool) -> Iterator[Change]:
    """Lets go of what it has told of, so that what has gone is not freed all at once."""
    yield from missing.retold()
    yield from arrivals.retold(initial)
