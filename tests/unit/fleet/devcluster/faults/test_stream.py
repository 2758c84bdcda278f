"""Many watches under faults: who is struck first, what is left of clients that went away, how much is kept for whom."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from fleet.devcluster.faults import Injection
from fleet.devcluster.faults.delivery import BUFFER_BYTES
from fleet.devcluster.faults.match import Asked
from fleet.devcluster.faults.stream import FaultyStream
from fleet.devcluster.faults.words import (
    Cut,
    DelayAnswers,
    DelayEvents,
    DropEvents,
    ExpireWatch,
    HideEvents,
    LateLanding,
    LostAck,
    NoBookmarks,
    Partition,
    Refuse,
    Reset,
    Silence,
    Slice,
    SlowReader,
    StaleReplica,
    TooLarge,
    Unreachable,
    Word,
)
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.watchcache import WatchCache
from fleet.devcluster.wire.requests import Request
from shards.errors import ShardError
from shards.objects import Object
from tests.unit.fleet.devcluster.faults.bench import CONFIG_MAPS, Bench, Watch, config_map
from tests.unit.fleet.devcluster.faults.scenes import STRUCK, WATCHES

pytestmark = pytest.mark.looptime


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(ServerSettings(bookmark_seconds=1.0), rng=random.Random(1))


def all_streams(server: ApiServer) -> int:
    """What a server and its faults still know of watches."""
    faults = server.faults
    caches = [server.cache, *faults.replicas.caches.values()]
    hearers = sum(len(each) for cache in caches if isinstance(cache, WatchCache) for each in cache._hearers.values())
    held = len(faults._streams) + len(faults._landings) + len(faults._present._waiters)
    return len(server.watching.streams) + hearers + held


async def kinds_until_its_end(watch: Watch) -> list[str]:
    """Types of the events that still come."""
    kinds = []
    with contextlib.suppress(StopAsyncIteration):
        while True:
            kinds.append((await watch.next())["type"])
    return kinds


# ---------------------------------------------------------------------- order


async def test_open_watches_are_struck_in_the_order_in_which_they_were_opened(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        watches = [await stack.enter_async_context(bench.watch()) for _ in range(60)]
        cut = bench.faults.inject(Cut(match=STRUCK, times=20, clean=True))
        await bench.create("a")
        struck = []
        for number, watch in enumerate(watches):
            try:
                await watch.next()
            except StopAsyncIteration:
                struck.append(number)
        assert struck == list(range(20))
        assert cut.struck == 20


async def test_events_of_all_watches_come_back_in_opening_order_with_a_release(bench: Bench) -> None:
    seen: list[int] = []

    async def reader(number: int) -> None:
        async with bench.watch(resourceVersion=version) as watch:
            await watch.shown(1)
            seen.append(number)

    version = await bench.version()
    readers = []
    for number in range(40):
        readers.append(asyncio.create_task(reader(number)))
        await asyncio.sleep(0.01)
    hold = bench.faults.inject(DelayEvents(match=STRUCK))
    await bench.create("a")
    await asyncio.sleep(1)
    assert seen == []
    hold.release()
    await asyncio.gather(*readers)
    assert seen == list(range(40))


# ---------------------------------------------------------------------- clients that went away

WORDS: list[Word] = [
    DelayEvents(match=STRUCK),
    DelayEvents(match=STRUCK, seconds=5),
    HideEvents(match=STRUCK),
    DropEvents(match=STRUCK),
    NoBookmarks(match=STRUCK),
    ExpireWatch(match=STRUCK),
    SlowReader(match=STRUCK, seconds=50),
    Cut(match=STRUCK, after_bytes=5),
    Cut(match=STRUCK, clean=True),
    Slice(match=STRUCK, piece_bytes=1),
    Silence(match=STRUCK),
    Partition(match=STRUCK, way="to_server"),
    Partition(match=STRUCK, way="to_client"),
    DelayAnswers(match=STRUCK, seconds=3),
    LostAck(match=STRUCK),
    LateLanding(match=WATCHES, seconds=3),
    Refuse(match=STRUCK, status=500, carried_out=True),
    TooLarge(match=STRUCK),
    Unreachable(match=STRUCK),
    Reset(match=STRUCK),
    StaleReplica(match=STRUCK, frozen=True),
]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: f"{type(word).__name__}")
@pytest.mark.parametrize("before", [True, False], ids=["opened under it", "open before it"])
async def test_watches_of_clients_that_went_away_leave_nothing(
    bench: Bench, server: ApiServer, word: Word, before: bool
) -> None:
    async def client() -> None:
        query = [("watch", "true"), ("resourceVersion", version)]
        with contextlib.suppress(ShardError, asyncio.CancelledError):
            async with bench.transport.stream(bench.path, query=query, user_agent="struck") as chunks:
                async for _ in chunks:
                    pass

    version = await bench.version()
    fault = bench.faults.inject(word) if before else None
    clients = [asyncio.create_task(client()) for _ in range(100)]
    await asyncio.sleep(0.5)
    fault = fault or bench.faults.inject(word)
    for number in range(3):
        await bench.create(f"n{number}")
    rng = random.Random(3)
    for each in clients:
        each.cancel()
        if rng.random() < 0.2:
            await asyncio.sleep(0.1)
    await asyncio.gather(*clients)
    await asyncio.sleep(10)
    assert all_streams(server) == 0
    fault.release()
    await bench.create("later")
    await asyncio.sleep(10)
    assert all_streams(server) == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


# ---------------------------------------------------------------------- how much is kept


def big(name: str) -> Object:
    return config_map(name) | {"data": {"a": "x" * 500_000}}


@pytest.mark.parametrize(
    "word",
    [
        DelayEvents(match=STRUCK),
        Silence(match=STRUCK),
        Partition(match=STRUCK, way="to_client"),
        NoBookmarks(match=STRUCK),
        Slice(match=STRUCK, piece_bytes=100_000),
    ],
    ids=lambda word: str(type(word).__name__),
)
async def test_a_client_that_does_not_read_has_little_kept_for_it_and_loses_nothing(
    bench: Bench, server: ApiServer, word: Word
) -> None:
    async with bench.watch() as watch:
        fault = bench.faults.inject(word)
        await asyncio.sleep(0.1)
        names = [f"n{number}" for number in range(30)]
        for name in names:
            await bench.direct.create(CONFIG_MAPS, "default", big(name))
            await asyncio.sleep(0.1)
        (stream,) = server.faults._streams
        delivery = stream._delivery
        kept = delivery._waiting_bytes + len(delivery._ready) + len(delivery._partial)
        assert BUFFER_BYTES <= kept < BUFFER_BYTES + 1_000_000
        if not isinstance(word, Slice | NoBookmarks):
            fault.release()
        assert await watch.shown(30) == [("ADDED", name) for name in names]


async def test_a_server_ends_the_watch_of_a_client_for_which_enough_is_kept(bench: Bench, server: ApiServer) -> None:
    server.settings.watch_buffer_events = 5
    async with bench.watch() as watch:
        silence = bench.faults.inject(Silence(match=STRUCK))
        for number in range(30):
            await bench.direct.create(CONFIG_MAPS, "default", big(f"n{number}"))
            await asyncio.sleep(0.1)
        assert not server.watching.streams
        silence.release()
        assert 9 <= len(await kinds_until_its_end(watch)) < 20


async def test_a_stream_without_line_ends_is_kept_within_bounds() -> None:
    class Endless:
        """Pieces of a log without an end of a line."""

        read_bytes = 0

        async def read(self) -> bytes:
            await asyncio.sleep(0.01)
            self.read_bytes += 1 << 20
            return b"x" * (1 << 20)

        def interrupt(self) -> None: ...

        def close(self) -> None: ...

    inner, asked = Endless(), Asked(Request("GET", "/api/v1/namespaces/a/pods/b/log"))
    stream = FaultyStream(asked, inner, random.Random(1), on_close=lambda closed: None)
    stream.attach(Injection(1, Silence(), 0.0, lambda ended: None))
    stream.changed(0.0)
    await asyncio.sleep(10)
    assert inner.read_bytes <= 2 * BUFFER_BYTES
    stream.close()


# ---------------------------------------------------------------------- order of what a client is given


async def test_nothing_comes_after_the_error_that_ends_a_watch(bench: Bench) -> None:
    async with bench.watch() as watch:
        assert await watch.quiet(0.05)
        await bench.create("a")  # has arrived, and is not read yet
        bench.faults.inject(ExpireWatch(match=STRUCK))
        kinds = await kinds_until_its_end(watch)
        assert kinds[-1:] == ["ERROR"]
        assert kinds.count("ERROR") == 1


WALK: list[Callable[[random.Random], Word]] = [
    lambda rng: DelayEvents(match=STRUCK, seconds=rng.choice([0.1, 1.0, 3.3]), probability=rng.choice([0.5, 1.0])),
    lambda rng: DelayEvents(match=STRUCK, until_seconds=rng.uniform(0.1, 5.0)),
    lambda rng: DelayEvents(match=STRUCK, times=rng.randrange(1, 4)),
    lambda rng: Silence(match=STRUCK, from_seconds=rng.uniform(0.0, 1.0), until_seconds=rng.uniform(1.1, 4.0)),
    lambda rng: Partition(match=STRUCK, way="to_client", probability=0.5),
    lambda rng: SlowReader(match=STRUCK, seconds=rng.uniform(0.1, 2.0)),
    lambda rng: Slice(match=STRUCK, piece_bytes=rng.randrange(1, 200)),
    lambda rng: NoBookmarks(match=STRUCK, probability=0.5),
]


@pytest.mark.parametrize("seed", range(20))
async def test_versions_never_go_back_and_a_bookmark_leaves_nothing_behind_it(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    async with bench.watch(allowWatchBookmarks="true") as watch:
        made: dict[int, str] = {}
        shown: list[tuple[str, int]] = []

        async def read_on() -> None:
            while True:
                event = await watch.next()
                shown.append((event["type"], int(event["object"]["metadata"]["resourceVersion"])))

        reading = asyncio.create_task(read_on())
        for step in range(200):
            act = rng.random()
            present = list(bench.faults)
            if act < 0.15 and len(present) < 3:
                bench.faults.inject(rng.choice(WALK)(rng))
            elif act < 0.3 and present:
                rng.choice(present).release()
            elif act < 0.7:
                made[int(await bench.create(f"n{step}"))] = f"n{step}"
            else:
                await asyncio.sleep(rng.choice([0.0, 0.1, 0.7]))
        bench.faults.clear()
        await asyncio.sleep(30)
        reading.cancel()
    versions = [version for _, version in shown]
    assert versions == sorted(versions)
    assert [version for kind, version in shown if kind == "ADDED"] == sorted(made)
    assert "BOOKMARK" in {kind for kind, _ in shown}
