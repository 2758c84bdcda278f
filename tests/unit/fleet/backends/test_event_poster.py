"""Events on the embedded server, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chaos.simulation.loop import SimulationLoop
from chaos.simulation.process import Process
from chaos.simulation.process_clock import ProcessClock
from fleet.backends.event_poster import BURST, PER_MINUTE, SAME_SECONDS, EventPoster
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import DelayAnswers, Refuse
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.records.happening import Happening
from fleet.records.object_names import EVENTS, Kind, Names
from shards.api.client import Client
from shards.keyrange import WHOLE
from shards.objects import Object
from shards.testing.virtual_time import loop_seconds

pytestmark = pytest.mark.looptime

NAMES = Names("web", "default")
TAKEOVER = Happening("Takeover", "b took it over", Kind.SHARD, str(WHOLE))


class Posting:
    """A poster on a server of its own."""

    def __init__(self) -> None:
        self.server = ApiServer(ServerSettings(), rng=random.Random(1), wall_seconds=lambda: 1.0e9)
        self.transport = InProcessTransport(self.server, clock=loop_seconds)
        self.poster = EventPoster(
            self.transport,
            NAMES,
            reporter="web-0-1",
            user_agent=lambda: "fleet/test m=web-0-1 e=1 r=events",
            clock=loop_seconds,
            wall=lambda: 1.0e9 + loop_seconds(),
        )

    async def events(self) -> list[Object]:
        found: list[Any] = (await Client(self.transport, user_agent="test").list(EVENTS, "default"))["items"]
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))


@asynccontextmanager
async def posting() -> AsyncIterator[Posting]:
    made = Posting()
    task = asyncio.create_task(made.poster.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        made.server.close()


async def test_an_event_says_what_happened_to_which_record() -> None:
    async with posting() as made:
        made.poster.tell(TAKEOVER)
        made.poster.tell(Happening("Fenced", "silent", Kind.MEMBER, "web-0-1", warning=True))
        made.poster.tell(Happening("Frozen", "incident", Kind.MAP))
        await asyncio.sleep(1)
        told = {each["reason"]: each for each in await made.events()}
        assert told["Takeover"]["message"] == "b took it over"
        assert told["Takeover"]["involvedObject"]["kind"] == "Lease"
        assert told["Takeover"]["involvedObject"]["name"] == f"web-shard-uidv1-{WHOLE}"
        assert (told["Fenced"]["type"], told["Fenced"]["involvedObject"]["name"]) == ("Warning", "web-member-web-0-1")
        assert (told["Frozen"]["type"], told["Frozen"]["involvedObject"]["name"]) == ("Normal", "web-map")
        assert all(each["metadata"]["labels"]["shardfleet.dev/fleet"] == "web" for each in told.values())


async def test_the_same_again_is_counted_and_not_posted_again() -> None:
    async with posting() as made:
        for _ in range(3):
            made.poster.tell(TAKEOVER)
        await asyncio.sleep(1)
        [event] = await made.events()
        assert event["count"] == 3
        await asyncio.sleep(SAME_SECONDS + 1)
        made.poster.tell(TAKEOVER)
        await asyncio.sleep(1)
        assert [each["count"] for each in await made.events()] == [3, 1]


async def test_an_event_that_is_gone_is_posted_anew() -> None:
    async with posting() as made:
        made.poster.tell(TAKEOVER)
        await asyncio.sleep(1)
        [event] = await made.events()
        await Client(made.transport, user_agent="test").delete(EVENTS, "default", event["metadata"]["name"])
        made.poster.tell(TAKEOVER)
        await asyncio.sleep(1)
        assert len(await made.events()) == 1


async def test_a_thousand_at_once_are_a_few_a_minute_and_one_that_counts_the_rest() -> None:
    async with posting() as made:
        for number in range(1000):
            made.poster.tell(Happening("Takeover", f"number {number}", Kind.MAP))
        await asyncio.sleep(1)
        assert len(await made.events()) == BURST
        await asyncio.sleep(60)
        assert len(await made.events()) <= BURST + PER_MINUTE + 1
        await asyncio.sleep(300)
        found = await made.events()
        assert len(found) <= 2 * BURST + 2
        [rest] = [each for each in found if each["reason"] == "MoreHappened"]
        told = sum(each["reason"] == "Takeover" for each in found)
        assert rest["message"] == f"too much happened at once to tell each: Takeover {1000 - told} times"


async def test_a_server_that_refuses_or_is_slow_costs_events_and_nothing_else() -> None:
    async with posting() as made:
        refusal = made.server.faults.inject(Refuse(match=Match(resource=str(EVENTS)), status=403))
        made.poster.tell(TAKEOVER)
        await asyncio.sleep(1)
        refusal.release()
        slow = made.server.faults.inject(DelayAnswers(match=Match(resource=str(EVENTS)), seconds=60.0))
        made.poster.tell(Happening("Fenced", "silent", Kind.MAP))
        await asyncio.sleep(10)
        slow.release()
        assert made.poster.refused == 2
        made.poster.tell(Happening("Frozen", "incident", Kind.MAP))
        await asyncio.sleep(1)
        assert "Frozen" in [each["reason"] for each in await made.events()]


def test_a_clock_that_cannot_show_the_rest_of_a_token_does_not_hold_the_loop() -> None:
    """Readings of a machine that has been up for days have longer steps than what is left to wait."""
    loop = SimulationLoop(random.Random(1))
    machine = Process("agent", 1, loop, random.Random(1), clock=ProcessClock(loop, 1.0e6))
    posting = machine.call(Posting)
    posting.poster = EventPoster(
        posting.transport, NAMES, reporter="a", user_agent=lambda: "fleet/test m=a e=1 r=events", clock=machine.clock
    )
    posting.poster._tokens = 1 - 1e-12
    posting.poster.tell(TAKEOVER)
    machine.spawn(posting.poster.run())
    loop.run_until(1.0)
    assert [event["message"] for event in loop.run_until_complete(posting.events())] == ["b took it over"]
    loop.close()
