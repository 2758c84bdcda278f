"""Loads that workers measure decide who gets what, and which shard is split: on the embedded server in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from shards import Context, Controller, Request, Result
from shards.keyrange import fnv1a64
from tests.integration.small_fleet import WEBSITES, SmallFleet, eventually, running, website

pytestmark = pytest.mark.looptime

WORK_SECONDS = 0.2
MEASURED_WITHIN_SECONDS = 300.0
"""A shard is young for two minutes, and loads are smoothed after that."""


@dataclass
class Work:
    """Some keys are reconciled every second, and each time take WORK_SECONDS. by: on which member each key ran last."""

    busy: set[str] = field(default_factory=set)
    by: dict[str, str] = field(default_factory=dict)

    def controller(self, member: str) -> Controller:
        websites = Controller("websites", primary=str(WEBSITES))

        @websites.reconcile
        async def reconcile(ctx: Context, request: Request) -> Result | None:
            self.by[request.name] = member
            if request.name not in self.busy:
                return None
            await asyncio.sleep(WORK_SECONDS)
            return Result(requeue_after_seconds=1.0)

        return websites

    async def begin(self, fleet: SmallFleet, count: int, *, busy_on: str) -> None:
        """Objects, of which those are busy that are in the ranges of one member now."""
        ranges = [each for each, owner in fleet.open_ranges().items() if owner == busy_on]
        for i in range(count):
            made = await fleet.client.create(WEBSITES, "default", website(f"site-{i}"))
            if any(fnv1a64(made["metadata"]["uid"]) in each for each in ranges):
                self.busy.add(f"site-{i}")
        for i in range(count):  # what was reconciled before it was known to be busy
            await fleet.client.merge_patch(WEBSITES, "default", f"site-{i}", {"spec": {"html": "busy"}})

    def busy_on(self, member: str) -> int:
        return sum(1 for name in self.busy if self.by.get(name) == member)


async def test_a_busy_shard_leaves_the_member_that_has_two_of_them() -> None:
    work = Work()
    async with running(SmallFleet(work.controller, shards=4), "a", "b") as fleet:
        await work.begin(fleet, 40, busy_on="a")
        assert work.busy
        await eventually(
            lambda: 0.2 * len(work.busy) <= work.busy_on("b"),
            within_seconds=MEASURED_WITHIN_SECONDS,
            what="a part of the busy keys runs on b",
        )
        moved = fleet.open_ranges()
        await asyncio.sleep(300)
        assert fleet.open_ranges() == moved, "and nothing moves to and fro after that"


async def test_a_shard_that_is_busier_than_all_others_is_split_in_the_middle_of_its_work() -> None:
    work = Work()
    async with running(SmallFleet(work.controller, shards=2), "a", "b") as fleet:
        assert fleet.coordinator is not None
        fleet.coordinator.plan_settings = replace(fleet.coordinator.plan_settings, auto_split=True)
        await work.begin(fleet, 30, busy_on="a")
        few = len(work.busy)
        assert few >= 6
        await eventually(
            lambda: len(fleet.open_ranges()) > 2 and abs(work.busy_on("a") - work.busy_on("b")) <= 0.5 * few,
            within_seconds=2 * MEASURED_WITHIN_SECONDS,
            what="the busy keys run on both",
        )
