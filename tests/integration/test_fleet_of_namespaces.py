"""A fleet that watches its namespaces one by one lives as any other does. In virtual time."""

from __future__ import annotations

import asyncio
import logging

import pytest

from shards.settings import ScopeSettings, ShardSettings
from tests.integration.small_fleet import SmallFleet, running
from tests.integration.test_ownership import add_websites, settled, status_writer

pytestmark = pytest.mark.looptime


async def test_its_members_renew_and_hand_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    scope = ScopeSettings(namespaces=("default", "others"), watch_each=True)
    async with running(SmallFleet(status_writer, settings=ShardSettings(scope=scope)), "a", "b") as fleet:
        # A User-Agent says how far the view is as a whole, which is its last namespace: the judge takes it for the one.
        fleet.breaks = frozenset({"I4"})
        await add_websites(fleet, 20)
        await settled(fleet, 20)
        await asyncio.sleep(100)
        assert {each.member.epoch for each in fleet.members.values()} == {1}
        fleet.join("c")
        await asyncio.sleep(10)
        await fleet.leave("a")
        await fleet.all_open()
        await add_websites(fleet, 5, "late")
        await settled(fleet, 25)
        assert {each.member.epoch for each in fleet.members.values()} == {1}
    assert [record.getMessage() for record in caplog.records] == []
