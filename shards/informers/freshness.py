"""Views that nothing has been heard of for long are listed: a watch may be silent again and again, while lists work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shards.clock import Clock
from shards.informers.feed import Feed

STALE_SECONDS = 150.0
"""A silence is noticed after 75 s, and a bookmark comes within 60 s of the next watch: what is older than both did not
heal by a new watch. A list costs the API server more, so it comes after."""

LOOK_SECONDS = 5.0


async def keep_fresh(informers: Sequence[Feed], clock: Clock) -> None:
    """Until cancelled. An informer that waits, as it was told to or as it failed before, is left alone."""
    asked: dict[int, asyncio.Future[str]] = {}
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        for number, informer in enumerate(informers):
            pending = number in asked and not asked[number].done()
            stale = clock() - informer.current_at > STALE_SECONDS
            if stale and informer.synced.is_set() and not (pending or informer.waiting):
                asked[number] = informer.relist()
