"""Slots of a worker: bounded, in turns, and never all with one controller."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from shards.queue.slots import Slots

pytestmark = pytest.mark.looptime


async def settle() -> None:
    """Lets every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


class TestBound:
    async def test_no_more_are_given_than_there_are(self) -> None:
        slots = Slots(2)
        await slots.acquire("a")
        await slots.acquire("a")
        third = asyncio.create_task(slots.acquire("a"))
        await settle()
        assert not third.done()
        assert slots.free == 0
        slots.release("a")
        await third
        assert slots.free == 0

    async def test_who_is_cancelled_while_waiting_leaves_no_slot_behind(self) -> None:
        slots = Slots(1)
        await slots.acquire("a")
        waiting = [asyncio.create_task(slots.acquire("a")) for _ in range(2)]
        await settle()
        waiting[0].cancel()
        await settle()
        slots.release("a")
        await waiting[1]
        slots.release("a")
        assert slots.free == 1

    async def test_nor_does_who_is_cancelled_when_it_has_just_got_one(self) -> None:
        slots = Slots(1)
        await slots.acquire("a")
        waiting = asyncio.create_task(slots.acquire("a"))
        await settle()
        slots.release("a")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert slots.free == 1
        await slots.acquire("a")


class TestTurns:
    async def test_shards_of_a_controller_take_turns(self) -> None:
        slots = Slots(1)
        order: list[str] = []

        async def shard(name: str) -> None:
            for _ in range(5):
                await slots.acquire("a")
                order.append(name)
                await asyncio.sleep(1)
                slots.release("a")

        await asyncio.gather(*(shard(name) for name in "xyz"))
        assert order == [*"xyz"] * 5

    async def test_a_controller_with_many_shards_gets_no_more_than_one_with_few(self) -> None:
        slots = Slots(4)
        served: Counter[str] = Counter()

        async def shard(controller: str) -> None:
            while True:
                await slots.acquire(controller)
                served[controller] += 1
                asyncio.get_running_loop().call_later(1, slots.release, controller)

        names = ["wide"] * 40 + ["narrow"] * 2
        tasks = [asyncio.create_task(shard(name)) for name in names]
        await asyncio.sleep(100.5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(1)
        assert served["wide"] == pytest.approx(served["narrow"], abs=8)
        assert slots.free == 4

    async def test_a_controller_whose_reconciles_hang_leaves_one_to_each_other_one(self) -> None:
        slots = Slots(8)
        for name in ("quick", "other"):
            slots.join(name)
        hanging = [asyncio.create_task(slots.acquire("hangs")) for _ in range(20)]
        await settle()
        assert sum(task.done() for task in hanging) == 6
        async with asyncio.timeout(1):
            await slots.acquire("quick")
            await slots.acquire("other")
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

    async def test_more_controllers_than_slots_share_what_there_is(self) -> None:
        slots = Slots(1)
        for name in "abc":
            slots.join(name)
        assert slots.limit() == 1
        async with asyncio.timeout(1):
            for name in "abc":
                await slots.acquire(name)
                slots.release(name)

    async def test_a_single_controller_gets_all_of_them(self) -> None:
        slots = Slots(8)
        for _ in range(8):
            await slots.acquire("a")
        assert slots.free == 0


async def test_in_any_history_nobody_waits_for_a_slot_that_is_free() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        slots, held, waiting = Slots(rng.randint(1, 4)), Counter[str](), list[tuple[str, asyncio.Task[None]]]()
        for _ in range(200):
            name = rng.choice("abc")
            if rng.random() < 0.5:
                waiting.append((name, asyncio.create_task(slots.acquire(name))))
            elif waiting and rng.random() < 0.3:
                rng.choice(waiting)[1].cancel()
            elif held[name]:
                held[name] -= 1
                slots.release(name)
            await settle()
            for each in [each for each in waiting if each[1].done()]:
                waiting.remove(each)
                held[each[0]] += not each[1].cancelled()
            assert sum(held.values()) == slots.most - slots.free <= slots.most
            assert not [each for each, _ in waiting if slots.free and held[each] < slots.limit()]
        for _, task in waiting:
            task.cancel()
        await settle()
