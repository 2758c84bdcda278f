"""The key space: 64-bit hashes, and half-open ranges of them.

The hash of `uid` and `namespace` is the one of KEP-5866 (FNV-1a over the text), so that a server with
ShardedListAndWatch can take the filtering over. `name` is hashed as "namespace/name" and mixed afterwards,
because FNV-1a hardly carries the last characters into the top bits on which ranges are cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

SPACE = 1 << 64
"""Number of hashes; the end of the last range."""

HASH_VERSION = 1
"""Part of every shard Lease's name: ranges under another hash are never comparable."""

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = SPACE - 1


class PartitionKey(StrEnum):
    """Which part of a primary object decides its shard."""

    UID = "uid"
    NAMESPACE = "namespace"
    NAME = "name"


def fnv1a64(text: str) -> int:
    """FNV-1a, 64 bits, over the UTF-8 bytes: equal to Go's hash/fnv New64a."""
    value = _OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _PRIME) & _MASK
    return value


def mixed64(text: str) -> int:
    """FNV-1a with the finaliser of MurmurHash3, so that similar names spread over the top bits."""
    value = fnv1a64(text)
    value ^= value >> 33
    value = (value * 0xFF51AFD7ED558CCD) & _MASK
    value ^= value >> 33
    value = (value * 0xC4CEB9FE1A85EC53) & _MASK
    return value ^ (value >> 33)


def key_hash(partition_key: PartitionKey, namespace: str, name: str, uid: str) -> int:
    """The hash that decides which range a primary object falls into."""
    if partition_key is PartitionKey.UID:
        return fnv1a64(uid)
    if partition_key is PartitionKey.NAMESPACE:
        return fnv1a64(namespace)
    return mixed64(f"{namespace}/{name}")


def slot_of(owner_uid: str) -> str:
    """Value of the slot label on children: the top byte of the hash of the owner's UID, as two hex digits."""
    return f"{fnv1a64(owner_uid) >> 56:02x}"


@dataclass(frozen=True, order=True, slots=True)
class KeyRange:
    """Hashes from `first` up to and including `last`: half-open [first, last + 1). key: what is hashed.

    Invariant: 0 <= first <= last < 2**64. Ranges of two partition keys are never equal, and may always share objects.
    """

    first: int
    last: int
    key: PartitionKey = PartitionKey.UID
    _hash: int = field(init=False, repr=False, compare=False)
    """Ranges are what most mappings of a fleet go by. Made of numbers alone: the order of a set of ranges is the same
    in every process."""

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last < SPACE:
            raise ValueError(f"no range of hashes: {self.first:#x}..{self.last:#x}")
        object.__setattr__(self, "_hash", hash((self.first, self.last)))

    def __hash__(self) -> int:
        return self._hash

    def __contains__(self, value: int) -> bool:
        return self.first <= value <= self.last

    def __str__(self) -> str:
        return self.text(PartitionKey.UID)

    def text(self, usual: PartitionKey) -> str:
        """The hashes, and the key where it is not the usual one."""
        return self.hashes if self.key is usual else f"{self.key}.{self.hashes}"

    @property
    def hashes(self) -> str:
        """Both ends in 16 hex digits each, without the key."""
        return f"{self.first:016x}-{self.last:016x}"

    @classmethod
    def parse(cls, text: str, usual: PartitionKey = PartitionKey.UID) -> KeyRange:
        """The inverse of text(usual). Raises ValueError."""
        key, dot, hashes = text.rpartition(".")
        first, dash, last = hashes.partition("-")
        if not dash or len(first) != 16 or len(last) != 16 or (dot and key not in list(PartitionKey)):
            raise ValueError(f"not a range: {text!r}; expected 16 hex digits, a dash, 16 hex digits")
        return cls(int(first, 16), int(last, 16), PartitionKey(key) if dot else usual)

    @property
    def short(self) -> str:
        """The first four hex digits of both ends: enough to tell shards apart on a screen, not an identity."""
        hashes = f"{self.first >> 48:04x}-{self.last >> 48:04x}"
        return hashes if self.key is PartitionKey.UID else f"{self.key}.{hashes}"

    def overlaps(self, other: KeyRange) -> bool:
        """Whether an object can be in both."""
        return self.key is not other.key or (self.first <= other.last and other.first <= self.last)

    def selector(self, partition_key: PartitionKey) -> str:
        """Canonical shardSelector of KEP-5866. Raises ValueError for a key that the server cannot filter by."""
        if partition_key is PartitionKey.NAME:
            raise ValueError("shardSelector knows uid and namespace only")
        return f"shardRange(object.metadata.{partition_key}, '0x{self.first:016x}', '0x{self.last + 1:016x}')"

    @property
    def is_whole(self) -> bool:
        """Whether every hash is in it."""
        return self.first == 0 and self.last == SPACE - 1

    def slots(self) -> tuple[str, ...]:
        """Slot labels that objects of this range can carry; a superset at the two edges."""
        return tuple(f"{slot:02x}" for slot in range(self.first >> 56, (self.last >> 56) + 1))


WHOLE = KeyRange(0, SPACE - 1)


def ranges_from(boundaries: Sequence[int], key: PartitionKey = PartitionKey.UID) -> tuple[KeyRange, ...]:
    """Ranges that cover the space. boundaries: first hashes in rising order; the first one is 0.

    A list of boundaries cannot express a gap or an overlap, which is why the map stores it. Raises ValueError.
    """
    if not boundaries or boundaries[0] != 0 or any(a >= b for a, b in pairwise(boundaries)):
        raise ValueError("boundaries must begin with 0 and rise strictly")
    ends = [*boundaries[1:], SPACE]
    return tuple(KeyRange(first, end - 1, key) for first, end in zip(boundaries, ends, strict=True))


def equal_boundaries(count: int) -> tuple[int, ...]:
    """First hashes of `count` ranges of the same width."""
    if count < 1:
        raise ValueError("at least one range")
    return tuple(SPACE * i // count for i in range(count))


def range_of(value: int, boundaries: Sequence[int]) -> int:
    """Index of the range that holds the hash."""
    return bisect_right(boundaries, value) - 1
