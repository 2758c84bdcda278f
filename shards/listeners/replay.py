"""What a store holds already, told to somebody who came late, while it goes on changing."""

from __future__ import annotations

from collections.abc import Iterator

from shards.stores.change import Change
from shards.stores.kept import key_of
from shards.stores.store_reader import StoreReader


class Replay:
    """Iterate over it for the additions; hand every change of the store that comes meanwhile to `instead_of`.

    Nothing is copied but the store's keys: an object is told as it is when its turn comes, or when it changes before.
    Between two steps the store may change only by what `instead_of` hears of before the next step.
    """

    __slots__ = ("_settled", "_store")

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._settled: set[str] = set()
        """Keys that were told, or need not be any more."""

    def __iter__(self) -> Iterator[Change]:
        for key, kept in self._store.each_held():
            if key not in self._settled:
                self._settled.add(key)
                yield Change(None, (key, kept), initial=True)

    def instead_of(self, change: Change) -> Change | None:
        """What to tell of this change. None: it ends an object that was not told of."""
        known = change.new_key or change.old_key
        if known is None:
            return change
        key = key_of(known.namespace, known.name)
        if key in self._settled:
            return change
        self._settled.add(key)
        if change.old_key is None:
            return change
        return None if change.new_key is None else Change(None, change.new, initial=True)
