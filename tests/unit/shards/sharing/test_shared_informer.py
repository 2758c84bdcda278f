"""What the shards of one worker share where the server does not filter, and what each keeps for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from shards.api.client import JSON, Query
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.errors import Unreachable
from shards.informers.informer import always
from shards.keyrange import WHOLE, KeyRange, PartitionKey, equal_boundaries, fnv1a64, ranges_from
from shards.objects import Meta, Object
from shards.settings import ScopeSettings
from shards.shard import Shard
from shards.sharing.shared_cache import Event, SharedCache
from shards.sharing.shared_informer import SharedInformer
from shards.stores.store import Change, Entry
from shards.watching.source import FilterMode, Source
from shards.watching.watch_requests import Freshness
from tests.unit.shards.world import CONFIGMAPS, SECRETS, WEBSITES, Sent, World

pytestmark = pytest.mark.looptime

FRESH = Freshness(True, 0.0)

QUARTERS = ranges_from(equal_boundaries(4))


def quiet(watched: bool = False) -> Controller:
    """Does nothing, but sees websites, and secrets if they are watched."""
    websites = Controller("websites", primary=str(WEBSITES))
    if watched:
        websites.watches(str(SECRETS), map=lambda _: [])

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> None: ...

    return websites


class Streams:
    """Watches that were opened, by path, and how many are open."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.open = 0
        plain = world.transport.stream

        @contextmanager
        def counted() -> Iterator[None]:
            self.open += 1
            try:
                yield
            finally:
                self.open -= 1

        def stream(
            path: str, *, query: Query = (), user_agent: str = "", accept: str = JSON, idle_seconds: float = 75.0
        ) -> Any:
            self.opened.append(path)
            return _Counted(
                plain(path, query=query, user_agent=user_agent, accept=accept, idle_seconds=idle_seconds), counted()
            )

        monkeypatch.setattr(world.transport, "stream", stream)


class _Counted:
    def __init__(self, stream: Any, counted: Any) -> None:
        self.stream, self.counted = stream, counted

    async def __aenter__(self) -> Any:
        opened = await self.stream.__aenter__()
        self.counted.__enter__()
        return opened

    async def __aexit__(self, *error: Any) -> Any:
        self.counted.__exit__(None, None, None)
        return await self.stream.__aexit__(*error)


@pytest.fixture
def streams(world: World, monkeypatch: pytest.MonkeyPatch) -> Streams:
    return Streams(world, monkeypatch)


def sites(world: World, count: int = 40) -> list[Object]:
    return [world.website(f"s{number}", text="x") for number in range(count)]


def names_in(shard: Shard) -> set[str]:
    return {meta.name for meta in shard.views[str(WEBSITES)].store.metas()}


def wanted(made: Sequence[Object], covered: KeyRange) -> set[str]:
    return {each["metadata"]["name"] for each in made if fnv1a64(each["metadata"]["uid"]) in covered}


def lists(world: World) -> list[Sent]:
    return world.transport.reads("informer")


async def opened(world: World, controller: Controller | None = None) -> list[Shard]:
    shards = [world.shard(controller or quiet(), each) for each in QUARTERS]
    await asyncio.gather(*(shard.prewarm() for shard in shards))
    await asyncio.sleep(0.1)
    return shards


