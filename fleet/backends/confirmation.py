"""Keeping a view confirmed (R13): a quiet watch says nothing for a minute, which could as well mean that it is dead.

It runs beside the renewals and not before each of them: a list that takes long must not cost a member its life while
its view is still young enough.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fleet.records.coordination import CoordinationUnavailable, CoordinationView
from shards.clock import Clock

log = logging.getLogger(__name__)


async def keep_confirmed(
    view: CoordinationView, lease_seconds: float, clock: Clock, *, wanted: Callable[[], bool] = lambda: True
) -> None:
    """Until cancelled: one live list whenever the view is older than half a lease. wanted: whether anybody needs it."""
    while True:
        wait = view.confirmed_at + lease_seconds / 2 - clock()
        if wait > 0 or not wanted():
            await asyncio.sleep(max(wait, lease_seconds / 16))
            continue
        try:
            await view.confirm()
        except CoordinationUnavailable as error:
            log.warning("the view of map and shard records could not be confirmed: %s", error)
        if clock() >= view.confirmed_at + lease_seconds / 2:
            await asyncio.sleep(lease_seconds / 16)
