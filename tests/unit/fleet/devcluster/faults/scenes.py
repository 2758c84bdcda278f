"""What a client sees of each fault. The same scenes are played in process, over HTTP and through the proxy, in front of
the embedded server and of a real one: the errors must be the same everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from fleet.devcluster.faults import Events, Match
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
    TruncateList,
    Unreachable,
)
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from shards import errors
from tests.unit.fleet.devcluster.faults.bench import CONFIG_MAPS, Bench, Watch, config_map, seconds

Scene = Callable[[Bench], Awaitable[None]]

STRUCK = Match(user_agent="struck")
CREATES = Match(user_agent="struck", verbs=("create",))
WATCHES = Match(user_agent="struck", verbs=("watch",))
LISTS = Match(user_agent="struck", verbs=("list",))
INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


async def create(bench: Bench, name: str, agent: str = "struck") -> None:
    await bench.client(agent).create(CONFIG_MAPS, bench.namespace, config_map(name))


async def lost(bench: Bench, name: str) -> errors.Unreachable:
    """The error of a create that gets no answer."""
    with pytest.raises(errors.Unreachable) as raised:
        await create(bench, name)
    return raised.value


async def refused(bench: Bench, name: str) -> errors.ApiError:
    """The error of a create that is refused."""
    with pytest.raises(errors.ApiError) as raised:
        await create(bench, name)
    return raised.value


async def being_read(watch: Watch) -> None:
    """From now on a read waits at the watch.

    aiohttp gives whoever reads after a connection broke the error alone, and throws away the bytes that came before it.
    An event of another process comes before or after the answer to its request: only who waits already sees them.
    """
    assert await watch.quiet(0.01)


async def names(bench: Bench) -> list[str]:
    listed = await bench.client().list(CONFIG_MAPS, bench.namespace)
    return [each["metadata"]["name"] for each in listed["items"] if not each["metadata"]["name"].startswith("kube-")]


# ---------------------------------------------------------------------- events of watches


async def delayed_events_come_late_in_order_for_one_client(bench: Bench) -> None:
    bench.faults.inject(DelayEvents(match=STRUCK, seconds=0.4))
    async with bench.watch() as late, bench.watch("other") as other:
        began = seconds()
        await bench.create("a")
        await bench.create("b")
        assert await other.shown(2) == [("ADDED", "a"), ("ADDED", "b")]
        assert seconds() - began < 0.4
        assert await late.shown(2) == [("ADDED", "a"), ("ADDED", "b")]
        assert seconds() - began >= 0.4


async def held_events_arrive_with_the_release(bench: Bench) -> None:
    async with bench.watch() as watch:
        hold = bench.faults.inject(DelayEvents(match=STRUCK))
        await bench.create("a")
        await bench.create("b")
        assert await watch.quiet()
        hold.release()
        assert await watch.shown(2) == [("ADDED", "a"), ("ADDED", "b")]
        await bench.create("c")
        assert await watch.shown(1) == [("ADDED", "c")]


async def hidden_events_never_come_and_later_ones_do(bench: Bench) -> None:
    async with bench.watch() as watch, bench.watch("other") as other:
        hide = bench.faults.inject(HideEvents(match=STRUCK, events=Events(name="b", types=("ADDED",)), times=1))
        for name in ("a", "b", "c"):
            await bench.create(name)
        await bench.direct.delete(CONFIG_MAPS, bench.namespace, "b")
        assert await watch.shown(3) == [("ADDED", "a"), ("ADDED", "c"), ("DELETED", "b")]
        assert await other.shown(4) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("DELETED", "b")]
        assert hide.struck == 1


async def a_run_of_versions_is_hidden(bench: Bench) -> None:
    async with bench.watch("other") as other:
        begin = await bench.version()
        first, last = await bench.create("a"), await bench.create("b")
        await bench.create("c")
        await other.shown(3)
        bench.faults.inject(HideEvents(match=STRUCK, events=Events(first_version=int(first), last_version=int(last))))
        async with bench.watch(resourceVersion=begin) as watch:
            assert await watch.shown(1) == [("ADDED", "c")]


async def a_dropped_event_is_lost_for_later_watches_too(bench: Bench) -> None:
    begin = await bench.version()
    async with bench.watch(resourceVersion=begin) as watch:
        bench.faults.inject(DropEvents(events=Events(types=("DELETED",)), times=1))
        await bench.create("a")
        await bench.create("b")
        await bench.direct.delete(CONFIG_MAPS, bench.namespace, "a")
        await bench.direct.delete(CONFIG_MAPS, bench.namespace, "b")
        expected = [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "b")]
        assert await watch.shown(3) == expected
    async with bench.watch("later", resourceVersion=begin) as later:
        assert await later.shown(3) == expected


async def bookmarks_stay_away(bench: Bench) -> None:
    await bench.create("a")
    async with bench.watch("other", fieldSelector="metadata.name=a", **INITIAL) as other:
        assert await other.shown(2) == [("ADDED", "a"), ("BOOKMARK", "")]
    bench.faults.inject(NoBookmarks(match=STRUCK))
    async with bench.watch(fieldSelector="metadata.name=a", **INITIAL) as watch:
        assert await watch.shown(1) == [("ADDED", "a")]
        assert await watch.quiet()
    bench.faults.clear()
    bench.faults.inject(NoBookmarks(match=STRUCK, initial_events_end=True))
    async with bench.watch(fieldSelector="metadata.name=a", **INITIAL) as watch:
        assert await watch.shown(2) == [("ADDED", "a"), ("BOOKMARK", "")]


async def an_expired_watch_ends_with_an_error_event(bench: Bench) -> None:
    async with bench.watch() as watch:
        await bench.create("a")
        assert await watch.shown(1) == [("ADDED", "a")]
        bench.faults.inject(ExpireWatch(match=STRUCK))
        event = await watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        with pytest.raises(StopAsyncIteration):
            await watch.next()
    async with bench.watch() as watch:
        assert (await watch.next())["object"]["code"] == 410


async def a_slow_reader_sees_events_in_bursts(bench: Bench) -> None:
    async with bench.watch() as watch:
        bench.faults.inject(SlowReader(match=STRUCK, seconds=0.4))
        await bench.create("a")
        assert await watch.shown(1) == [("ADDED", "a")]
        began = seconds()
        await bench.create("b")
        await bench.create("c")
        assert await watch.shown(2) == [("ADDED", "b"), ("ADDED", "c")]
        assert seconds() - began > 0.2


# ---------------------------------------------------------------------- connections


async def a_stream_is_cut_in_the_middle_of_a_character(bench: Bench) -> None:
    bench.faults.inject(Cut(match=WATCHES, after_bytes=10, inside_character=True))
    async with bench.watch() as watch:
        await being_read(watch)
        await bench.create("a", annotations={"note": "日本語"})
        with pytest.raises(errors.Unreachable) as raised:
            await watch.next()
    assert raised.value.maybe_applied
    assert len(watch.received) > 10
    with pytest.raises(UnicodeDecodeError):
        watch.received.decode()


async def an_open_stream_is_cut_at_once(bench: Bench) -> None:
    async with bench.watch() as watch:
        assert await watch.quiet(0.05)
        bench.faults.inject(Cut(match=STRUCK, times=1))
        with pytest.raises(errors.Unreachable):
            await watch.next()
    async with bench.watch() as watch:
        await bench.create("a")
        assert await watch.shown(1) == [("ADDED", "a")]


async def a_stream_is_cut_after_so_many_bytes(bench: Bench) -> None:
    bench.faults.inject(Cut(match=WATCHES, after_bytes=25))
    async with bench.watch() as watch:
        await being_read(watch)
        await bench.create("a")
        with pytest.raises(errors.Unreachable):
            await watch.next()
    assert watch.received == b'{"type":"ADDED","object":'


async def a_stream_ends_cleanly_and_empty(bench: Bench) -> None:
    bench.faults.inject(Cut(match=WATCHES, clean=True))
    async with bench.watch() as watch:
        with pytest.raises(StopAsyncIteration):
            await watch.next()
    assert watch.received == b""


async def a_body_is_cut_half_way(bench: Bench) -> None:
    await bench.create("a")
    bench.faults.inject(Cut(match=LISTS, fraction=0.5))
    with pytest.raises(errors.Unreachable) as raised:
        await names(bench)
    assert raised.value.maybe_applied
    bench.faults.clear()
    bench.faults.inject(Cut(match=LISTS, fraction=0.5, clean=True))
    with pytest.raises(msgspec.DecodeError):
        await names(bench)


async def bodies_and_streams_come_in_small_pieces(bench: Bench) -> None:
    """What is in pieces on the wire may be read at once, where the reader is late: hardly every time."""
    begin = await bench.version()
    bench.faults.inject(Slice(match=STRUCK, piece_bytes=7))
    created = [f"n{number:02}" for number in range(20)]
    async with bench.watch(resourceVersion=begin) as watch:
        for name in created:
            await bench.create(name, annotations={"note": "日本語"})
            event = await watch.next()
            assert event["object"]["metadata"]["annotations"] == {"note": "日本語"}
    assert len(watch.sizes) > len(created)
    assert await names(bench) == created


async def silence_answers_nothing_until_its_release(bench: Bench) -> None:
    async with bench.watch() as watch:
        silence = bench.faults.inject(Silence(match=STRUCK))
        await bench.create("a")
        assert await watch.quiet()
        assert (await lost(bench, "b")).maybe_applied
        assert not await bench.exists("b")
        patient = asyncio.create_task(create(bench, "c"))
        await asyncio.sleep(0.1)
        silence.release()
        await patient
        assert await watch.shown(2) == [("ADDED", "a"), ("ADDED", "c")]


async def a_watch_in_silence_does_not_even_open(bench: Bench) -> None:
    bench.faults.inject(Silence(match=STRUCK))
    query = [("watch", "true")]
    with pytest.raises(errors.Unreachable):
        async with bench.transport.stream(bench.path, query=query, user_agent="struck", idle_seconds=0.3):
            pass


async def a_partition_to_the_server_lets_events_through(bench: Bench) -> None:
    async with bench.watch() as watch:
        bench.faults.inject(Partition(match=STRUCK, way="to_server"))
        await bench.create("a")
        assert await watch.shown(1) == [("ADDED", "a")]
        await lost(bench, "b")
        assert not await bench.exists("b")


async def a_partition_to_the_client_carries_out_what_it_never_answers(bench: Bench) -> None:
    async with bench.watch() as watch:
        partition = bench.faults.inject(Partition(match=STRUCK, way="to_client"))
        assert (await lost(bench, "a")).maybe_applied
        assert await bench.exists("a")
        assert await watch.quiet()
        partition.release()
        assert await watch.shown(1) == [("ADDED", "a")]


async def a_refused_connection_is_known_to_have_done_nothing(bench: Bench) -> None:
    async with bench.watch() as watch:
        refusal = bench.faults.inject(Unreachable())
        assert not (await lost(bench, "a")).maybe_applied
        refusal.release()
        await create(bench, "b")
        assert await watch.shown(1) == [("ADDED", "b")]


async def a_reset_leaves_the_client_in_doubt_of_a_request_that_never_arrived(bench: Bench) -> None:
    bench.faults.inject(Reset(match=CREATES, times=1))
    assert (await lost(bench, "a")).maybe_applied
    assert not await bench.exists("a")
    await create(bench, "a")


# ---------------------------------------------------------------------- requests and answers


async def answers_come_late(bench: Bench) -> None:
    delay = bench.faults.inject(DelayAnswers(match=STRUCK, seconds=0.3))
    began = seconds()
    creating = asyncio.create_task(create(bench, "a"))
    await asyncio.sleep(0.1)
    assert await bench.exists("a")
    assert not creating.done()
    await creating
    assert seconds() - began >= 0.3
    assert delay.struck == 1


async def a_lost_answer_leaves_the_client_in_doubt_of_what_was_done(bench: Bench) -> None:
    bench.faults.inject(LostAck(match=CREATES, times=1))
    assert (await lost(bench, "a")).maybe_applied
    assert await bench.exists("a")
    await create(bench, "b")


async def a_request_lands_after_its_sender_gave_up(bench: Bench) -> None:
    late = bench.faults.inject(LateLanding(match=CREATES, seconds=0.3, times=1))
    assert (await lost(bench, "a")).maybe_applied
    assert not await bench.exists("a")
    async with bench.watch("other") as other:
        assert await other.shown(1) == [("ADDED", "a")]
    assert late.struck == 1


async def refusals_come_with_their_status_and_retry_after(bench: Bench) -> None:
    for status, kind, reason in (
        (409, errors.Conflict, "Conflict"),
        (410, errors.Expired, "Expired"),
        (429, errors.TooManyRequests, "TooManyRequests"),
        (500, errors.ApiError, "InternalError"),
        (503, errors.ApiError, "ServiceUnavailable"),
        (504, errors.ServerTimeout, "Timeout"),
    ):
        refuse = bench.faults.inject(Refuse(match=STRUCK, status=status, retry_after_seconds=7))
        error = await refused(bench, "a")
        assert (type(error), error.status, error.reason, error.retry_after_seconds) == (kind, status, reason, 7)
        refuse.release()
    bench.faults.inject(Refuse(match=STRUCK, status=502, text="bad gateway"))
    assert "bad gateway" in str(await refused(bench, "a"))
    assert not await bench.exists("a")


async def lists_and_watches_are_refused_as_expired(bench: Bench) -> None:
    bench.faults.inject(Refuse(match=Match(user_agent="struck", verbs=("list", "watch")), status=410))
    with pytest.raises(errors.Expired):
        await names(bench)
    with pytest.raises(errors.Expired):
        async with bench.watch():
            pass


async def a_request_is_carried_out_and_refused(bench: Bench) -> None:
    bench.faults.inject(Refuse(match=CREATES, status=500, carried_out=True, times=1))
    assert (await refused(bench, "a")).status == 500
    assert await bench.exists("a")


async def a_version_is_too_large_in_both_shapes(bench: Bench) -> None:
    version = await bench.version()
    for cause, told in ((True, "ResourceVersionTooLarge"), (False, "")):
        behind = bench.faults.inject(TooLarge(match=LISTS, cause=cause))
        with pytest.raises(errors.ServerTimeout, match=f"Too large resource version: {version}") as raised:
            await bench.client().list(CONFIG_MAPS, bench.namespace, query=[("resourceVersion", version)])
        assert raised.value.cause == told
        await names(bench)
        behind.release()


async def a_list_ends_early_as_if_it_were_complete(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        await bench.create(name)
    bench.faults.inject(TruncateList(match=LISTS, keep=1))
    listed = await bench.client().list(CONFIG_MAPS, bench.namespace, query=[("limit", "2")])
    assert [each["metadata"]["name"] for each in listed["items"]] == ["a"]
    assert not listed["metadata"].get("continue")
    assert listed["kind"] == "ConfigMapList"
    assert listed["metadata"]["resourceVersion"]


async def a_client_is_moved_to_another_replica(bench: Bench) -> None:
    async def behind(request: Request) -> Answer:
        body = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
        return Answer(200, msgspec.json.encode(body))

    await bench.create("a")
    bench.faults.routes["behind"] = behind
    move = bench.faults.inject(StaleReplica(match=LISTS, replica="behind"))
    assert await names(bench) == []
    move.release()
    assert await names(bench) == ["a"]
    with pytest.raises(errors.ConfigError, match="replica"):
        bench.faults.inject(StaleReplica(replica="none"))


SCENES: tuple[Scene, ...] = (
    delayed_events_come_late_in_order_for_one_client,
    held_events_arrive_with_the_release,
    hidden_events_never_come_and_later_ones_do,
    a_run_of_versions_is_hidden,
    a_dropped_event_is_lost_for_later_watches_too,
    bookmarks_stay_away,
    an_expired_watch_ends_with_an_error_event,
    a_slow_reader_sees_events_in_bursts,
    a_stream_is_cut_in_the_middle_of_a_character,
    an_open_stream_is_cut_at_once,
    a_stream_is_cut_after_so_many_bytes,
    a_stream_ends_cleanly_and_empty,
    a_body_is_cut_half_way,
    bodies_and_streams_come_in_small_pieces,
    silence_answers_nothing_until_its_release,
    a_watch_in_silence_does_not_even_open,
    a_partition_to_the_server_lets_events_through,
    a_partition_to_the_client_carries_out_what_it_never_answers,
    a_refused_connection_is_known_to_have_done_nothing,
    a_reset_leaves_the_client_in_doubt_of_a_request_that_never_arrived,
    answers_come_late,
    a_lost_answer_leaves_the_client_in_doubt_of_what_was_done,
    a_request_lands_after_its_sender_gave_up,
    refusals_come_with_their_status_and_retry_after,
    lists_and_watches_are_refused_as_expired,
    a_request_is_carried_out_and_refused,
    a_version_is_too_large_in_both_shapes,
    a_list_ends_early_as_if_it_were_complete,
    a_client_is_moved_to_another_replica,
)
