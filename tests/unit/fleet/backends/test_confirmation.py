"""A quiet view is confirmed in time, and a server that does not answer is not pestered."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from fleet.backends.confirmation import keep_confirmed
from fleet.backends.local import LocalCoordination
from fleet.records.coordination import CoordinationUnavailable, CoordinationView

pytestmark = pytest.mark.looptime

LEASE_SECONDS = 8.0


def now() -> float:
    return asyncio.get_running_loop().time()


class CountedView:
    """A view that remembers when it was confirmed. answers: whether the store does; settles: whether that helps."""

    def __init__(self, *, answers: bool = True, settles: bool = True) -> None:
        self.answers = answers
        self.settles = settles
        self.confirmed_at = now()
        self.asked_at: list[float] = []

    async def confirm(self) -> None:
        self.asked_at.append(now())
        if not self.answers:
            raise CoordinationUnavailable("no answer")
        if self.settles:
            self.confirmed_at = now()


async def asked(view: CountedView, seconds: float, **options: object) -> list[float]:
    """Times at which the view was confirmed within so many seconds."""
    keeping: CoordinationView = view  # type: ignore[assignment]  # the three things that keep_confirmed uses
    task = asyncio.create_task(keep_confirmed(keeping, LEASE_SECONDS, now, **options))  # type: ignore[arg-type]
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return view.asked_at


async def test_a_quiet_view_is_confirmed_every_half_lease() -> None:
    began = now()
    times = [time - began for time in await asked(CountedView(), 20.5)]
    assert times == pytest.approx([4, 8, 12, 16, 20], abs=0.01)


async def test_a_view_that_moves_by_itself_is_left_alone() -> None:
    view = CountedView()

    async def move() -> None:
        while True:
            await asyncio.sleep(1)
            view.confirmed_at = now()

    moving = asyncio.create_task(move())
    assert await asked(view, 30) == []
    moving.cancel()
    await asyncio.gather(moving, return_exceptions=True)


@pytest.mark.parametrize("trouble", [{"answers": False}, {"settles": False}])
async def test_a_store_that_does_not_help_is_asked_again_after_a_pause(trouble: dict[str, bool]) -> None:
    times = await asked(CountedView(**trouble), LEASE_SECONDS)
    pauses = [later - sooner for sooner, later in pairwise(times)]
    assert pauses
    assert min(pauses) >= LEASE_SECONDS / 16


async def test_nobody_asks_for_a_view_that_nobody_needs() -> None:
    assert await asked(CountedView(), 60, wanted=lambda: False) == []


async def test_a_real_view_stays_confirmed() -> None:
    view = LocalCoordination(clock=now).watch(members=False)
    task = asyncio.create_task(keep_confirmed(view, LEASE_SECONDS, now))
    await asyncio.sleep(60)
    assert now() - view.confirmed_at <= LEASE_SECONDS / 2 + LEASE_SECONDS / 16
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await view.close()
