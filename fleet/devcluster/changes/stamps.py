"""What the server alone writes into an object: identity, time, the end of a generated name."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_PREFIX_LIMIT = 58
_VERSION_4 = 0x4 << 76 | 0x2 << 62
"""Version and variant of a random UUID (RFC 9562), where they stand in its 128 bits."""
_FREE_BITS = ~(0xF << 76 | 0x3 << 62)


@dataclass(slots=True)
class Stamps:
    """wall_seconds: seconds since 1970. rng: for UIDs and names; the same seed gives the same ones."""

    rng: random.Random
    wall_seconds: Callable[[], float]
    _names: random.Random = field(init=False)
    _second: int = -1
    _text: str = ""

    def __post_init__(self) -> None:
        self._names = random.Random(self.rng.getrandbits(64))

    def uid(self) -> str:
        """A UUID of version 4."""
        digits = f"{self.rng.getrandbits(128) & _FREE_BITS | _VERSION_4:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def time(self, later_seconds: int = 0) -> str:
        """RFC 3339, whole seconds."""
        second = int(self.wall_seconds()) + later_seconds
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._text

    def name(self, prefix: str) -> str:
        """For an object with a generateName."""
        return prefix[:_GENERATED_PREFIX_LIMIT] + "".join(self._names.choices(_SUFFIX_ALPHABET, k=5))
