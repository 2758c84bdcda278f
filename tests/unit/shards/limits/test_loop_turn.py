"""What runs that wait for nothing may take of one turn of the loop."""

from __future__ import annotations

import asyncio

import pytest

from shards.limits.loop_turn import TURN_KEYS, TURN_SECONDS, LoopTurn

pytestmark = pytest.mark.looptime

RUN_SECONDS = 0.0003


async def test_all_who_ask_share_the_time_of_one_turn_and_each_may_have_one_run() -> None:
    now = 1.0
    turn = LoopTurn(lambda: now)
    runs: list[str] = []

    async def works(name: str) -> None:
        nonlocal now
        over = False
        while not over:
            now += RUN_SECONDS
            runs.append(name)
            over = turn.over()

    await asyncio.gather(works("a"), works("b"), works("c"))
    in_time = 1 + int(TURN_SECONDS / RUN_SECONDS + 1)
    assert runs == ["a"] * in_time + ["b", "c"]


async def test_the_next_turn_has_its_time_anew() -> None:
    now = 1.0
    turn = LoopTurn(lambda: now)
    assert not turn.over()
    now += TURN_SECONDS
    assert turn.over()
    await asyncio.sleep(0)
    assert not turn.over()


async def test_where_the_clock_stands_still_keys_are_counted() -> None:
    turn = LoopTurn(lambda: 1.0)
    runs = 1
    while not turn.over():
        runs += 1
    assert runs == TURN_KEYS


async def test_one_callback_that_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    turn = LoopTurn(lambda: 1.0)
    called: list[str] = []

    def fails() -> None:
        raise ValueError("odd")

    for each in (fails, lambda: called.append("a"), lambda: called.append("b")):
        turn.then(each)
    assert called == []
    await asyncio.sleep(0)
    assert called == ["a", "b"]
    assert "odd" in caplog.text
