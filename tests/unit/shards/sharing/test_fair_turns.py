"""A long list and a flood of events leave the loop to others in time, by a clock that only work moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from shards.api.useragent import UserAgent
from shards.journal import NO_JOURNAL
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from
from shards.objects import Resource
from shards.settings import ScopeSettings
from shards.sharing.shared_cache import SharedCache
from shards.sharing.shared_informer import SharedInformer, SharedStreams
from shards.sharing.shared_stream import StreamMaker
from shards.stores.store import Change, Entry, Replacement
from shards.watching.source import FilterMode, Source

THINGS = Resource("demo", "v1", "things")
OBJECTS = 20_000
PAGE = 500
ADD_SECONDS, TELL_SECONDS, EVENT_SECONDS = 40e-6, 20e-6, 60e-6
"""What each step costs on the counting clock: more than it does on a slow machine."""

HELD_SECONDS = 0.010


def thing(number: int, version: int) -> bytes:
    metadata = {"name": f"t{number}", "namespace": "ns", "uid": f"{number:x}-uid", "resourceVersion": str(version)}
    return msgspec.json.encode({"kind": "Thing", "apiVersion": "demo/v1", "metadata": metadata})


class Flood:
    """A server that always has the next page, and then the next events."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def request(self, method: str, path: str, *, query: Any = (), **_: Any) -> bytes:
        at = int(dict(query).get("continue", 0))
        after = str(at + PAGE) if at + PAGE < OBJECTS else ""
        items = b",".join(thing(number, 1 + number) for number in range(at, at + PAGE))
        head = {"resourceVersion": str(OBJECTS), "continue": after}
        return b'{"kind":"ThingList","metadata":' + msgspec.json.encode(head) + b',"items":[' + items + b"]}"

    @asynccontextmanager
    async def stream(self, path: str, **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        async def chunks() -> AsyncIterator[bytes]:
            await self.go.wait()
            lines = (
                b'{"type":"MODIFIED","object":' + thing(number, OBJECTS + 1 + number) + b"}\n"
                for number in range(OBJECTS)
            )
            yield b"".join(lines)  # all at once: as much as a socket's buffer can be ahead
            await asyncio.get_running_loop().create_future()

        yield chunks()

    async def close(self) -> None: ...


class Counting:
    """A clock that stands still but for `work`. held: the longest that others had to wait for their turn."""

    def __init__(self) -> None:
        self.now = 1.0
        self.held = 0.0
        self.turns = 0

    def __call__(self) -> float:
        return self.now

    async def others(self) -> None:
        """A Lease that is due for its renewal in every turn."""
        while True:
            began = self.now
            await asyncio.sleep(0)
            self.held = max(self.held, self.now - began)
            self.turns += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Counting:
    made = Counting()
    add, take = Replacement.add, SharedCache.take

    def adding(self: Replacement, entry: Entry) -> None:
        made.now += ADD_SECONDS
        add(self, entry)

    def taking(self: SharedCache, event: Any) -> None:
        made.now += EVENT_SECONDS
        take(self, event)

    monkeypatch.setattr(Replacement, "add", adding)
    monkeypatch.setattr(SharedCache, "take", taking)
    return made


def parts(clock: Counting, flood: Flood, covered: tuple[KeyRange, ...]) -> Iterator[SharedInformer]:
    def told(change: Change) -> None:
        clock.now += TELL_SECONDS

    streams = SharedStreams()
    make = StreamMaker(flood, clock, random.Random(1), None, UserAgent(product="fleet/0", member="w"))
    for each in covered:
        source = Source(THINGS, each, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary")
        yield SharedInformer(
            streams, make, source, handler=told, on_progress=lambda: None, clock=clock, journal=NO_JOURNAL
        )


async def longest_hold(clock: Counting, count: int) -> float:
    """Seconds that others had to wait at most, from nothing until every event was seen."""
    flood = Flood()
    informers = list(parts(clock, flood, ranges_from(equal_boundaries(count))))
    lease = asyncio.create_task(clock.others())
    running = [asyncio.create_task(each.run()) for each in informers]
    try:
        for each in informers:
            await each.synced.wait()
        assert sum(len(each.store) for each in informers) == OBJECTS
        flood.go.set()
        while [each.store.resource_version for each in informers] != [str(2 * OBJECTS)] * count:
            assert clock.now < 100 * OBJECTS * EVENT_SECONDS, "the events did not come through"
            clock.now += EVENT_SECONDS / 100
            await asyncio.sleep(0)
    finally:
        for task in (lease, *running):
            task.cancel()
        await asyncio.gather(lease, *running, return_exceptions=True)
    return clock.held


@pytest.mark.looptime
@pytest.mark.parametrize("count", [1, 16])
async def test_neither_a_long_list_nor_a_flood_of_events_holds_the_loop_for_ten_milliseconds(
    clock: Counting, count: int
) -> None:
    assert await longest_hold(clock, count) <= HELD_SECONDS


@pytest.mark.looptime
async def test_without_slices_they_would(clock: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shards.limits.slices.SLICE_SECONDS", 1e9)
    monkeypatch.setattr("shards.limits.slices.SLICE_OBJECTS", 10**9)
    assert await longest_hold(clock, 1) > 10 * HELD_SECONDS
