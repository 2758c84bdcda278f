"""Cuts a failing history down to the operations that matter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrunk(items: Sequence[Item], fails: Callable[[list[Item]], bool], seconds: float) -> list[Item]:
    """A short list that still fails, from the order of which nothing was changed: halves are left out, then less.

    Ends after so many seconds with what it has. (Zeller and Hildebrandt, Simplifying and isolating failure-inducing
    input, 2002, without its complements.)
    """
    until = time.monotonic() + seconds
    kept = list(items)
    size = max(len(kept) // 2, 1)
    while size:
        start = 0
        before = len(kept)
        while start < len(kept) and time.monotonic() < until:
            fewer = kept[:start] + kept[start + size :]
            if fewer and fails(fewer):
                kept = fewer
            else:
                start += size
        if size > 1 or len(kept) == before or time.monotonic() >= until:
            size //= 2
    return kept
