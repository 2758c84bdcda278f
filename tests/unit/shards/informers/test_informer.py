"""The informer against a scripted transport, on virtual time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from shards.api.client import JSON, Query
from shards.errors import ShardError, Unreachable, api_error
from shards.informers.informer import Informer
from shards.keyrange import KeyRange, PartitionKey, fnv1a64, ranges_from
from shards.limits.slices import SLICE_OBJECTS
from shards.metrics import ShardMetrics
from shards.objects import ObjectName, Resource
from shards.settings import ScopeSettings
from shards.stores.store import Change, Replacement
from shards.watching.listing import STREAM_QUIET_SECONDS, STREAM_SECONDS
from shards.watching.source import FilterMode, Source

pytestmark = pytest.mark.looptime

LOW, HIGH = ranges_from((0, 1 << 63))
CONFIGMAPS = Resource("", "v1", "configmaps")
NOTHING: Callable[..., None] = lambda *_: None  # noqa: E731


def uid_in(wanted: KeyRange, start: str = "u") -> str:
    return next(f"{start}{number}" for number in range(1000) if fnv1a64(f"{start}{number}") in wanted)


def thing(name: str, version: int, uid: str = "", **metadata: Any) -> dict[str, Any]:
    uid = uid or uid_in(LOW, f"{name}-")
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version), **metadata}}


def listing(version: int, *objects: dict[str, Any], following: str = "") -> bytes:
    metadata = {"resourceVersion": str(version), "continue": following}
    return msgspec.json.encode({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": objects})


def line(kind: str, body: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": body}) + b"\n"


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


class Watch:
    """One watch of the scripted server: chunks to send, an error to raise, or None for a clean end."""

    def __init__(self, *steps: bytes | ShardError | None) -> None:
        self.steps: asyncio.Queue[bytes | ShardError | None] = asyncio.Queue()
        self.closed = False
        self.say(*steps)

    def say(self, *steps: bytes | ShardError | None) -> None:
        for step in steps:
            self.steps.put_nowait(step)

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            step = await self.steps.get()
            if step is None:
                return
            if isinstance(step, ShardError):
                raise step
            yield step


class Server:
    """Answers lists and watches in the order they were prepared; quiet watches once those are used up."""

    def __init__(self) -> None:
        self.lists: deque[bytes | BaseException | asyncio.Future[bytes]] = deque()
        self.watches: deque[Watch | BaseException] = deque()
        self.calls: list[tuple[float, str, dict[str, str]]] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        user_agent: str = "",
        accept: str = JSON,
        timeout_seconds: float = 30.0,
        not_after: float | None = None,
    ) -> bytes:
        assert (method, path, user_agent) == ("GET", "/api/v1/namespaces/ns/configmaps", "fleet/test")
        self._note("list", query)
        answer = self.lists.popleft()
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, bytes) else await answer

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        assert (path, user_agent, idle_seconds) == ("/api/v1/namespaces/ns/configmaps", "fleet/test", 75.0)
        self._note("watch", query)
        return self._stream(self.watches.popleft() if self.watches else Watch())

    @asynccontextmanager
    async def _stream(self, watch: Watch | BaseException) -> AsyncIterator[AsyncIterator[bytes]]:
        if isinstance(watch, BaseException):
            raise watch
        try:
            yield watch.chunks()
        finally:
            watch.closed = True

    async def close(self) -> None: ...

    def _note(self, kind: str, query: Query) -> None:
        self.calls.append((asyncio.get_running_loop().time(), kind, dict(query)))

    def kinds(self) -> list[str]:
        return [kind for _, kind, _ in self.calls]

    def times(self, kind: str) -> list[float]:
        return [at for at, each, _ in self.calls if each == kind]

    def resumed_from(self) -> list[str]:
        return [query["resourceVersion"] for _, kind, query in self.calls if kind == "watch"]


class Rig:
    """An informer of the lower half of the space, its scripted server, and what it handed over."""

    def __init__(self, *, role: str = "primary", streams: bool = False) -> None:
        self.server = Server()
        self.changes: list[Change] = []
        self.progress = 0
        self.registry = CollectorRegistry()
        self.handler: Callable[[Change], None] = self.changes.append
        self.on_progress: Callable[[], None] = NOTHING
        self.listening = True
        source = Source(
            CONFIGMAPS,
            LOW,
            PartitionKey.UID,
            ScopeSettings(),
            FilterMode.LOCAL,
            "owned" if role == "owned" else "primary",
        )
        self.informer = Informer(
            self.server,
            source,
            handler=lambda change: self.handler(change),
            on_progress=self.progressed,
            listening=lambda: self.listening,
            clock=asyncio.get_running_loop().time,
            rng=random.Random(7),
            metrics=ShardMetrics(self.registry),
            namespace="ns",
            user_agent="fleet/test",
            streams=streams,
        )

    def progressed(self) -> None:
        self.progress += 1
        self.on_progress()

    def told(self) -> list[tuple[str, str]]:
        """Each change as what happened and to which version."""
        return [
            ("deleted", change.old.resource_version)
            if change.new is None and change.old is not None
            else ("modified" if change.old else "added", change.new.resource_version if change.new else "")
            for change in self.changes
        ]

    def held(self) -> dict[str, str]:
        return {meta.name: meta.resource_version for meta in self.informer.store.metas()}

    def counted(self, name: str, **labels: str) -> float:
        which = "name" if name.startswith("reflector") else "resource"
        return self.registry.get_sample_value(name, {which: "v1/configmaps", **labels}) or 0.0

    async def run(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(self.informer.run())
        try:
            await script()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def until(self, condition: Callable[[], bool], seconds: float = 200.0) -> None:
        """Lets the loop run, virtual time included, until the condition holds."""
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)


@pytest.fixture
async def rig() -> Rig:
    return Rig()


async def synced(rig: Rig) -> None:
    await rig.informer.synced.wait()
    await rig.until(lambda: "watch" in rig.server.kinds())


class TestFirstList:
    async def test_pages_make_one_list_and_the_watch_begins_at_its_version(self, rig: Rig) -> None:
        rig.server.lists += [listing(100, thing("a", 90), following="t1"), listing(100, thing("b", 5))]

        async def script() -> None:
            assert not rig.informer.synced.is_set()
            await synced(rig)
            assert rig.held() == {"a": "90", "b": "5"}
            assert rig.informer.store.resource_version == "100"
            assert all(change.initial for change in rig.changes)
            assert rig.server.resumed_from() == ["100"]
            assert rig.server.calls[1][2]["continue"] == "t1"

        await rig.run(script)

    async def test_an_incomplete_list_shows_nothing(self, rig: Rig) -> None:
        second: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100, thing("a", 90), following="t1"), second]

        async def script() -> None:
            await rig.until(lambda: len(rig.server.calls) == 2)
            assert (rig.held(), rig.changes, rig.informer.store.resource_version) == ({}, [], "")
            second.set_result(listing(100))
            await synced(rig)
            assert rig.held() == {"a": "90"}

        await rig.run(script)

    async def test_objects_outside_the_range_are_left_out_and_counted(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100, thing("a", 90), thing("b", 95, uid_in(HIGH))))

        async def script() -> None:
            await synced(rig)
            assert rig.held() == {"a": "90"}
            assert rig.counted("shardfleet_foreign_events_total") == 1

        await rig.run(script)

    async def test_an_expired_token_begins_again_and_deletes_nothing(self, rig: Rig) -> None:
        rig.server.lists += [
            listing(100, thing("a", 90), thing("b", 91)),
            listing(110, thing("a", 90), following="t1"),
            api_error(410, "Expired"),
            listing(120, thing("a", 90), following="t2"),
            listing(120, thing("b", 91)),
        ]
        rig.server.watches.append(api_error(410, "Expired"))

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds().count("watch") == 2)
            assert rig.told() == [("added", "90"), ("added", "91")]
            assert rig.informer.store.resource_version == "120"

        await rig.run(script)

    async def test_failures_are_told_and_retried_with_backoff(self, rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
        rig.server.lists += [api_error(403, "Forbidden", "no list for you")] * 4 + [listing(100)]
        caplog.set_level(logging.WARNING, "shards.informers.informer")

        async def script() -> None:
            await rig.until(lambda: bool(rig.informer.trouble))
            assert "no list for you" in rig.informer.trouble
            await synced(rig)
            assert rig.informer.trouble == ""
            gaps = [b - a for a, b in pairwise(rig.server.times("list"))]
            assert all(0.8 * 2**n <= gap <= 1.6 * 2**n for n, gap in enumerate(gaps))
            assert len(caplog.records) == 1

        await rig.run(script)

    async def test_what_is_there_is_not_told_where_nobody_listens_and_what_comes_later_is(self, rig: Rig) -> None:
        rig.listening = False
        rig.server.lists += [
            listing(100, thing("a", 90), thing("b", 91)),
            listing(120, thing("a", 90), thing("c", 115)),
        ]
        rig.server.watches += [Watch(line("MODIFIED", thing("b", 101))), Watch()]

        async def script() -> None:
            await rig.until(lambda: rig.held() == {"a": "90", "b": "101"})
            assert rig.told() == [("modified", "101")]
            await rig.informer.relist()
            assert rig.told()[1:] == [("deleted", "101"), ("added", "115")]

        await rig.run(script)


class TestEvents:
    async def test_events_reach_store_and_handler_in_order(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        rig.server.watches.append(
            Watch(
                line("ADDED", thing("a", 101)),
                line("MODIFIED", thing("a", 102)) + line("DELETED", thing("a", 103)) + bookmark(110),
            )
        )

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "110")
            assert rig.told() == [("added", "101"), ("modified", "102"), ("deleted", "102")]
            assert not any(change.initial for change in rig.changes)
            assert rig.counted("shardfleet_watch_events_total", type="MODIFIED") == 1

        await rig.run(script)

    async def test_an_event_cut_within_a_character_arrives_whole(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        body = line("ADDED", {**thing("a", 101), "data": {"k": "\U0001f680"}})
        at = body.index("\U0001f680".encode()) + 2
        watch = Watch(body[:at])
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            assert rig.held() == {}
            watch.say(body[at:])
            await rig.until(lambda: rig.held() == {"a": "101"})
            found = rig.informer.store.get(ObjectName("ns", "a"))
            assert found is not None
            assert found["data"] == {"k": "\U0001f680"}

        await rig.run(script)

    async def test_foreign_events_move_the_version_and_nothing_else(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        rig.server.watches.append(Watch(line("ADDED", thing("x", 105, uid_in(HIGH)))))

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "105")
            assert (rig.held(), rig.changes, rig.informer.store.highest_object_version) == ({}, [], "")

        await rig.run(script)

    async def test_a_child_that_leaves_the_range_is_deleted_here_and_added_when_it_comes_back(self) -> None:
        rig = Rig(role="owned")

        def owned(version: int, owner: str) -> dict[str, Any]:
            owners = [{"kind": "W", "name": "w", "uid": owner, "apiVersion": "g/v1", "controller": True}]
            return thing("c", version, "child", ownerReferences=owners)

        ours, theirs = uid_in(LOW), uid_in(HIGH)
        rig.server.lists.append(listing(100, owned(90, ours)))
        rig.server.watches.append(
            Watch(line("MODIFIED", owned(101, theirs)), line("MODIFIED", owned(102, ours)), bookmark(103))
        )

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "103")
            assert rig.told() == [("added", "90"), ("deleted", "90"), ("added", "102")]

        await rig.run(script)

    async def test_a_handler_that_raises_is_logged_and_stops_nothing(
        self, rig: Rig, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(change: Change) -> None:
            raise KeyError("author")

        rig.handler = broken
        rig.server.lists.append(listing(100, thing("a", 90)))
        rig.server.watches.append(Watch(line("ADDED", thing("b", 101))))

        async def script() -> None:
            await rig.until(lambda: rig.held() == {"a": "90", "b": "101"})
            assert [record.exc_info is not None for record in caplog.records] == [True, True]

        await rig.run(script)

    async def test_progress_is_told_after_lists_events_and_bookmarks(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            for said in (line("ADDED", thing("a", 101)), bookmark(102)):
                before = rig.progress
                watch.say(said)
                await rig.until(lambda before=before: rig.progress > before)  # type: ignore[misc]

        await rig.run(script)

    async def test_other_tasks_get_their_turn_during_a_long_burst(self, rig: Rig) -> None:
        many = 4 * SLICE_OBJECTS
        rig.server.lists.append(listing(100))
        burst = b"".join(line("ADDED", thing(f"n{n}", 101 + n, f"{uid_in(LOW)}")) for n in range(many))
        watch = Watch()
        rig.server.watches.append(watch)
        turns: list[int] = []

        async def script() -> None:
            await synced(rig)
            watch.say(burst)
            while int(rig.informer.store.resource_version) < 100 + many:
                await asyncio.sleep(0)
                turns.append(int(rig.informer.store.resource_version))
            steps = [b - a for a, b in pairwise(turns)]
            assert 0 < max(steps) <= SLICE_OBJECTS

        await rig.run(script)


class TestBrokenWatches:
    async def test_a_watch_that_ends_is_opened_at_the_last_version_without_a_list(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        first = Watch(line("ADDED", thing("a", 101)), bookmark(120))
        rig.server.watches.append(first)

        async def script() -> None:
            await synced(rig)
            await asyncio.sleep(5)
            first.say(None)
            await rig.until(lambda: rig.server.kinds().count("watch") == 2)
            assert rig.server.kinds() == ["list", "watch", "watch"]
            assert rig.server.resumed_from() == ["100", "120"]
            assert rig.counted("reflector_watches_total") == 2
            assert rig.counted("reflector_watch_duration_seconds_count") == 1
            assert rig.counted("reflector_items_per_watch_sum") == 2

        await rig.run(script)

    async def test_a_server_that_closes_every_watch_at_once_is_not_asked_in_a_loop(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        rig.server.watches += [Watch(None) for _ in range(100)]

        async def script() -> None:
            await asyncio.sleep(60)
            assert rig.server.kinds().count("watch") < 10
            assert rig.server.kinds().count("list") == 1

        await rig.run(script)

    @pytest.mark.parametrize("shape", ["http", "event"])
    async def test_410_lists_anew_and_hands_over_what_was_missed(self, rig: Rig, shape: str) -> None:
        expired = api_error(410, "Expired", "too old resource version")
        event = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
        rig.server.lists += [
            listing(100, thing("gone", 80), thing("same", 81), thing("moved", 82)),
            listing(200, thing("same", 81), thing("moved", 150), thing("new", 160)),
        ]
        rig.server.watches.append(expired if shape == "http" else Watch(event))

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds().count("watch") == 2)
            assert rig.told()[3:] == [("deleted", "80"), ("modified", "150"), ("added", "160")]
            assert rig.server.resumed_from() == ["100", "200"]

        await rig.run(script)

    async def test_synced_is_taken_back_while_history_is_lost(self, rig: Rig) -> None:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100), answer]
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            watch.say(line("ERROR", {"code": 410, "reason": "Expired"}))
            await rig.until(lambda: not rig.informer.synced.is_set())
            answer.set_result(listing(200))
            await rig.informer.synced.wait()

        await rig.run(script)

    async def test_429_is_retried_when_the_server_said_and_never_lists(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        rig.server.watches += [api_error(429, "TooManyRequests", retry_after_seconds=5) for _ in range(4)]

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds().count("watch") == 5)
            assert rig.server.kinds().count("list") == 1
            times = rig.server.times("watch")
            assert all(5 <= b - a <= 5.2 for a, b in pairwise(times))
            assert set(rig.server.resumed_from()) == {"100"}

        await rig.run(script)

    async def test_a_silent_watch_is_replaced_and_no_event_is_missed(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(140)]
        silent = Watch()
        rig.server.watches += [silent, Watch(line("ADDED", thing("a", 130)))]

        async def script() -> None:
            await synced(rig)
            await asyncio.sleep(75)
            silent.say(Unreachable("silent for 75 s"))
            await rig.until(lambda: rig.held() == {"a": "130"})
            assert rig.server.kinds() == ["list", "watch", "list", "watch"]
            assert rig.server.calls[2][2] == {"limit": "1"}
            assert rig.server.resumed_from() == ["100", "100"]
            assert silent.closed

        await rig.run(script)

    async def test_a_server_restored_from_a_backup_replaces_the_view(self, rig: Rig) -> None:
        rig.server.lists += [listing(100, thing("a", 90)), listing(60), listing(60, thing("b", 50))]
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            watch.say(Unreachable("reset"))
            await rig.until(lambda: rig.server.kinds().count("watch") == 2)
            assert rig.held() == {"b": "50"}
            assert rig.informer.store.resource_version == "60"
            assert rig.informer.store.regressions == 1
            assert rig.server.resumed_from() == ["100", "60"]

        await rig.run(script)

    async def test_a_malformed_line_costs_nothing_that_came_before_it(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        rig.server.watches += [Watch(line("ADDED", thing("a", 101)) + b"{cut\n"), Watch(line("ADDED", thing("b", 102)))]

        async def script() -> None:
            await rig.until(lambda: rig.held() == {"a": "101", "b": "102"})
            assert rig.server.resumed_from() == ["100", "101"]

        await rig.run(script)

    async def test_an_exception_that_no_transport_should_raise_is_healed_too(
        self, rig: Rig, caplog: pytest.LogCaptureFixture
    ) -> None:
        rig.server.lists += [listing(100), listing(100)]
        rig.server.watches += [ZeroDivisionError("bug"), Watch(bookmark(130))]

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "130")
            assert any(record.exc_info for record in caplog.records)

        await rig.run(script)

    async def test_last_heard_follows_the_server(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            await asyncio.sleep(30)
            heard = asyncio.get_running_loop().time()
            watch.say(bookmark(101))
            await asyncio.sleep(20)
            assert rig.informer.last_heard == pytest.approx(heard, abs=0.1)

        await rig.run(script)


class TestRelist:
    async def test_it_interrupts_the_watch_and_resolves_with_the_new_version(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(130, thing("a", 120))]
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            began = asyncio.get_running_loop().time()
            assert await rig.informer.relist() == "130"
            assert asyncio.get_running_loop().time() - began < 0.1
            assert watch.closed
            assert rig.told() == [("added", "120")]
            await rig.until(lambda: rig.server.resumed_from() == ["100", "130"])

        await rig.run(script)

    async def test_a_list_that_began_before_the_call_does_not_count(self, rig: Rig) -> None:
        early: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [early, listing(130)]

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds() == ["list"])
            asked = rig.informer.relist()
            early.set_result(listing(100))
            assert await asked == "130"

        await rig.run(script)

    @pytest.mark.parametrize("turns", range(8))
    async def test_it_is_never_lost_between_the_end_of_a_list_and_the_watch_after_it(
        self, rig: Rig, turns: int
    ) -> None:
        """Asked for at each turn of the loop; in one of them the watch's task exists and has not begun to run."""
        rig.server.lists += [listing(100), listing(130)]
        asked: asyncio.Future[asyncio.Future[str]] = asyncio.get_running_loop().create_future()

        def ask(turns_left: int) -> None:
            if turns_left:
                asyncio.get_running_loop().call_soon(ask, turns_left - 1)
            else:
                asked.set_result(rig.informer.relist())

        def listed() -> None:
            if not asked.done() and rig.informer.store.resource_version == "100":
                ask(turns)

        rig.on_progress = listed

        async def script() -> None:
            async with asyncio.timeout(60):
                assert await (await asked) == "130"

        await rig.run(script)

    async def test_callers_share_a_list(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(130)]

        async def script() -> None:
            await synced(rig)
            assert await asyncio.gather(*(rig.informer.relist() for _ in range(5))) == ["130"] * 5
            assert rig.server.kinds().count("list") == 2

        await rig.run(script)

    async def test_before_the_start_the_first_list_counts(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        asked = rig.informer.relist()

        async def script() -> None:
            assert await asked == "100"

        await rig.run(script)

    async def test_a_list_that_fails_in_the_middle_still_resolves_it(self, rig: Rig) -> None:
        rig.server.lists += [
            listing(100),
            listing(120, following="t1"),
            api_error(410, "Expired"),
            Unreachable("reset"),
            listing(130),
        ]

        async def script() -> None:
            await synced(rig)
            assert await rig.informer.relist() == "130"

        await rig.run(script)

    async def test_a_list_that_is_only_as_new_as_the_view_was_does_not_count(self, rig: Rig) -> None:
        as_new: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100), as_new, listing(140)]
        rig.server.watches.append(Watch(line("ERROR", {"code": 410, "reason": "Expired"})))

        async def script() -> None:
            await rig.until(lambda: len(rig.server.calls) == 3)
            asked = rig.informer.relist()
            as_new.set_result(listing(130))
            assert await asked == "140"
            assert [query.get("resourceVersion") for _, kind, query in rig.server.calls if kind == "list"] == [
                None,
                "100",
                None,
            ]

        await rig.run(script)

    async def test_it_takes_the_place_of_such_a_list_between_two_pages(self, rig: Rig) -> None:
        as_new: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100), as_new, listing(140)]
        rig.server.watches.append(api_error(410, "Expired"))

        async def script() -> None:
            await rig.until(lambda: len(rig.server.calls) == 3)
            asked = rig.informer.relist()
            as_new.set_result(listing(130, thing("a", 129), following="t"))
            assert await asked == "140"
            assert rig.changes == []

        await rig.run(script)

    async def test_it_does_not_wait_for_the_backoff_of_a_broken_watch(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(130)]
        rig.server.watches += [api_error(429, "", retry_after_seconds=50)]

        async def script() -> None:
            await synced(rig)
            began = asyncio.get_running_loop().time()
            await rig.informer.relist()
            assert asyncio.get_running_loop().time() - began < 1

        await rig.run(script)

    async def test_a_caller_that_gave_up_disturbs_nobody(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(130)]

        async def script() -> None:
            await synced(rig)
            rig.informer.relist().cancel()
            assert await rig.informer.relist() == "130"

        await rig.run(script)

    async def test_changes_are_handed_over_whole_even_when_a_relist_is_asked_for_meanwhile(self, rig: Rig) -> None:
        many = 3 * SLICE_OBJECTS
        objects = [thing(f"n{n}", 1 + n, f"{uid_in(LOW)}-{n}") for n in range(3 * many)]
        ours = [each for each in objects if fnv1a64(each["metadata"]["uid"]) in LOW]
        rig.server.lists += [listing(9000, *ours), listing(9001, *ours)]
        asked: list[asyncio.Future[str]] = []

        def ask(change: Change) -> None:
            rig.changes.append(change)
            if len(rig.changes) == 10:
                asked.append(rig.informer.relist())

        rig.handler = ask

        async def script() -> None:
            await rig.until(lambda: bool(asked))
            assert await asked[0] == "9001"
            assert len(rig.changes) == len(ours) > SLICE_OBJECTS

        await rig.run(script)


