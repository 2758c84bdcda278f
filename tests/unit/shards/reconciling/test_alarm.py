"""Until somebody rings, or until a time."""

from __future__ import annotations

import asyncio

import pytest

from shards.reconciling.alarm import Alarm

pytestmark = pytest.mark.looptime


async def rested(alarm: Alarm, seconds: float) -> float:
    """How long it did."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    alarm.clear()
    await alarm.rest(began, seconds)
    return loop.time() - began


def timers(alarm: Alarm) -> int:
    scheduled = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    return sum("Alarm" in repr(each) for each in scheduled if not each.cancelled())


async def test_it_rings_by_itself_when_the_time_has_come() -> None:
    alarm = Alarm()
    assert [await rested(alarm, 3), await rested(alarm, 1)] == [3, 1]
    assert timers(alarm) == 0


async def test_somebody_may_ring_before() -> None:
    alarm = Alarm()
    asyncio.get_running_loop().call_later(2, alarm.ring)
    assert await rested(alarm, 3) == 2


async def test_who_rang_before_the_rest_began_is_heard() -> None:
    alarm = Alarm()
    alarm.ring()
    await alarm.rest(0.0, 3)
    assert asyncio.get_running_loop().time() == 0


async def test_rests_that_are_cut_short_share_one_timer() -> None:
    alarm = Alarm()
    handles = set()
    for _ in range(10):
        asyncio.get_running_loop().call_later(0.01, alarm.ring)
        assert round(await rested(alarm, 1), 3) == 0.01
        assert timers(alarm) == 1
        handles.add(alarm._timer)
    assert len(handles) == 1


async def test_a_shorter_rest_is_not_kept_waiting_by_a_longer_one() -> None:
    alarm = Alarm()
    asyncio.get_running_loop().call_later(0.5, alarm.ring)
    assert await rested(alarm, 60) == 0.5
    assert await rested(alarm, 1) == 1
    assert timers(alarm) == 0


async def test_a_close_leaves_no_timer() -> None:
    alarm = Alarm()
    asyncio.get_running_loop().call_later(0.5, alarm.ring)
    await rested(alarm, 60)
    alarm.close()
    assert timers(alarm) == 0
