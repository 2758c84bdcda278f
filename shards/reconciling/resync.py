"""Every key is reconciled again though nothing changed, from time to time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

RESYNC_JITTER = 0.1
"""Of the period, up and down: controller-runtime's."""


async def resync(period_seconds: float, rng: random.Random, add_all: Callable[[], Awaitable[None]]) -> None:
    """Until cancelled. Shards and controllers that started together do not stay together."""
    while True:
        await asyncio.sleep(period_seconds * rng.uniform(1.0 - RESYNC_JITTER, 1.0 + RESYNC_JITTER))
        await add_all()
