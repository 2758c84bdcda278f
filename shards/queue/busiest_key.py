"""Which key of one controller in one shard is reconciled most, and how often. PURE."""

from __future__ import annotations

from typing import NamedTuple

from shards.objects import Key

WINDOW_SECONDS = 60.0

MOST_KEYS = 64
"""Keys that are counted at once (Misra and Gries, 1982): one that has more than a 64th of all reconciles is found, and
counted too low by at most that."""

HOT_PER_SECOND = 1.0
HOT_SHARE = 0.5
"""A key is hot that is reconciled more often than that, and takes more than that part of all reconciles: it is not busy
because all are."""


class Busiest(NamedTuple):
    """Of the last full window. key: None before the first, or where nothing ran. share: of all reconciles."""

    key: Key | None = None
    per_second: float = 0.0
    share: float = 0.0

    @property
    def hot(self) -> bool:
        return self.per_second > HOT_PER_SECOND and self.share > HOT_SHARE


class BusiestKey:
    """Counts reconciles by key, in a bounded memory, window by window."""

    def __init__(self, now: float) -> None:
        self.last = Busiest()
        self._began = now
        self._all = 0
        self._counts: dict[Key, int] = {}

    def ran(self, key: Key) -> None:
        self._all += 1
        counts = self._counts
        if key in counts or len(counts) < MOST_KEYS:
            counts[key] = counts.get(key, 0) + 1
        else:
            self._counts = {each: count - 1 for each, count in counts.items() if count > 1}

    def look(self, now: float) -> bool:
        """Whether a window has ended: `last` is a new one."""
        lasted = now - self._began
        if lasted < WINDOW_SECONDS:
            return False
        key = max(self._counts, key=self._counts.__getitem__, default=None)
        count = self._counts[key] if key is not None else 0
        self.last = Busiest(key, count / lasted, count / max(self._all, 1))
        self._began, self._all, self._counts = now, 0, {}
        return True
