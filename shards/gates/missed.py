"""Keys that wrote what a view will never tell of: it is past that, and neither holds the object nor saw it go. PURE.

The object came and went between two lists, or its event was lost. Nothing would ever wake the key.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from shards.objects import Key

MOST = 4096
"""Objects that are remembered; the forgotten are woken without a pause."""


class _Wake(NamedTuple):
    """times: that the key was woken for it in a row. due: when it is next; None: when it is missed again."""

    times: int
    last: float
    due: float | None


class Missed:
    """A key is woken at once, and again, at twice the distance each time, for as long as its runs find the object that
    the view does not show. longest_seconds: of these distances; after twice as long it begins anew."""

    def __init__(self, longest_seconds: float) -> None:
        self._longest_seconds = longest_seconds
        self._wakes: OrderedDict[tuple[Key, str], _Wake] = OrderedDict()
        self._forgotten: dict[Key, None] = {}
        """Keys of those that were still to be woken."""

    def note(self, key: Key, uid: str, now: float) -> None:
        """uid: of the object that the view does not show."""
        known = self._wakes.get((key, uid))
        if known is not None and known.due is not None:
            return
        if known is None or now - known.last > 2 * self._longest_seconds:
            known = _Wake(0, now, None)
        seconds = 0.0 if known.times == 0 else min(2.0 ** min(known.times - 1, 10), self._longest_seconds)
        self._wakes[key, uid] = _Wake(known.times + 1, now, now + seconds)
        self._wakes.move_to_end((key, uid))
        if len(self._wakes) > MOST:
            (forgotten, _), wake = self._wakes.popitem(last=False)
            if wake.due is not None:
                self._forgotten[forgotten] = None

    def due(self, now: float) -> list[Key]:
        """The keys that are to be woken now, each once."""
        found, self._forgotten = self._forgotten, {}
        for (key, uid), wake in self._wakes.items():
            if wake.due is not None and wake.due <= now:
                self._wakes[key, uid] = wake._replace(last=now, due=None)
                found[key] = None
        return list(found)
