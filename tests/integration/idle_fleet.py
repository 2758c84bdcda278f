"""A small fleet that owns all its shards and has nothing to do."""

from __future__ import annotations

import asyncio

from fleet.configuration.config import CoordinationConfig
from shards import Context, Controller, Request
from shards.testing.virtual_time import loop_seconds
from tests.integration.small_fleet import WEBSITES, SmallFleet

MEMBERS = ("a", "b", "c", "d")
SHARDS = 16


def bystander(member: str) -> Controller:
    """Looks, and does nothing."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.store.get()

    return websites


async def idle_fleet(seconds: float, fleet: SmallFleet | None = None) -> float:
    """Lets it be for so many seconds after every shard has an owner. Returns the seconds that passed, all told."""
    fleet = fleet or SmallFleet(bystander, shards=SHARDS, lease_seconds=CoordinationConfig().lease_seconds)
    await fleet.start(*MEMBERS)
    await fleet.all_open()
    await asyncio.sleep(seconds)
    assert len(fleet.open_ranges()) == SHARDS
    await fleet.stop()
    return loop_seconds()