class TestStopping:
    async def test_cancelling_closes_the_watch_and_cancels_who_waits_for_a_list(self, rig: Rig) -> None:
        stuck: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100), stuck]
        watch = Watch()
        rig.server.watches.append(watch)
        asked: list[asyncio.Future[str]] = []

        async def script() -> None:
            await synced(rig)
            asked.append(rig.informer.relist())
            await rig.until(lambda: rig.server.kinds().count("list") == 2)

        await rig.run(script)
        assert asked[0].cancelled()
        assert watch.closed

    async def test_it_is_not_started_twice(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))

        async def script() -> None:
            await synced(rig)
            with pytest.raises(RuntimeError, match="started before"):
                await rig.informer.run()
            assert rig.informer.synced.is_set()

        await rig.run(script)

    async def test_a_list_that_is_asked_for_afterwards_is_cancelled_at_once(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))

        async def script() -> None:
            await synced(rig)

        await rig.run(script)
        assert rig.informer.relist().cancelled()


class TestCurrent:
    """`current_at`: when the store was last known to hold everything."""

    async def test_a_list_counts_from_its_beginning_and_when_it_is_in_the_store(self, rig: Rig) -> None:
        first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        second: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [first, second]

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds() == ["list"])
            await asyncio.sleep(3)
            first.set_result(listing(100, following="t1"))
            await asyncio.sleep(4)
            assert rig.informer.current_at == float("-inf")
            assert rig.informer.last_heard > 0
            second.set_result(listing(100))
            await synced(rig)
            assert rig.informer.current_at == pytest.approx(rig.server.times("list")[0], abs=0.1)

        await rig.run(script)

    async def test_a_list_that_is_only_as_new_as_the_view_was_makes_it_no_younger(self, rig: Rig) -> None:
        rig.server.lists += [listing(100), listing(130)]
        lost, next_one = Watch(bookmark(110)), Watch()
        rig.server.watches += [lost, next_one]

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "110")
            current_at = rig.informer.current_at
            await asyncio.sleep(5)
            lost.say(line("ERROR", {"code": 410, "reason": "Expired"}))
            await rig.until(lambda: rig.server.resumed_from() == ["100", "130"])
            assert rig.informer.synced.is_set()
            assert rig.informer.current_at == current_at
            next_one.say(bookmark(140))
            await rig.until(lambda: rig.informer.current_at > current_at)

        await rig.run(script)

    async def test_a_list_instead_of_one_whose_token_expired_counts_from_the_beginning_of_that_one(
        self, rig: Rig
    ) -> None:
        rig.server.lists += [listing(100, following="t1"), api_error(410, "Expired"), listing(130)]

        async def script() -> None:
            await synced(rig)
            times = rig.server.times("list")
            assert rig.informer.current_at == pytest.approx(times[0], abs=0.1)
            assert times[2] - times[0] > 0.5

        await rig.run(script)

    async def test_a_page_of_a_new_list_and_an_accepted_watch_do_not_count(self, rig: Rig) -> None:
        stuck: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        rig.server.lists += [listing(100), listing(140), listing(150, following="t1"), stuck]
        broken, accepted = Watch(bookmark(110)), Watch()
        rig.server.watches += [broken, accepted]

        async def script() -> None:
            await rig.until(lambda: rig.informer.store.resource_version == "110")
            current_at = rig.informer.current_at
            await asyncio.sleep(5)
            broken.say(Unreachable("reset"))
            await rig.until(lambda: rig.server.kinds().count("watch") == 2)
            await asyncio.sleep(5)
            assert rig.informer.trouble == ""
            assert rig.informer.current_at == current_at
            rig.informer.relist()
            await rig.until(lambda: len(rig.server.calls) == 6)
            assert rig.informer.current_at == current_at

        await rig.run(script)

    async def test_an_event_counts_when_its_chunk_is_in_the_store(self, rig: Rig) -> None:
        rig.server.lists.append(listing(100))
        watch = Watch()
        rig.server.watches.append(watch)

        async def script() -> None:
            await synced(rig)
            await asyncio.sleep(20)
            said_at = asyncio.get_running_loop().time()
            watch.say(line("ADDED", thing("a", 101)) + b'{"type":')
            await rig.until(lambda: rig.held() == {"a": "101"})
            assert rig.informer.current_at == pytest.approx(said_at, abs=0.1)
            await asyncio.sleep(20)
            watch.say(b'"ADDED",')
            await asyncio.sleep(1)
            assert rig.informer.current_at == pytest.approx(said_at, abs=0.1)

        await rig.run(script)


