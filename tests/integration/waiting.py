"""Waiting for other processes: on a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LOOK_SECONDS = 0.005
"""Between two looks of a test that has no event loop."""


def wait_for(look: Callable[[], Found | None], *, within_seconds: float = 30.0, what: str) -> Found:
    """Looks until there is something to return, in tests without an event loop. Fails with `what` when time is over."""
    deadline = time.monotonic() + within_seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        time.sleep(LOOK_SECONDS)
    return found


async def eventually(condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
    """Asks the condition in a thread, so that the loop goes on while it runs commands or reads logs.

    Fails with `what` when the time is over.
    """
    deadline = time.monotonic() + within_seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(0.05)
