"""What went wrong with other people's reflectors, informers and watches, replayed. docs/informers.md lists them all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.words import HideEvents
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import JSON, Query
from shards.errors import ApiError, Forbidden, ShardError, Unauthorized, Unreachable, api_error
from shards.informers.informer import Informer
from shards.keyrange import WHOLE, PartitionKey
from shards.settings import ScopeSettings
from shards.watching.source import FilterMode, Source
from shards.watching.watch import AUDIT_SECONDS
from tests.unit.shards.informers.test_informer import (
    CONFIGMAPS,
    LOW,
    Rig,
    Watch,
    bookmark,
    line,
    listing,
    synced,
    thing,
    uid_in,
)

pytestmark = pytest.mark.looptime

AS_NEW_AS_100 = {"resourceVersion": "100", "resourceVersionMatch": "NotOlderThan"}

PATH = CONFIGMAPS.path("ns")


@pytest.fixture
async def rig() -> Rig:
    return Rig()


class TestWhatAListFinds:
    async def test_an_object_that_was_recreated_unseen_is_told_as_gone_and_then_as_new(self, rig: Rig) -> None:
        """B19, B21: the handler hears of the old UID's end before it hears of the new one."""
        first, second = uid_in(LOW, "first"), uid_in(LOW, "second")
        rig.server.lists += [listing(100, thing("a", 90, first)), listing(200, thing("a", 150, second))]
        rig.server.watches.append(api_error(410, "Expired"))

        async def script() -> None:
            await rig.until(lambda: len(rig.changes) >= 3)
            told = [
                (change.old.uid if change.old else "", change.new.uid if change.new else "") for change in rig.changes
            ]
            assert told == [("", first), (first, ""), ("", second)]

        await rig.run(script)

    async def test_an_object_whose_end_was_missed_leaves_the_view_and_the_handler_hears_of_it(self, rig: Rig) -> None:
        """B20, B22."""
        rig.server.lists += [listing(100, thing("a", 90), thing("b", 91)), listing(200, thing("a", 90))]
        rig.server.watches.append(api_error(410, "Expired"))

        async def script() -> None:
            await rig.until(lambda: len(rig.changes) == 3)
            assert (rig.held(), rig.told()[2]) == ({"a": "90"}, ("deleted", "91"))

        await rig.run(script)

    async def test_a_watch_resumes_at_the_lists_version_and_not_at_that_of_its_last_item(self, rig: Rig) -> None:
        """B26: items come in any order."""
        rig.server.lists.append(listing(100, thing("b", 99), thing("a", 3)))

        async def script() -> None:
            await synced(rig)
            assert rig.server.resumed_from() == ["100"]

        await rig.run(script)


class TestResumeVersions:
    async def test_a_deletion_with_an_old_version_does_not_lower_it(self, rig: Rig) -> None:
        """B25: servers have sent DELETED with the version of the object's last change."""
        rig.server.lists.append(listing(1000, thing("a", 900), thing("b", 901)))
        again = line("ADDED", thing("b", 400)) + line("MODIFIED", thing("b", 901))
        rig.server.watches += [Watch(line("DELETED", thing("a", 500)), None), Watch(again)]

        async def script() -> None:
            await rig.until(lambda: len(rig.server.resumed_from()) == 2)
            await asyncio.sleep(1)
            assert rig.server.resumed_from() == ["1000", "1000"]
            assert (rig.held(), len(rig.changes)) == ({"b": "901"}, 3)

        await rig.run(script)

    async def test_quiet_watches_never_lower_it(self, rig: Rig) -> None:
        """B28."""
        rig.server.lists.append(listing(100))
        rig.server.watches += [Watch(bookmark(120), None), *(Watch(None) for _ in range(5))]

        async def script() -> None:
            await rig.until(lambda: len(rig.server.resumed_from()) == 7)
            assert rig.server.resumed_from() == ["100", *["120"] * 6]

        await rig.run(script)

    async def test_an_expired_event_is_followed_by_a_list_that_is_as_new_as_the_view(self, rig: Rig) -> None:
        """B29, B30."""
        rig.server.lists += [listing(100), listing(200)]
        rig.server.watches.append(Watch(line("ERROR", {"code": 410, "reason": "Expired"})))

        async def script() -> None:
            await rig.until(lambda: len(rig.server.resumed_from()) == 2)
            assert rig.server.kinds() == ["list", "watch", "list", "watch"]
            assert rig.server.calls[2][2] | AS_NEW_AS_100 == rig.server.calls[2][2]

        await rig.run(script)

    @pytest.mark.parametrize("cause", ["ResourceVersionTooLarge", ""])
    async def test_a_server_that_is_behind_is_listed_within_two_tries(self, rig: Rig, cause: str) -> None:
        """B31: older servers say it in the text only."""
        rig.server.lists += [listing(1000), listing(1001)]
        rig.server.watches.append(api_error(504, "Timeout", "Too large resource version: 1000", cause=cause))

        async def script() -> None:
            await rig.until(lambda: len(rig.server.resumed_from()) == 2)
            assert rig.server.kinds() == ["list", "watch", "list", "watch"]

        await rig.run(script)

    async def test_lists_that_are_too_old_to_watch_from_are_fetched_with_pauses_from_the_quorum(self, rig: Rig) -> None:
        """B32, B33."""
        rig.server.lists += [listing(100 + number) for number in range(200)]
        rig.server.watches += [api_error(410, "Expired") for _ in range(200)]

        async def script() -> None:
            await asyncio.sleep(120)
            assert rig.server.kinds().count("list") <= 40
            first, second, *others = [query for _, kind, query in rig.server.calls if kind == "list"]
            assert "resourceVersion" not in first
            assert second | AS_NEW_AS_100 == second
            assert all("resourceVersion" not in query for query in others)

        await rig.run(script)


