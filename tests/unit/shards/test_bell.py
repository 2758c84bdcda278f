from __future__ import annotations

import asyncio

import pytest

from shards.bell import Bell

pytestmark = pytest.mark.looptime(noop_cycles=0)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_patience_ends_in_time() -> None:
    bell, began = Bell(), now()
    assert not await bell.wait(3.0)
    assert now() - began == pytest.approx(3.0)


async def test_a_bell_ends_the_wait_at_once_and_any_other_until_it_is_cleared() -> None:
    bell, began = Bell(), now()
    asyncio.get_running_loop().call_later(2.0, bell.set)
    assert await bell.wait(None)
    assert now() - began == pytest.approx(2.0)
    bell.set()
    assert await bell.wait(3.0)
    assert now() - began == pytest.approx(2.0)
    bell.clear()
    assert not bell.is_set()
    assert not await bell.wait(1.0)


async def test_who_has_no_patience_still_lets_others_have_a_turn() -> None:
    turns: list[str] = []
    asyncio.get_running_loop().call_soon(turns.append, "another")
    assert not await Bell().wait(-5.0)
    assert turns == ["another"]


async def test_a_deadline_nearer_than_the_clock_can_show_is_waited_for_once() -> None:
    """Time stands still here while timers are due: waiting for a fraction of a nanosecond would never end it."""
    bell, deadline, looks = Bell(), now() + 1.0 + 1e-10, 0
    while now() < deadline and looks < 10:
        await bell.wait(deadline - now())
        looks += 1
    assert looks <= 2


async def test_a_bell_that_rings_when_time_is_over_has_rung() -> None:
    bell = Bell()
    asyncio.get_running_loop().call_later(1.0, bell.set)
    assert await bell.wait(1.0)


async def test_a_wait_that_was_cancelled_leaves_nothing_behind() -> None:
    bell = Bell()
    waiting = asyncio.create_task(bell.wait(5.0))
    await asyncio.sleep(1.0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bell.set()
    assert await bell.wait(5.0)
