"""Suspects run one after the other, alone before their last chance, and the quarantined ones not at all."""

from __future__ import annotations

import asyncio

import pytest

from shards.objects import Key
from shards.queue.slots import Slots
from shards.queue.suspects import DEATHS, EMPTYING_SECONDS, LONGEST_ALONE_SECONDS, Suspect, Suspects

pytestmark = pytest.mark.looptime

NAME = "sites"


def key(name: str) -> Key:
    return Key("default", name, f"uid-{name}")


def suspects(slots: Slots | None = None, **deaths: int) -> Suspects:
    made = Suspects(slots or Slots(4))
    made.follow({(NAME, key(name)): count for name, count in deaths.items()})
    return made


class Engine:
    """Remembers which keys it was asked to try again."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def add(self, key: Key) -> None:
        self.tried.append(key.name)


class TestTurns:
    async def test_a_key_that_nobody_suspects_never_waits(self) -> None:
        known, engine = suspects(bad=1), Engine()
        assert not known.must_wait(NAME, key("bad"), engine.add)
        assert not known.must_wait(NAME, key("good"), engine.add)

    async def test_suspects_run_one_after_the_other(self) -> None:
        known, engine = suspects(a=1, b=1, c=1), Engine()
        assert [known.must_wait(NAME, key(name), engine.add) for name in "abc"] == [False, True, True]
        known.ended(NAME, key("a"), survived=True)
        assert engine.tried == ["b", "c"]
        assert [known.must_wait(NAME, key(name), engine.add) for name in "bc"] == [False, True]

    async def test_the_same_name_under_another_controller_is_another_key(self) -> None:
        known, engine = suspects(a=1), Engine()
        assert not known.must_wait("others", key("a"), engine.add)
        assert not known.must_wait(NAME, key("a"), engine.add)

    async def test_a_run_that_ends_clears_its_key(self) -> None:
        known, engine, told = suspects(a=2), Engine(), list[Suspect]()
        known.survived = told.append
        known.must_wait(NAME, key("a"), engine.add)
        known.ended(NAME, key("a"), survived=True)
        assert (known.deaths, told) == ({}, [(NAME, key("a"))])

    async def test_one_that_was_cancelled_does_not(self) -> None:
        known, engine, told = suspects(a=2), Engine(), list[Suspect]()
        known.survived = told.append
        known.must_wait(NAME, key("a"), engine.add)
        known.ended(NAME, key("a"), survived=False)
        assert (known.deaths, told) == ({(NAME, key("a")): 2}, [])
        assert not known.must_wait(NAME, key("a"), engine.add)

    async def test_the_end_of_another_key_changes_nothing(self) -> None:
        known, engine = suspects(a=1, b=1), Engine()
        known.must_wait(NAME, key("a"), engine.add)
        known.ended(NAME, key("b"), survived=True)
        assert known.running
        assert known.must_wait(NAME, key("b"), engine.add)

    async def test_an_engine_that_has_ended_is_not_asked_any_more(self) -> None:
        known, gone, other = suspects(a=1, b=1, c=1, d=DEATHS), Engine(), Engine()
        known.must_wait(NAME, key("a"), gone.add)
        known.must_wait(NAME, key("b"), gone.add)
        known.must_wait(NAME, key("c"), other.add)
        known.is_quarantined(NAME, key("d"), gone.add)
        known.forget(gone.add)
        known.ended(NAME, key("a"), survived=True)
        known.follow({})
        assert (gone.tried, other.tried) == ([], ["c"])


class TestQuarantine:
    async def test_three_deaths_are_one_too_many(self) -> None:
        known, engine = suspects(two=DEATHS - 1, three=DEATHS), Engine()
        assert not known.is_quarantined(NAME, key("two"), engine.add)
        assert known.is_quarantined(NAME, key("three"), engine.add)

    async def test_a_key_that_is_let_go_is_tried_at_once(self) -> None:
        known, engine = suspects(a=DEATHS, b=DEATHS), Engine()
        for name in "ab":
            known.is_quarantined(NAME, key(name), engine.add)
        known.follow({(NAME, key("a")): DEATHS - 1, (NAME, key("b")): DEATHS})
        assert engine.tried == ["a"]
        assert list(known.quarantined) == [(NAME, key("b"))]


class TestAlone:
    async def test_the_last_chance_runs_when_all_others_have_ended_and_they_wait_for_it(self) -> None:
        slots = Slots(4)
        known, engine = suspects(slots, a=DEATHS - 1), Engine()
        await slots.acquire(NAME)
        await slots.acquire(NAME)  # the suspect's own
        assert not known.must_wait(NAME, key("a"), engine.add)
        assert known.runs_alone(NAME, key("a"))
        asyncio.get_running_loop().call_later(1.0, slots.release, NAME)
        await known.alone()
        assert asyncio.get_running_loop().time() == 1.0
        other = asyncio.create_task(slots.acquire("others"))
        await asyncio.sleep(2.0)
        assert not other.done()
        known.ended(NAME, key("a"), survived=True)
        await asyncio.wait_for(other, 0.1)

    async def test_one_death_is_not_the_last_but_one(self) -> None:
        assert not suspects(a=1).runs_alone(NAME, key("a"))
        assert not suspects().runs_alone(NAME, key("a"))

    async def test_a_run_that_hangs_cannot_keep_it_from_its_turn_for_long(self) -> None:
        slots = Slots(4)
        known, engine = suspects(slots, a=DEATHS - 1), Engine()
        await slots.acquire("others")
        await slots.acquire(NAME)
        known.must_wait(NAME, key("a"), engine.add)
        await known.alone()
        assert asyncio.get_running_loop().time() == EMPTYING_SECONDS

    async def test_a_long_run_of_it_does_not_hold_the_others_up_for_long(self) -> None:
        slots = Slots(4)
        known, engine = suspects(slots, a=DEATHS - 1), Engine()
        await slots.acquire(NAME)
        known.must_wait(NAME, key("a"), engine.add)
        await known.alone()
        await slots.acquire("others")
        assert asyncio.get_running_loop().time() == LONGEST_ALONE_SECONDS
        known.ended(NAME, key("a"), survived=True)
        assert slots.take("others")

    async def test_who_is_cancelled_while_waiting_for_it_shuts_nobody_out(self) -> None:
        slots = Slots(4)
        known, engine = suspects(slots, a=DEATHS - 1), Engine()
        await slots.acquire("others")
        await slots.acquire(NAME)
        known.must_wait(NAME, key("a"), engine.add)
        waiting = asyncio.create_task(known.alone())
        await asyncio.sleep(1.0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        known.ended(NAME, key("a"), survived=False)
        slots.release(NAME)
        assert slots.take("others")