class TestStreams:
    @pytest.mark.parametrize("code", [410, 500])
    async def test_an_error_in_the_middle_of_a_good_answer_is_counted_and_acted_on(self, rig: Rig, code: int) -> None:
        """B34: it carries no version, and was dropped for that."""
        rig.server.lists += [listing(100), listing(200)]
        rig.server.watches.append(Watch(line("ERROR", {"code": code}) + line("ADDED", thing("never", 150))))

        async def script() -> None:
            await rig.until(lambda: len(rig.server.resumed_from()) == 2)
            assert rig.counted("shardfleet_watch_events_total", type="ERROR") == 1
            assert rig.server.kinds().count("list") == (2 if code == 410 else 1)
            assert rig.held() == {}

        await rig.run(script)

    async def test_a_busy_watch_is_never_cut_by_us(self, rig: Rig) -> None:
        """B37."""
        rig.server.lists.append(listing(100))
        busy = Watch()
        rig.server.watches.append(busy)

        async def script() -> None:
            await synced(rig)
            for second in range(120):
                busy.say(line("MODIFIED", thing("a", 101 + second)))
                await asyncio.sleep(1)
            assert rig.server.kinds() == ["list", "watch"]
            assert not busy.closed

        await rig.run(script)

    async def test_a_server_that_closes_at_once_is_asked_a_few_times_a_minute(self, rig: Rig) -> None:
        """B40: an old resume version made servers close without an error."""
        rig.server.lists.append(listing(100))
        rig.server.watches += [Watch(None) for _ in range(500)]

        async def script() -> None:
            await asyncio.sleep(600)
            times = rig.server.times("watch")
            assert all(later - earlier <= 31 for earlier, later in pairwise(times))
            assert len([at for at in times if at > 540]) <= 4

        await rig.run(script)

    async def test_a_server_that_restarts_leaves_trouble_until_the_view_is_current_again(self, rig: Rig) -> None:
        """B41: freshness is a state, not a flag that was set once."""
        rig.server.lists += [listing(100, thing("a", 90)), Unreachable("refused"), listing(300)]
        first, second = Watch(), Watch()
        rig.server.watches += [first, second]

        async def script() -> None:
            await synced(rig)
            before = rig.informer.current_at
            first.say(Unreachable("reset"))
            await rig.until(lambda: rig.server.kinds().count("list") == 2)
            await asyncio.sleep(0.5)
            assert (rig.informer.trouble, rig.informer.current_at) == ("refused", before)
            await rig.until(lambda: rig.informer.trouble == "")
            second.say(line("MODIFIED", thing("a", 301)))
            await rig.until(lambda: rig.held() == {"a": "301"})
            assert rig.informer.current_at > before

        await rig.run(script)

    @pytest.mark.parametrize("error", [Unauthorized(401), Forbidden(403)], ids=["401", "403"])
    async def test_a_permission_that_was_lost_and_regained_costs_neither_the_view_nor_a_list(
        self, rig: Rig, error: ApiError
    ) -> None:
        rig.server.lists.append(listing(100, thing("a", 90)))
        rig.server.watches += [error] * 6
        rig.server.watches.append(Watch(line("MODIFIED", thing("a", 101))))

        async def script() -> None:
            await rig.until(lambda: rig.informer.trouble != "")
            assert rig.held() == {"a": "90"}
            await rig.until(lambda: rig.held() == {"a": "101"})
            assert (rig.informer.trouble, rig.server.kinds().count("list")) == ("", 1)

        await rig.run(script)

    async def test_a_custom_resource_that_goes_and_comes_back_empties_the_view_when_it_is_back(self, rig: Rig) -> None:
        """Its removal says nothing about its objects; a list of the new one does."""
        missing = api_error(404, "NotFound", "the server could not find the requested resource")
        rig.server.lists += [listing(100, thing("a", 90)), missing, missing, listing(500)]
        rig.server.watches.append(missing)

        async def script() -> None:
            await rig.until(lambda: rig.server.kinds().count("list") == 3)
            assert (rig.held(), rig.informer.synced.is_set()) == ({"a": "90"}, False)
            assert "does not serve v1/configmaps" in rig.informer.trouble
            await rig.informer.synced.wait()
            assert (rig.held(), rig.told()[-1]) == ({}, ("deleted", "90"))

        await rig.run(script)