class TestOneStream:
    async def test_shards_that_open_together_cost_one_list_and_one_watch(self, world: World, streams: Streams) -> None:
        made = sites(world)
        shards = await opened(world)
        assert [names_in(shard) for shard in shards] == [wanted(made, each) for each in QUARTERS]
        assert (len(lists(world)), streams.opened) == (1, [WEBSITES.path()])
        late = world.website("late")
        await asyncio.sleep(1)
        assert [("late" in names_in(shard)) for shard in shards] == [bool(wanted([late], each)) for each in QUARTERS]

    async def test_a_shard_that_opens_later_lists_beside_the_watch_of_the_others(
        self, world: World, streams: Streams
    ) -> None:
        made = sites(world)
        first = world.shard(quiet(), QUARTERS[0])
        await first.prewarm()
        await asyncio.sleep(1)
        later = world.shard(quiet(), QUARTERS[1])
        await later.prewarm()
        assert names_in(later) == wanted(made, QUARTERS[1])
        assert first.views[str(WEBSITES)].informer.synced.is_set()
        await asyncio.sleep(1)
        assert (len(lists(world)), streams.opened, streams.open) == (2, [WEBSITES.path()], 1)

    async def test_a_list_after_a_claim_is_a_shards_own_and_younger_than_the_claim(
        self, world: World, streams: Streams
    ) -> None:
        sites(world)
        shards = await opened(world)
        view = shards[0].views[str(WEBSITES)]
        others_at = [shard.views[str(WEBSITES)].informer.current_at for shard in shards[1:]]
        world.lag(WEBSITES)  # the watch shows nothing any more
        site = world.website("new")
        while fnv1a64(site["metadata"]["uid"]) not in QUARTERS[0]:
            await world.kubectl.delete(WEBSITES, "default", "new")
            site = world.website("new")
        await asyncio.sleep(1)
        assert "new" not in names_in(shards[0])
        assert int(await view.informer.relist()) >= int(site["metadata"]["resourceVersion"])
        assert "new" in names_in(shards[0])
        assert [shard.views[str(WEBSITES)].informer.current_at for shard in shards[1:]] == others_at
        assert (len(lists(world)), len(streams.opened)) == (2, 1)

    async def test_claims_at_one_time_share_their_list(self, world: World, streams: Streams) -> None:
        sites(world)
        shards = await opened(world)
        await asyncio.gather(
            *(
                shard.activate(world.tenure(of=each), None, previous_epoch=0)
                for shard, each in zip(shards, QUARTERS, strict=True)
            )
        )
        assert all(shard.open for shard in shards)
        assert (len(lists(world)), len(streams.opened)) == (2, 1)

    async def test_a_list_that_fails_for_one_shard_is_no_trouble_of_the_others(self, world: World) -> None:
        sites(world)
        first = world.shard(quiet(), QUARTERS[0])
        await first.prewarm()
        world.transport.fail = lambda sent: Unreachable("no way") if sent.agent.reason == "informer" else None
        later = world.shard(quiet(), QUARTERS[1])
        opening = asyncio.create_task(later.prewarm())
        await asyncio.sleep(5)
        assert "no way" in later.trouble
        assert first.trouble == ""
        assert first.views[str(WEBSITES)].informer.synced.is_set()
        world.transport.fail = lambda sent: None
        await opening
        assert later.trouble == ""

    async def test_a_lost_history_is_one_list_for_all(self, world: World, streams: Streams) -> None:
        made = sites(world)
        shards = await opened(world)
        world.server.close()
        world.website("meanwhile")
        world.server.storage.compact()
        made.append(await world.kubectl.get(WEBSITES, "default", "meanwhile"))
        await asyncio.sleep(10)
        assert [names_in(shard) for shard in shards] == [wanted(made, each) for each in QUARTERS]
        assert len(lists(world)) == 2

    async def test_a_claim_while_the_history_is_lost_gets_a_list_that_is_younger_than_it(self, world: World) -> None:
        sites(world)
        shards = await opened(world)
        view = shards[0].views[str(WEBSITES)].informer
        asked: list[asyncio.Future[str]] = []
        queries: list[str] = []
        plain = world.transport.inner.request

        async def request(method: str, path: str, *, query: Query = (), **others: Any) -> bytes:
            queries.append(dict(query).get("resourceVersion", ""))
            if queries[-1] and not asked:
                asked.append(view.relist())
            return await plain(method, path, query=query, **others)

        world.transport.inner.request = request  # type: ignore[method-assign]
        at = view.store.resource_version
        await asyncio.sleep(2)
        world.server.close()
        world.website("meanwhile")
        world.server.storage.compact()
        await asyncio.sleep(10)
        assert int(await asked[0]) > int(at)
        assert queries[-2:] == [at, ""]

    async def test_the_last_shard_ends_the_stream_and_the_next_one_begins_anew(
        self, world: World, streams: Streams
    ) -> None:
        made = sites(world)
        shards = await opened(world)
        for shard in shards[1:]:
            await shard.stop()
        assert streams.open == 1
        await shards[0].stop()
        assert streams.open == 0
        assert {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()} <= {"pytest"}
        again = world.shard(quiet(), QUARTERS[2])
        await again.prewarm()
        assert names_in(again) == wanted(made, QUARTERS[2])

    async def test_events_of_other_workers_objects_are_counted_once(self, world: World) -> None:
        for each in QUARTERS[:2]:
            await world.shard(quiet(), each).prewarm()
        before = world.metric("shardfleet_foreign_events_total", resource=str(WEBSITES))
        made = sites(world)
        await asyncio.sleep(1)
        others = sum(len(wanted(made, each)) for each in QUARTERS[2:])
        assert world.metric("shardfleet_foreign_events_total", resource=str(WEBSITES)) - before == others

    async def test_a_watched_resource_is_held_once_for_all_shards(self, world: World, streams: Streams) -> None:
        world.server.seed(SECRETS, {"metadata": {"name": "key", "namespace": "default"}})
        shards = await opened(world, quiet(watched=True))
        stores = {id(shard.views[str(SECRETS)].store) for shard in shards}
        assert len(stores) == 1
        assert sorted(streams.opened) == sorted([WEBSITES.path(), SECRETS.path()])

    async def test_a_shard_that_comes_late_is_told_what_the_shared_store_holds(self, world: World) -> None:
        world.server.seed(SECRETS, {"metadata": {"name": "key", "namespace": "default"}})
        first = world.shard(quiet(watched=True), QUARTERS[0])
        await first.prewarm()
        later = world.shard(quiet(watched=True), QUARTERS[1])
        told: list[Change] = []
        informer = later.views[str(SECRETS)].informer
        assert isinstance(informer, SharedInformer)
        informer._told.handler = told.append
        await later.prewarm()
        found = [(change.old, change.new and change.new.name, change.initial) for change in told]
        assert found == [(None, "key", True)]


