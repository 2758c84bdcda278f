"""An object that somebody else writes all the time, seen late: B65 (kthena 1413), in virtual time.

A retry that read the late view again would name the same version each time, and conflict as long as the other goes on.
"""

from __future__ import annotations

import asyncio
from itertools import groupby

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayEvents
from shards import Context, Controller, Request
from tests.integration.small_fleet import WEBSITES, SmallFleet, running, website

pytestmark = pytest.mark.looptime

WRITES = 100
EVERY_SECONDS = 0.2
TRIES = 3


def counter(_member: str) -> Controller:
    """Tells in the status which change it saw, so that each change is worth a write."""
    websites = Controller("websites", primary=str(WEBSITES))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is not None:
            await ctx.client.patch_status({"observedGeneration": site["metadata"]["generation"]})

    return websites


async def test_a_write_succeeds_within_three_tries_however_often_somebody_else_writes() -> None:
    async with running(SmallFleet(counter, shards=1), "a") as fleet:
        await fleet.client.create(WEBSITES, "default", website("busy"))
        await asyncio.sleep(2)
        late = fleet.server.faults.inject(DelayEvents(match=Match(resource=str(WEBSITES)), seconds=1.0))
        for number in range(WRITES):
            await fleet.client.merge_patch(WEBSITES, "default", "busy", {"spec": {"html": f"{number}"}})
            await asyncio.sleep(EVERY_SECONDS)
        late.release()
        await asyncio.sleep(30)
        statuses = [status for _, status in _tries(fleet)]
        refused = [len(list(group)) for status, group in groupby(statuses) if status == 409]
        assert 0 < max(refused, default=0) < TRIES
        assert statuses.count(200) > 5
        # What has changed decides: nobody tries again and again in between.
        assert len(statuses) <= 2 * WRITES
        site = await fleet.client.get(WEBSITES, "default", "busy")
        assert site["status"]["observedGeneration"] == site["metadata"]["generation"]


def _tries(fleet: SmallFleet) -> list[tuple[float, int]]:
    """Writes of the status by the fleet: when, and what came of it."""
    assert fleet.server.recorder is not None
    found = [each for each in fleet.server.recorder.entries if each.write and each.subresource == "status"]
    return [(each.time, each.status) for each in found if each.resource == str(WEBSITES)]
