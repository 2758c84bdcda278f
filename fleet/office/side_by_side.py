"""One request for each of many ranges, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from shards.keyrange import KeyRange

REQUESTS_AT_ONCE = 32
"""A layout may have thousands of ranges, and a request that waits for its turn must not time out."""


async def side_by_side(one: Callable[[KeyRange], Awaitable[object]], ranges: Iterable[KeyRange]) -> None:
    """Raises the first error that `one` does."""
    turn = asyncio.Semaphore(REQUESTS_AT_ONCE)

    async def in_turn(each: KeyRange) -> None:
        async with turn:
            await one(each)

    await asyncio.gather(*map(in_turn, ranges))