async def test_who_goes_while_a_list_is_handed_over_leaves_nobody_waiting(world: World) -> None:
    for number in range(2000):
        world.server.seed(SECRETS, {"metadata": {"name": f"key-{number}", "namespace": "default"}})
    first = world.shard(quiet(watched=True), QUARTERS[0])
    informer = first.views[str(SECRETS)].informer
    assert isinstance(informer, SharedInformer)
    informer._listening = always  # else the hand-over would be over at once
    running = asyncio.create_task(informer.run())
    while informer._cache.settled.is_set():
        await asyncio.sleep(0)
    second = world.shard(quiet(watched=True), QUARTERS[1])
    assert second.views[str(SECRETS)].store is informer.store
    running.cancel()
    await asyncio.wait((running,))
    async with asyncio.timeout(60):
        await second.prewarm()
    assert len(second.views[str(SECRETS)].store) == 2000


@pytest.mark.parametrize("listening", [True, False])
async def test_a_first_list_is_told_to_those_who_listen(world: World, listening: bool) -> None:
    world.server.seed(WEBSITES, {"metadata": {"name": "a", "namespace": "default"}})
    informer = world.shard(quiet(), WHOLE).views[str(WEBSITES)].informer
    assert isinstance(informer, SharedInformer)
    told: list[Change] = []
    informer._told.handler, informer._listening = told.append, lambda: listening
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    assert [change.new_key is not None for change in told] == [True] * listening
    world.server.seed(WEBSITES, {"metadata": {"name": "b", "namespace": "default"}})
    while len(informer.store) < 2:
        await asyncio.sleep(0.1)
    assert told[-1].new_key is not None
    assert told[-1].new_key.name == "b"
    running.cancel()
    await asyncio.wait((running,))


def cache_of() -> SharedCache:
    return SharedCache(Source(CONFIGMAPS, WHOLE, PartitionKey.UID, ScopeSettings(), FilterMode.LOCAL, "primary"))


