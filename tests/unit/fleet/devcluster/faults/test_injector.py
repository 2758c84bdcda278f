"""What the scenes do not show: windows of time, chance, clocks, the cache, what a server does about slow clients."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from fleet.devcluster.faults import Events, Faults, Match
from fleet.devcluster.faults.words import (
    ClockSkew,
    Cut,
    DelayEvents,
    DropEvents,
    ExpireWatch,
    HideEvents,
    LateLanding,
    LostAck,
    Refuse,
    Silence,
    Slice,
    SlowReader,
    TooLarge,
    TruncateList,
    Word,
)
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer, Interrupted
from fleet.devcluster.wire.requests import Request
from shards import errors
from tests.unit.fleet.devcluster.faults.bench import CONFIG_MAPS, Bench, cached, config_map, seconds
from tests.unit.fleet.devcluster.faults.scenes import STRUCK, create, lost, refused

pytestmark = pytest.mark.looptime


async def test_a_fault_has_its_time(bench: Bench) -> None:
    bench.faults.inject(Refuse(match=STRUCK, status=500, from_seconds=10, until_seconds=20))
    await create(bench, "a")
    await asyncio.sleep(11)
    await refused(bench, "b")
    await asyncio.sleep(10)
    await create(bench, "b")


async def test_a_hold_lets_go_when_its_time_is_over(bench: Bench) -> None:
    async with bench.watch() as watch:
        bench.faults.inject(DelayEvents(match=STRUCK, until_seconds=3))
        began = seconds()
        await bench.create("a")
        assert await watch.shown(1) == [("ADDED", "a")]
        assert seconds() - began == pytest.approx(3)


async def test_delays_count_from_the_event_whenever_the_client_looks(bench: Bench) -> None:
    async with bench.watch() as watch:
        bench.faults.inject(DelayEvents(match=STRUCK, seconds=3))
        await bench.create("a")
        await asyncio.sleep(2.5)
        began = seconds()
        await watch.shown(1)
        assert seconds() - began == pytest.approx(0.5)


async def test_the_end_of_a_watch_waits_for_delayed_events_but_not_for_held_ones(
    bench: Bench, server: ApiServer
) -> None:
    for fault, shown in ((DelayEvents(match=STRUCK, seconds=2), [("ADDED", "late")]), (DelayEvents(match=STRUCK), [])):
        bench.faults.inject(fault)
        async with bench.watch() as watch:
            await bench.create("late" if shown else "held")
            server.close()
            assert await watch.shown(len(shown)) == shown
            with pytest.raises(StopAsyncIteration):
                await watch.next()
        bench.faults.clear()


async def test_clear_heals_everything_at_once(bench: Bench) -> None:
    words: list[Word] = [
        Silence(match=STRUCK),
        LostAck(match=STRUCK),
        DelayEvents(match=STRUCK),
        Refuse(match=STRUCK, status=500),
    ]
    async with bench.watch() as watch:
        for word in words:
            bench.faults.inject(word)
        await bench.create("a")
        bench.faults.clear()
        assert list(bench.faults) == []
        assert await watch.shown(1) == [("ADDED", "a")]
        await create(bench, "b")


async def test_what_would_land_late_lands_with_the_release(bench: Bench) -> None:
    late = bench.faults.inject(LateLanding(match=STRUCK, seconds=600))
    await lost(bench, "a")
    assert not await bench.exists("a")
    late.release()
    await asyncio.sleep(0.01)
    assert await bench.exists("a")
    await asyncio.sleep(700)
    assert late.struck == 1


async def test_a_request_that_is_given_up_in_a_silence_never_lands(bench: Bench) -> None:
    silence = bench.faults.inject(Silence(match=STRUCK))
    await lost(bench, "a")
    silence.release()
    await asyncio.sleep(1)
    assert not await bench.exists("a")


async def test_chance_is_repeatable(bench: Bench) -> None:
    def struck(seed: int) -> list[int]:
        faults = Faults(random.Random(seed))
        cut = faults.inject(LostAck(probability=0.5))
        return [number for number in range(50) if cut.strikes(0.0, faults._present.rng)]

    assert struck(1) == struck(1)
    assert struck(1) != struck(2)


async def test_a_server_ends_the_watch_of_a_client_that_reads_too_slowly(bench: Bench, server: ApiServer) -> None:
    server.settings.watch_buffer_events = 5
    async with bench.watch() as watch, bench.watch("other") as other:
        bench.faults.inject(SlowReader(match=STRUCK, seconds=2))
        await bench.create("first")
        await watch.shown(1)
        await other.shown(1)
        for number in range(8):
            await bench.create(f"n{number}")
            await other.shown(1)
        assert len(server.watching.streams) == 1
        with pytest.raises(StopAsyncIteration):
            await watch.shown(9)


async def test_a_dropped_deletion_stays_in_the_lists_of_the_cache_for_ever(bench: Bench) -> None:
    await bench.create("a")
    version = await bench.version()
    drop = bench.faults.inject(DropEvents(match=Match(resource="v1/configmaps"), events=Events(name="a"), times=1))
    await bench.direct.delete(CONFIG_MAPS, "default", "a")
    await bench.create("b")
    cached = await bench.direct.list(CONFIG_MAPS, "default", query=[("resourceVersion", "0")])
    assert [each["metadata"]["name"] for each in cached["items"]] == ["a", "b"]
    assert not await bench.exists("a")
    async with bench.watch(resourceVersion=version) as watch:
        assert await watch.shown(1) == [("ADDED", "b")]
    assert drop.struck == 1


async def test_a_members_clock_runs_as_the_faults_say(bench: Bench) -> None:
    loop = asyncio.get_running_loop()
    fast, other = bench.faults.clock("a", loop.time), bench.faults.clock("b", loop.time)
    skew = bench.faults.inject(ClockSkew(match=Match(member="a"), rate=2.0, offset_seconds=5.0))
    began = loop.time()
    await asyncio.sleep(10)
    assert fast() == pytest.approx(began + 25)
    assert other() == pytest.approx(began + 10)
    skew.release()
    assert fast() == pytest.approx(began + 25)
    await asyncio.sleep(10)
    assert fast() == pytest.approx(began + 30)


async def test_a_read_that_waits_is_interrupted_with_faults_and_without(server: ApiServer) -> None:
    for faults in ([], [DelayEvents()]):
        for fault in faults:
            server.faults.inject(fault)
        query = [("watch", "true"), ("resourceVersion", str(server.storage.version))]
        stream = (await server.handle("GET", CONFIG_MAPS.path(), query)).stream
        assert stream is not None
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0.1)
        stream.interrupt()
        with pytest.raises(Interrupted):
            await reading
        stream.close()


async def test_streams_without_faults_cost_no_task_and_leave_none_behind(bench: Bench) -> None:
    before = len(asyncio.all_tasks())
    async with bench.watch() as watch:
        await bench.create("a")
        await watch.shown(1)
        assert len(asyncio.all_tasks()) == before
        hold = bench.faults.inject(DelayEvents(match=STRUCK))
        await bench.create("b")
        hold.release()
        await watch.shown(1)
        await bench.create("c")
        await watch.shown(1)
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) == before


async def test_the_record_tells_what_faults_did(bench: Bench, recorder: Recorder) -> None:
    bench.faults.inject(Refuse(match=STRUCK, status=429, retry_after_seconds=2, times=1))
    await refused(bench, "a")
    bench.faults.inject(LostAck(match=STRUCK, times=1))
    await lost(bench, "b")
    bench.faults.clear()
    noted = [(each.verb, each.status, each.name) for each in recorder.entries if each.note]
    assert noted == [
        ("fault", 0, ""),
        ("refused", 429, "a"),
        ("fault", 0, ""),
        ("lost", 0, "b"),
        ("fault-end", 0, ""),
        ("fault-end", 0, ""),
    ]
    assert msgspec.json.decode(next(each.note for each in recorder.entries if each.note))["fault"] == "refuse"


async def test_requests_in_a_silence_go_on_in_the_order_in_which_they_came(bench: Bench, server: ApiServer) -> None:
    silence = bench.faults.inject(Silence())
    order: list[str] = []

    async def ask(name: str) -> None:
        body = msgspec.json.encode(config_map(name))
        await server.handle("POST", CONFIG_MAPS.path("default"), (), body, {"content-type": "application/json"})
        order.append(name)

    waiting = []
    for name in ("a", "b", "c"):
        waiting.append(asyncio.create_task(ask(name)))
        await asyncio.sleep(0.1)
    assert order == []
    silence.release()
    await asyncio.gather(*waiting)
    assert order == ["a", "b", "c"]


async def test_a_fault_that_comes_while_the_server_works_strikes_the_answer() -> None:
    faults = Faults()
    server = ApiServer()

    async def slowly(request: Request):  # type: ignore[no-untyped-def]  # an Answer
        answer = await server._answer(request)
        await asyncio.sleep(1)
        return answer

    asking = asyncio.create_task(faults.carry(Request("GET", "/version"), slowly))
    await asyncio.sleep(0.5)
    faults.inject(LostAck())
    with pytest.raises(Exception, match="lost"):
        await asking


@pytest.mark.parametrize("at", range(0, 24, 3))
async def test_a_stream_may_be_cut_at_every_byte(bench: Bench, at: int) -> None:
    bench.faults.inject(Cut(match=Match(user_agent="struck", verbs=("watch",)), after_bytes=at))
    async with bench.watch() as watch:
        await bench.create("a")
        with pytest.raises(errors.Unreachable):
            await watch.next()
        assert len(watch.received) == at


async def test_a_fault_that_would_change_nothing_has_not_struck(bench: Bench) -> None:
    await bench.create("a")
    cut = bench.faults.inject(Cut(match=STRUCK, after_bytes=1_000_000, times=1))
    shorter = bench.faults.inject(TruncateList(match=STRUCK, keep=5, times=1))
    assert await cached(bench) == ["a"]
    assert (cut.struck, shorter.struck) == (0, 0)
    for number in range(6):
        await bench.create(f"n{number}")
    assert await cached(bench) == ["a", "n0", "n1", "n2", "n3"]
    assert shorter.struck == 1


async def test_a_version_that_is_none_is_left_to_the_server(bench: Bench) -> None:
    bench.faults.inject(TooLarge(match=STRUCK))
    with pytest.raises(errors.ApiError) as raised:
        await bench.client().list(CONFIG_MAPS, "default", query=[("resourceVersion", "\u00b2")])
    assert raised.value.status == 400


async def test_words_about_events_say_nothing_to_other_streams_and_hold_nothing_of_them_back(bench: Bench) -> None:
    class Log:
        """A line that has not ended."""

        def __init__(self) -> None:
            self.pieces = [b"no end"]

        async def read(self) -> bytes:
            if self.pieces:
                return self.pieces.pop()
            await asyncio.sleep(1000)
            return b""

        def interrupt(self) -> None: ...

        def close(self) -> None: ...

    async def forward(request: Request) -> Answer:
        return Answer(200, b"", "text/plain", stream=Log())

    for word in (DelayEvents(), ExpireWatch(), DropEvents(), HideEvents()):
        bench.faults.inject(word)
    silence = bench.faults.inject(Silence(until_seconds=5))
    asked = Request("GET", "/api/v1/namespaces/a/pods/b/log", [("follow", "true")])
    answer = await bench.faults.carry(asked, forward)
    assert answer.stream is not None
    assert await answer.stream.read() == b"no end"
    answer.stream.close()
    assert silence.struck == 1


async def test_an_answer_that_no_fault_struck_is_not_taken_apart(bench: Bench, server: ApiServer) -> None:
    bench.faults.inject(Cut(match=STRUCK, after_bytes=1_000_000))
    bench.faults.inject(Slice(match=STRUCK, probability=0.0))
    answer = await server.handle("GET", "/api/v1/namespaces", headers={"user-agent": "struck"})
    assert answer.stream is None
    assert answer.body.startswith(b'{"kind":"NamespaceList"')
