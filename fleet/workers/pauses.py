"""Waiting that an event ends early."""

from __future__ import annotations

import asyncio
import contextlib


async def pause_until(event: asyncio.Event, seconds: float) -> None:
    """Until it is set, at the longest `seconds`; at the shortest one turn of the loop."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.01, seconds)):
            await event.wait()