class Gap:
    """In process, with something that happens right before a watch is opened."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner
        self.request = inner.request
        self.close = inner.close
        self.paths: list[str] = []

    def stream(
        self, path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(path, query, user_agent)

    @asynccontextmanager
    async def _stream(self, path: str, query: Query, user_agent: str) -> AsyncIterator[AsyncIterator[bytes]]:
        for each in self.paths:
            await self._inner.request("DELETE", each)
        self.paths = []
        async with self._inner.stream(path, query=query, user_agent=user_agent) as chunks:
            yield chunks


class Embedded:
    """The embedded server with one object, and an informer of it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.server = ApiServer(ServerSettings(bookmark_seconds=60.0), rng=random.Random(1), wall_seconds=lambda: 0.0)
        self.transport = Gap(InProcessTransport(self.server, clock=loop.time))
        source = Source(CONFIGMAPS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary")
        self.informer = Informer(
            self.transport,
            source,
            handler=lambda _: None,
            on_progress=lambda: None,
            clock=loop.time,
            rng=random.Random(2),
            namespace="default",
            user_agent="fleet/informer",
        )
        self.path = CONFIGMAPS.path("default")

    def held(self) -> set[str]:
        return {meta.name for meta in self.informer.store.metas()}

    async def create(self, name: str) -> None:
        await self.transport.request("POST", self.path, body=msgspec.json.encode({"metadata": {"name": name}}))


@pytest.fixture
async def embedded() -> AsyncIterator[Embedded]:
    made = Embedded()
    await made.create("a")
    running = asyncio.create_task(made.informer.run())
    yield made
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    made.server.close()


class TestEmbedded:
    async def test_what_is_deleted_between_the_list_and_the_watch_is_heard_of(self, embedded: Embedded) -> None:
        """B43."""
        embedded.transport.paths.append(f"{embedded.path}/a")
        await embedded.informer.synced.wait()
        assert embedded.held() == {"a"}
        await asyncio.sleep(1)
        assert embedded.held() == set()

    async def test_a_deletion_that_was_never_shown_is_found_by_the_next_audit(self, embedded: Embedded) -> None:
        """B44: neither later events nor bookmarks tell."""
        await embedded.informer.synced.wait()
        embedded.server.faults.inject(HideEvents(match=Match(), events=Events(types=("DELETED",), name="a"), times=1))
        await asyncio.sleep(1)
        await embedded.transport.request("DELETE", f"{embedded.path}/a")
        await embedded.create("b")
        await asyncio.sleep(3600)
        assert embedded.held() == {"a", "b"}
        await asyncio.sleep(AUDIT_SECONDS[1])
        assert embedded.held() == {"b"}


NAMES = ["a", "b", "c"]
BREAKS: list[ShardError] = [
    Unreachable("cut"),
    api_error(410, "Expired"),
    api_error(429, "TooManyRequests"),
    api_error(500),
    api_error(404, "NotFound"),
    api_error(403, "Forbidden"),
]


class TestIncompleteLists:
    @given(
        steps=st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sampled_from(BREAKS)), min_size=1, max_size=8),
        streams=st.booleans(),
    )
    @settings(max_examples=60)
    async def test_nothing_is_deleted_on_the_strength_of_one(
        self, steps: list[tuple[set[str], ShardError]], streams: bool
    ) -> None:
        """Every list after the first brings some of the objects and breaks."""
        rig = Rig(streams=streams)
        everything = [thing(name, 90 + number) for number, name in enumerate(NAMES)]
        for number, (names, error) in enumerate(steps):
            some = [each for each in everything if each["metadata"]["name"] in names]
            rig.server.lists += [listing(200 + number, *some, following="t"), error]
            rig.server.watches.append(Watch(*(line("ADDED", each) for each in some), error))
        rig.server.lists += [listing(100, *everything)] if not streams else []

        first = Watch(*(line("ADDED", each) for each in everything))
        marks = {"resourceVersion": "100", "annotations": {"k8s.io/initial-events-end": "true"}}
        first.say(line("BOOKMARK", {"metadata": marks}))
        if streams:
            rig.server.watches.appendleft(first)
        else:
            rig.server.lists.rotate(1)
            rig.server.watches.clear()
        rig.server.lists += [asyncio.get_running_loop().create_future() for _ in range(3)]

        async def script() -> None:
            await rig.informer.synced.wait()
            asked = rig.informer.relist()
            await asyncio.sleep(120)
            assert not asked.done()
            assert set(rig.held()) == set(NAMES)
            assert {kind for kind, _ in rig.told()} == {"added"}

        await rig.run(script)
