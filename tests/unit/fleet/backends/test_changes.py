from __future__ import annotations

import asyncio
import gc

from fleet.backends.changes import Changes
from fleet.records.coordination import Change

FIRST = Change("map", "", False)
MAP = Change("map", "", True)


def shard_change(name: str) -> Change:
    return Change("shard", name, True)


async def test_a_consumer_begins_with_one_change() -> None:
    changes = Changes()
    assert await anext(changes.subscribe(FIRST)) == FIRST


async def test_every_consumer_gets_every_change() -> None:
    changes = Changes()
    consumers = [changes.subscribe(FIRST) for _ in range(3)]
    changes.publish(shard_change("a"))
    changes.close()
    assert [[change async for change in consumer] for consumer in consumers] == [[FIRST, shard_change("a")]] * 3


async def test_what_a_slow_consumer_has_not_taken_is_merged() -> None:
    changes = Changes()
    consumer = changes.subscribe(FIRST)
    for _ in range(1000):
        changes.publish(shard_change("a"))
        changes.publish(MAP)
    changes.close()
    assert [change async for change in consumer] == [MAP, shard_change("a")]


async def test_a_change_between_two_steps_of_a_consumer_is_not_lost() -> None:
    changes = Changes()
    consumer = changes.subscribe(FIRST)
    await anext(consumer)
    waiting = asyncio.ensure_future(anext(consumer))
    await asyncio.sleep(0)
    assert not waiting.done()
    changes.publish(shard_change("a"))
    changes.publish(shard_change("b"))
    assert await waiting == shard_change("a")
    assert await anext(consumer) == shard_change("b")


async def test_a_consumer_that_comes_after_the_end_ends_too() -> None:
    changes = Changes()
    changes.close()
    assert [change async for change in changes.subscribe(FIRST)] == [FIRST]


async def test_a_cancelled_wait_leaves_the_consumer_usable() -> None:
    changes = Changes()
    consumer = changes.subscribe(FIRST)
    await anext(consumer)
    waiting = asyncio.ensure_future(anext(consumer))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    changes.publish(MAP)
    assert await anext(consumer) == MAP


async def test_a_consumer_that_was_dropped_is_forgotten() -> None:
    changes = Changes()
    kept = changes.subscribe(FIRST)
    for _ in range(10):
        changes.subscribe(FIRST)
    gc.collect()
    changes.publish(MAP)
    assert len(changes._streams) == 1
    assert await anext(kept) == MAP