async def test_a_list_that_could_not_be_taken_over_is_fetched_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig.server.lists += [listing(100, thing("a", 90))] * 2
    commit = Replacement.commit
    failures = [MemoryError("no room for it")]

    def fail_once(replacement: Replacement, version: str) -> Iterator[Change]:
        if failures:
            raise failures.pop()
        return commit(replacement, version)

    monkeypatch.setattr(Replacement, "commit", fail_once)

    async def script() -> None:
        await synced(rig)
        assert rig.server.kinds() == ["list", "list", "watch"]
        assert rig.held() == {"a": "90"}

    await rig.run(script)
    assert "no room" in caplog.text


def end_of_list(version: int) -> bytes:
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return line("BOOKMARK", {"metadata": metadata})


@pytest.fixture
async def streaming() -> Rig:
    return Rig(streams=True)


class TestListsAsStreams:
    async def test_nothing_of_it_reaches_readers_before_its_end(self, streaming: Rig) -> None:
        rig = streaming
        watch = Watch(line("ADDED", thing("a", 90)), bookmark(95), line("ADDED", thing("b", 5)))
        rig.server.watches.append(watch)

        async def script() -> None:
            await asyncio.sleep(5)
            assert (rig.held(), rig.changes, rig.informer.store.resource_version) == ({}, [], "")
            assert (rig.informer.synced.is_set(), rig.progress) == (False, 0)
            assert rig.informer.current_at == float("-inf")
            watch.say(end_of_list(100))
            await rig.informer.synced.wait()
            assert rig.held() == {"a": "90", "b": "5"}
            assert all(change.initial for change in rig.changes)
            assert rig.informer.store.resource_version == "100"
            assert rig.informer.current_at == 0.0
            watch.say(line("MODIFIED", thing("a", 101)))
            await rig.until(lambda: rig.held()["a"] == "101")
            assert rig.server.kinds() == ["watch"]

        await rig.run(script)

    async def test_live_events_before_its_end_are_part_of_it(self, streaming: Rig) -> None:
        rig = streaming
        again = thing("c", 96, uid=uid_in(LOW, "again-"))
        rig.server.watches.append(
            Watch(
                line("ADDED", thing("a", 90)) + line("ADDED", thing("b", 91)) + line("ADDED", thing("c", 92)),
                line("MODIFIED", thing("a", 93)) + line("DELETED", thing("b", 94)) + line("DELETED", thing("c", 95)),
                line("ADDED", again) + end_of_list(96),
            )
        )

        async def script() -> None:
            await rig.informer.synced.wait()
            assert rig.held() == {"a": "93", "c": "96"}
            assert sorted(rig.told()) == [("added", "93"), ("added", "96")]

        await rig.run(script)

    async def test_what_it_lacks_was_deleted_and_only_its_end_says_so(self, streaming: Rig) -> None:
        rig = streaming
        first = Watch(line("ADDED", thing("a", 90)) + line("ADDED", thing("b", 91)) + end_of_list(100))
        second, third = Watch(line("ADDED", thing("a", 90)), None), Watch(line("ADDED", thing("a", 90)))
        rig.server.watches += [first, second, third]

        async def script() -> None:
            await rig.informer.synced.wait()
            first.say(api_error(410, "Expired"))
            await rig.until(lambda: len(rig.server.calls) == 3)
            await asyncio.sleep(1)
            assert rig.held() == {"a": "90", "b": "91"}
            assert not rig.informer.synced.is_set()
            third.say(end_of_list(110))
            await rig.informer.synced.wait()
            assert rig.held() == {"a": "90"}
            assert rig.told()[2:] == [("deleted", "91")]

        await rig.run(script)

    async def test_a_server_without_the_feature_is_listed_in_pages(self, streaming: Rig) -> None:
        rig = streaming
        rig.server.watches.append(api_error(422, "Invalid", "sendInitialEvents is forbidden"))
        rig.server.lists.append(listing(100, thing("a", 90)))

        async def script() -> None:
            await synced(rig)
            assert rig.held() == {"a": "90"}
            assert rig.server.kinds()[:2] == ["watch", "list"]
            assert rig.server.times("list") == [0.0]

        await rig.run(script)

    async def test_a_server_that_never_says_that_these_were_all_is_listed_in_pages(self, streaming: Rig) -> None:
        """B45: servers that do not know the parameters send what exists, then live events, and no mark."""
        rig = streaming
        endless = Watch(line("ADDED", thing("a", 90)))
        rig.server.watches.append(endless)
        rig.server.lists.append(listing(100, thing("a", 90), thing("b", 91)))

        async def script() -> None:
            await synced(rig)
            assert rig.held() == {"a": "90", "b": "91"}
            assert rig.server.times("list") == [STREAM_QUIET_SECONDS]
            assert endless.closed

        await rig.run(script)

    async def test_nor_does_a_busy_one_hold_it_for_ever(self, streaming: Rig) -> None:
        rig = streaming
        endless = Watch()
        rig.server.watches.append(endless)
        rig.server.lists.append(listing(100000))

        async def script() -> None:
            for number in range(1, 1000):
                if rig.informer.synced.is_set():
                    break
                endless.say(line("ADDED", thing("a", number)))
                await asyncio.sleep(5)
            assert rig.server.times("list") == [STREAM_SECONDS]

        await rig.run(script)

    async def test_a_list_that_is_asked_for_meanwhile_begins_after_it(self, streaming: Rig) -> None:
        rig = streaming
        first, second = Watch(line("ADDED", thing("a", 90))), Watch(end_of_list(110))
        rig.server.watches += [first, second]

        async def script() -> None:
            await asyncio.sleep(1)
            asked = rig.informer.relist()
            await asyncio.sleep(1)
            assert len(rig.server.calls) == 1
            first.say(end_of_list(100))
            assert await asked == "110"
            assert rig.told() == [("added", "90"), ("deleted", "90")]

        await rig.run(script)
