from __future__ import annotations

import asyncio

import pytest

from fleet.workers.pauses import pause_until

pytestmark = pytest.mark.looptime(noop_cycles=0)


async def test_a_pause_is_over_in_time_and_at_once_for_whoever_is_told_to_stop() -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    began = loop.time()
    await pause_until(stop, 3.0)
    assert loop.time() - began == pytest.approx(3.0)
    resting = asyncio.create_task(pause_until(stop, 3600.0))
    await asyncio.sleep(0)
    assert not resting.done()
    stop.set()
    await resting
    assert loop.time() - began == pytest.approx(3.0)


async def test_one_that_is_over_already_lets_others_have_a_turn() -> None:
    turns: list[str] = []
    asyncio.get_running_loop().call_soon(turns.append, "another")
    await pause_until(asyncio.Event(), -5.0)
    assert turns == ["another"]
