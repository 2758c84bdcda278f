"""Finds ranges by the hashes of keys, whatever partition key they are of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from shards.keyrange import KeyRange, PartitionKey, key_hash

LeaseKey = tuple[PartitionKey, KeyRange]

_hash = lru_cache(maxsize=100_000)(key_hash)
"""A key is written many times, and each time compared with some ranges."""

_SLOT_BITS = 56
"""Ranges are kept by the top byte of their hashes."""


class RangeIndex:
    """Ranges that were added once and stay."""

    def __init__(self) -> None:
        self._known: set[LeaseKey] = set()
        self._keys: tuple[PartitionKey, ...] = ()
        """The partition keys of all of them: nearly always one."""
        self._slots: dict[tuple[PartitionKey, int], list[LeaseKey]] = {}

    def add(self, where: LeaseKey) -> None:
        """Idempotent."""
        if where not in self._known:
            self._known.add(where)
            if where[0] not in self._keys:
                self._keys += (where[0],)
            for slot in _slots(where[1]):
                self._slots.setdefault((where[0], slot), []).append(where)

    def clear(self) -> None:
        self._known.clear()
        self._keys = ()
        self._slots.clear()

    def places(self, namespace: str, name: str, uid: str) -> Iterator[LeaseKey]:
        """The ranges into which the key falls."""
        for key in self._keys:
            value = _hash(key, namespace, name, uid)
            for where in self._slots.get((key, value >> _SLOT_BITS), ()):
                if value in where[1]:
                    yield where

    def overlapping(self, where: LeaseKey) -> set[LeaseKey]:
        """The other ranges that may have keys in common with this one: all of the other partition keys."""
        near = {each for slot in _slots(where[1]) for each in self._slots.get((where[0], slot), ())}
        found = {each for each in near if each[1].overlaps(where[1])}
        if self._keys != (where[0],):
            found |= {each for each in self._known if each[0] is not where[0]}
        return found - {where}


def _slots(covered: KeyRange) -> range:
    return range(covered.first >> _SLOT_BITS, (covered.last >> _SLOT_BITS) + 1)
