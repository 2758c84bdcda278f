"""What went wrong elsewhere when many watched at once, or when one of several stood still. In virtual time.

The table is in docs/cases.md.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayAnswers, Silence, Unreachable
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.testing.virtual_time import loop_seconds
from tests.integration.cases.informed import INFORMED, LISTS, Informed
from tests.integration.small_fleet import WEBSITES, SmallFleet, running
from tests.integration.test_ownership import status_writer

pytestmark = pytest.mark.looptime

BOOKMARK_SECONDS = 60.0
"""As API servers send them."""


async def test_b38_a_worker_whose_watch_is_stuck_is_not_ready_within_two_bookmarks_and_the_others_are() -> None:
    """Health is that of each worker's own views, not of the process that asks them."""
    server = ApiServer(
        ServerSettings(bookmark_seconds=BOOKMARK_SECONDS),
        rng=random.Random(1),
        recorder=Recorder(clock=loop_seconds),
        wall_seconds=lambda: 1.0e9,
    )
    async with running(SmallFleet(status_writer, shards=2, server=server), "a", "b") as fleet:
        await asyncio.sleep(3 * BOOKMARK_SECONDS)
        assert {worker.status()["ready"] for worker in fleet.members.values()} == {True}
        stuck = Match(verbs=("watch", "list"), resource=str(WEBSITES), member="a")
        silence = fleet.server.faults.inject(Silence(match=stuck))
        began, unready_after = loop_seconds(), float("inf")
        while loop_seconds() < began + 2.5 * BOOKMARK_SECONDS:
            await asyncio.sleep(1)
            assert fleet.members["b"].status()["ready"]
            status = fleet.members["a"].status()
            if not status["ready"]:
                unready_after = min(unready_after, loop_seconds() - began)
                assert status["reason"].startswith("a view of objects was last known to be current")
            else:
                assert unready_after == float("inf"), "nothing was heard, and it is ready again"
        assert unready_after <= 2 * BOOKMARK_SECONDS
        silence.release()
        await asyncio.sleep(35)
        assert fleet.members["a"].status()["ready"]


WORKERS = 64
OBJECTS = 20
MOST_AT_ONCE = 16
"""Lists in flight while all come back."""
ANSWER_SECONDS = 0.1


async def test_b52_watchers_of_a_server_that_restarts_resume_and_list_nothing() -> None:
    async with AsyncExitStack() as stack:
        rigs = await watchers(stack)
        began = loop_seconds()
        restart(rigs[0].server, seconds=5)
        await rigs[0].change("o0", "x")
        await asyncio.sleep(60)
        for rig in rigs:
            await rig.equal(within_seconds=5)
            assert rig.asked("list", since=began) == []


async def test_b52_where_the_history_is_lost_too_each_lists_once_and_not_all_at_one_time() -> None:
    async with AsyncExitStack() as stack:
        rigs = await watchers(stack)
        server, began = rigs[0].server, loop_seconds()
        restart(server, seconds=5)
        await rigs[0].change("o0", "x")
        rigs[0].lose_history()
        server.faults.inject(DelayAnswers(match=LISTS, seconds=ANSWER_SECONDS))
        await asyncio.sleep(60)
        firsts = [[each.at for each in rig.asked("list", since=began) if "continue" not in each.query] for rig in rigs]
        assert {len(each) for each in firsts} == {1}
        pages = OBJECTS // 5
        begins = sorted(each[0] for each in firsts)
        flight = ANSWER_SECONDS * pages
        at_once = max(sum(1 for other in begins if at - flight < other <= at) for at in begins)
        assert at_once <= MOST_AT_ONCE, Counter(round(at, 1) for at in begins)
        for rig in rigs:
            await rig.equal(within_seconds=5)


async def watchers(stack: AsyncExitStack) -> list[Informed]:
    """Informers of one server."""
    first = Informed()
    first.put(*(f"o{number}" for number in range(OBJECTS)))
    rigs = [first, *(Informed(of=first.server, seed=number) for number in range(1, WORKERS))]
    for rig in rigs:
        await stack.enter_async_context(rig)
    return rigs


def restart(server: ApiServer, *, seconds: float) -> None:
    server.faults.inject(Unreachable(match=INFORMED, until_seconds=seconds))
    server.watching.end()