def meta(name: str, version: int) -> Meta:
    return Meta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=str(version))


def held(cache: SharedCache) -> dict[str, str]:
    return {each.name: each.resource_version for each in cache.writer.reader.metas()}


class TestListsBesideAStream:
    """The cache alone: what comes first, the list or the event, does not matter."""

    def listed(self, cache: SharedCache, version: int, *metas: Meta) -> None:
        gathered = cache.begin(FRESH, drop_kept=False)
        for each in metas:
            gathered.add(Entry(each, b"{}"))
        cache.taking()
        for _ in cache.commit(gathered, str(version)):
            pass

    async def test_what_came_during_the_list_follows_it(self) -> None:
        cache = cache_of()
        gathered = cache.begin(FRESH, drop_kept=False)
        gathered.add(Entry(meta("a", 5), b"{}"))
        cache.take(Event(meta("a", 12), b"{}", "here"))
        cache.take(Event(meta("b", 13), b"{}", "here"))
        cache.take(Event(meta("b", 14), b"", "deleted"))
        assert held(cache) == {}
        cache.taking()
        for _ in cache.commit(gathered, "10"):
            pass
        assert held(cache) == {"a": "12"}
        assert cache.live

    async def test_an_event_that_the_list_is_ahead_of_brings_nothing_back(self) -> None:
        cache = cache_of()
        self.listed(cache, 20)
        cache.take(Event(meta("a", 15), b"{}", "here"))
        assert held(cache) == {}

    async def test_an_object_that_left_before_the_list_and_came_back_stays(self) -> None:
        cache = cache_of()
        self.listed(cache, 20, meta("a", 19))
        cache.take(Event(meta("a", 15), b"", "left"))
        assert held(cache) == {"a": "19"}
        cache.take(Event(meta("a", 25), b"", "left"))
        assert held(cache) == {}

    async def test_a_deletion_counts_at_any_version(self) -> None:
        cache = cache_of()
        self.listed(cache, 20, meta("a", 19))
        cache.take(Event(meta("a", 19), b"", "deleted"))
        assert held(cache) == {}

    async def test_a_deletion_from_a_history_that_is_over_deletes_nothing(self) -> None:
        cache = cache_of()
        gathered = cache.begin(FRESH, drop_kept=False)
        cache.take(Event(meta("a", 12), b"", "deleted"))  # then the server is restored, and "a" is changed there
        gathered.add(Entry(meta("a", 15), b"{}"))
        cache.taking()
        for _ in cache.commit(gathered, "16"):
            pass
        assert held(cache) == {"a": "15"}
        cache.take(Event(meta("a", 15), b"", "deleted"))
        assert held(cache) == {}

    async def test_more_events_than_can_be_kept_make_the_list_worthless(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shards.sharing.shared_cache.KEPT_EVENTS", 3)
        cache = cache_of()
        gathered = cache.begin(FRESH, drop_kept=False)
        for number in range(5):
            cache.take(Event(meta(f"n{number}", 11 + number), b"{}", "here"))
        cache.taking()
        for _ in cache.commit(gathered, "10"):
            pass
        assert (cache.complete, cache.live, cache.needs_list) == (False, False, True)
        self.listed(cache, 20, *(meta(f"n{number}", 11 + number) for number in range(5)))
        assert (cache.complete, len(held(cache))) == (True, 5)

    async def test_many_events_of_one_object_are_kept_as_one(self) -> None:
        cache = cache_of()
        cache.begin(FRESH, drop_kept=False)
        for version in range(1000):
            cache.take(Event(meta("a", 100 + version), b"{}", "here"))
        assert cache._kept is not None
        assert len(cache._kept) == 1

    async def test_versions_stand_still_while_events_are_kept(self) -> None:
        cache = cache_of()
        self.listed(cache, 20)
        cache.reached("25", 1.0)
        cache.keep_events()
        cache.reached("30", 2.0)
        assert (cache.writer.reader.resource_version, cache.current_at) == ("25", 1.0)
