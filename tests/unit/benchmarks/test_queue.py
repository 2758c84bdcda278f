"""The queue's benchmark runs, with fewer keys than it measures."""

from __future__ import annotations

from benchmarks.queue import failed_and_tried_again, keys, put_to_done, through_an_engine


def test_the_works_of_the_queue_alone_come_to_their_end() -> None:
    put_to_done(keys(100), low_priority=True)
    failed_and_tried_again(keys(100))


async def test_every_key_goes_through_the_engine() -> None:
    await through_an_engine(keys(100))
