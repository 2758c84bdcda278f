"""Waiting for other processes: on a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def eventually(condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
    """Asks the condition in a thread, so that the loop goes on while it runs commands or reads logs.

    Fails with `what` when the time is over.
    """
    deadline = time.monotonic() + within_seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(0.05)
