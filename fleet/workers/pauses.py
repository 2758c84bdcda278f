"""Waiting that an event ends early."""

from __future__ import annotations

import asyncio
import contextlib

LEAST_PAUSE_SECONDS = 0.01
"""What was to begin already lets others have their turn."""


async def pause_until(event: asyncio.Event, seconds: float) -> None:
    """Until it is set, at the longest `seconds`; at the shortest one turn of the loop."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(LEAST_PAUSE_SECONDS, seconds)):
            await event.wait()
