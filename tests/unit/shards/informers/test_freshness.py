"""Views that grow old are listed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from shards.informers.feed import Feed
from shards.informers.freshness import LOOK_SECONDS, STALE_SECONDS, keep_fresh
from shards.testing.virtual_time import loop_seconds

pytestmark = pytest.mark.looptime


class Old:
    """As much of an informer as is looked at."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.synced.set()
        self.waiting = False
        self.current_at = loop_seconds()
        self.asked: list[asyncio.Future[str]] = []

    def relist(self) -> asyncio.Future[str]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]


@contextmanager
def kept_fresh(*informers: Old) -> Iterator[None]:
    task = asyncio.create_task(keep_fresh([cast(Feed, each) for each in informers], loop_seconds))
    try:
        yield
    finally:
        task.cancel()


async def test_a_view_that_is_old_is_listed_once_until_the_list_is_there() -> None:
    old = Old()
    with kept_fresh(old):
        await asyncio.sleep(STALE_SECONDS)
        assert old.asked == []
        await asyncio.sleep(STALE_SECONDS)
        assert len(old.asked) == 1
        old.asked[0].set_result("9")
        old.current_at = loop_seconds()
        await asyncio.sleep(STALE_SECONDS)
        assert len(old.asked) == 1
        await asyncio.sleep(2 * LOOK_SECONDS)
        assert len(old.asked) == 2


async def test_a_view_that_hears_of_its_server_is_left_alone() -> None:
    old = Old()
    with kept_fresh(old):
        for _ in range(10):
            await asyncio.sleep(60)
            old.current_at = loop_seconds()
    assert old.asked == []


async def test_an_informer_that_was_told_to_wait_waits() -> None:
    told, other = Old(), Old()
    told.waiting = True
    with kept_fresh(told, other):
        await asyncio.sleep(2 * STALE_SECONDS)
    assert (told.asked, len(other.asked)) == ([], 1)


async def test_an_informer_that_lists_already_is_left_alone() -> None:
    old = Old()
    old.synced.clear()
    with kept_fresh(old):
        await asyncio.sleep(2 * STALE_SECONDS)
    assert old.asked == []
