from __future__ import annotations

import asyncio

import msgspec
import pytest

from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import StaleReplica
from fleet.devcluster.wire.answers import EventStream
from tests.unit.fleet.devcluster.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    WEBSITES,
    Cluster,
    config_map,
    definition,
    website,
)
from tests.unit.fleet.devcluster.pair import Pair

pytestmark = pytest.mark.looptime

INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


@pytest.fixture
def pair() -> Pair:
    cluster = Cluster.make()
    return Pair(cluster, cluster.server.another("b"))


def now() -> float:
    return asyncio.get_running_loop().time()


async def shown(stream: EventStream) -> list[tuple[str, str]]:
    events = [msgspec.json.decode(line) for line in (await stream.read()).splitlines()]
    return [(each["type"], each["object"]["metadata"].get("name", "")) for each in events]


async def test_front_ends_share_one_storage(pair: Pair) -> None:
    stream = await pair.watch()
    await pair.make("a")
    assert await pair.names() == await pair.names(resourceVersion="0") == ["a"]
    assert await shown(stream) == [("ADDED", "a")]
    assert not pair.other.cache.apart


async def test_a_frozen_cache_serves_the_past_to_lists_of_any_version_and_to_watches(pair: Pair) -> None:
    await pair.make("a")
    stream = await pair.watch(resourceVersion="0")
    pair.other.cache.freeze()
    await pair.remove("a")
    await pair.make("b")
    assert await pair.names(resourceVersion="0") == ["a"]
    assert await shown(stream) == [("ADDED", "a")]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stream.read(), 60)
    pair.other.cache.thaw()
    assert await pair.names(resourceVersion="0") == ["b"]
    assert await shown(stream) == [("DELETED", "a"), ("ADDED", "b")]
    assert not pair.other.cache.apart


async def test_gets_and_consistent_lists_see_the_present_through_a_frozen_cache(pair: Pair) -> None:
    pair.other.cache.freeze()
    await pair.make("a")
    started = now()
    assert (await pair.ask("/a"))[0] == 200
    assert now() == started
    assert (await pair.ask("/a", resourceVersion="0"))[0] == 404
    assert await pair.names() == ["a"]
    assert now() - started == pytest.approx(3)


async def test_a_consistent_list_waits_for_a_cache_that_lags(pair: Pair) -> None:
    pair.other.cache.lag_seconds = 2.0
    await pair.make("a")
    assert await pair.names(resourceVersion="0") == []
    started = now()
    assert await pair.names() == ["a"]
    assert now() - started == pytest.approx(2, abs=0.01)


async def test_a_lag_delays_every_commit_alike_and_can_be_taken_away(pair: Pair) -> None:
    stream = await pair.watch()
    pair.other.cache.lag_seconds = 5.0
    started = now()
    await pair.make("a")
    await asyncio.sleep(2)  # virtual
    await pair.make("b")
    assert await shown(stream) == [("ADDED", "a")]
    assert now() - started == pytest.approx(5, abs=0.01)
    pair.other.cache.lag_seconds = 0.0
    assert await shown(stream) == [("ADDED", "b")]
    assert now() - started == pytest.approx(5, abs=0.01)
    assert not pair.other.cache.apart


async def test_a_version_that_the_cache_has_not_reached_is_waited_for_and_then_refused(pair: Pair) -> None:
    pair.other.cache.freeze()
    version = await pair.make("a")
    started = now()
    status, answer = await pair.ask(resourceVersion=version, resourceVersionMatch="NotOlderThan")
    assert (status, answer["reason"]) == (504, "Timeout")
    assert answer["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert now() - started == pytest.approx(3)
    stream = await pair.watch(**INITIAL)
    assert (await shown(stream))[0][0] == "ERROR"


async def test_a_waiting_read_is_answered_as_soon_as_the_cache_has_caught_up(pair: Pair) -> None:
    pair.other.cache.freeze()
    version = await pair.make("a")
    started = now()
    asyncio.get_running_loop().call_later(1, pair.other.cache.thaw)
    assert await pair.names(resourceVersion=version, resourceVersionMatch="NotOlderThan") == ["a"]
    assert now() - started == pytest.approx(1)


async def test_a_lost_deletion_stays_lost_for_lists_and_watches_until_a_restart(pair: Pair) -> None:
    await pair.make("a")
    stream = await pair.watch(resourceVersion="0")
    assert await shown(stream) == [("ADDED", "a")]
    loss = pair.other.cache.lose(lambda commit: commit.new is None, times=1)
    await pair.remove("a")
    await pair.make("b")
    await pair.remove("b")
    assert loss.lost == 1
    assert await shown(stream) == [("ADDED", "b"), ("DELETED", "b")]
    assert await pair.names() == await pair.names(resourceVersion="0") == await pair.names(limit="1") == ["a"]
    assert (await pair.ask("/a"))[0] == 404
    pair.other.cache.restart()
    assert await stream.read() == b""
    assert await pair.names() == []


async def test_what_comes_after_a_lost_commit_is_an_event_against_what_the_cache_knows(pair: Pair) -> None:
    stream = await pair.watch()
    loss = pair.other.cache.lose(lambda commit: commit.old is None)
    await pair.make("a")
    loss.end()
    await pair.cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"data": {"a": "2"}})
    assert await shown(stream) == [("ADDED", "a")]


async def test_a_switch_to_a_replica_that_lags_goes_back_in_time(pair: Pair) -> None:
    pair.other.cache.freeze()
    version = await pair.make("a")
    first = await pair.cluster.server.handle("GET", CONFIG_MAPS.path("default"), [("resourceVersion", "0")])
    _, second = await pair.ask(resourceVersion="0")
    assert msgspec.json.decode(first.body)["metadata"]["resourceVersion"] == version
    assert int(second["metadata"]["resourceVersion"]) < int(version)


async def test_a_watch_cannot_begin_before_its_front_end_did() -> None:
    cluster = Cluster.make()
    version = str(cluster.server.storage.version)
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    late = Pair(cluster, cluster.server.another("b"))
    assert (await shown(await late.watch(resourceVersion=version)))[0][0] == "ERROR"
    status, _ = await late.ask(resourceVersion=version, resourceVersionMatch="Exact")
    assert status == 200


async def test_writes_through_any_front_end_reach_all_others(pair: Pair) -> None:
    stream = await pair.watch()
    body = msgspec.json.encode(config_map("a"))
    headers = {"content-type": "application/json"}
    assert (await pair.other.handle("POST", CONFIG_MAPS.path("default"), (), body, headers)).status == 201
    assert (await pair.cluster.client.get(CONFIG_MAPS, "default", "a"))["metadata"]["name"] == "a"
    assert await shown(stream) == [("ADDED", "a")]


async def test_a_restore_takes_every_front_end_along(pair: Pair) -> None:
    storage = pair.cluster.server.storage
    await pair.make("a")
    before = storage.snapshot()
    later = await pair.make("b")
    stream = await pair.watch(resourceVersion=later)
    storage.restore(before)
    assert await stream.read() == b""
    assert await pair.names() == ["a"]
    assert storage.version == before.version
    assert await pair.make("c") == later
    assert await pair.names(resourceVersion="0") == ["a", "c"]


async def test_a_client_is_moved_to_a_front_end_that_stands_still_and_back() -> None:
    cluster = Cluster.make()
    other = cluster.server.another("b")
    await cluster.client.create(CONFIG_MAPS, "default", config_map("old"))
    other.cache.freeze()
    await cluster.client.create(CONFIG_MAPS, "default", config_map("new"))

    async def names() -> set[str]:
        listed = await cluster.client.list(CONFIG_MAPS, "default", query=(("resourceVersion", "0"),))
        return {item["metadata"]["name"] for item in listed["items"]}

    stale = cluster.server.faults.inject(StaleReplica(replica="b", match=Match(verbs=("list",))))
    assert await names() == {"old"}
    cluster.server.faults.release(stale)
    assert await names() == {"old", "new"}
    other.close()


async def test_a_bookmark_is_never_older_than_what_the_client_has_from_another_front_end(pair: Pair) -> None:
    pair.other.settings.bookmark_seconds = 1.0
    pair.other.cache.freeze()
    later = await pair.make("a")
    stream = await pair.watch(resourceVersion=later, allowWatchBookmarks="true", timeoutSeconds="10")
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(9)
    assert not reading.done()
    pair.other.cache.thaw()
    await asyncio.sleep(0.9)
    stream.close()
    assert await reading == b""

    stream = await pair.watch(resourceVersion=later, allowWatchBookmarks="true")
    event = msgspec.json.decode(await stream.read())
    assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", later)
    stream.close()


async def test_reasons_to_be_behind_add_up_and_end_one_by_one(pair: Pair) -> None:
    cache = pair.other.cache
    slow, slower = cache.stale(lag_seconds=2.0), cache.stale(lag_seconds=5.0)
    still = cache.stale(frozen=True)
    await pair.make("a")
    await asyncio.sleep(10)
    assert await pair.names(resourceVersion="0") == []
    still.end()
    assert await pair.names(resourceVersion="0") == ["a"]
    await pair.make("b")
    slower.end()
    await asyncio.sleep(1.9)
    assert await pair.names(resourceVersion="0") == ["a"]
    await asyncio.sleep(0.2)
    assert await pair.names(resourceVersion="0") == ["a", "b"]
    slow.end()
    slow.end()
    assert not cache.apart


async def test_a_lag_that_ends_a_hair_early_by_the_clock_ends(pair: Pair) -> None:
    pair.other.cache.lag_seconds = 0.5 + 5e-10
    await pair.make("a")
    await asyncio.sleep(0.6)
    assert await pair.names(resourceVersion="0") == ["a"]


async def test_a_loss_that_lost_nothing_leaves_nothing_behind(pair: Pair) -> None:
    cache = pair.other.cache
    for _ in range(3):
        loss = cache.lose(lambda commit: commit.key == "default/none")
        await pair.make(f"n{_}")
        loss.end()
        loss.end()
        assert not cache.apart
    lost = cache.lose(lambda commit: commit.key == "default/lost")
    await pair.make("lost")
    lost.end()
    assert cache.apart
    assert not cache._losses
    assert await pair.names(resourceVersion="0") == ["n0", "n1", "n2"]
    cache.restart()
    assert not cache.apart


async def test_a_cache_that_lacks_something_forgets_its_past_with_the_storage(pair: Pair) -> None:
    first = await pair.make("a")
    loss = pair.other.cache.lose(lambda commit: commit.key == "default/lost")
    await pair.make("lost")
    loss.end()
    await pair.make("b")
    pair.cluster.server.storage.compact()
    assert (await pair.ask(resourceVersion=first, resourceVersionMatch="Exact"))[0] == 410
    stream = await pair.watch(resourceVersion=first)
    assert msgspec.json.decode(await stream.read())["object"]["code"] == 410
    stream.close()


async def test_what_arrives_late_of_a_resource_that_is_gone_does_not_bring_it_back(pair: Pair) -> None:
    cluster, storage = pair.cluster, pair.cluster.server.storage
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a"))
    pair.other.cache.freeze()
    await cluster.client.create(WEBSITES, "default", website("b"))
    await cluster.client.delete(DEFINITIONS, "", "websites.demo.shardfleet.dev")
    await asyncio.sleep(1)
    await cluster.server.collect_garbage()
    assert storage.find(WEBSITES) is None
    pair.other.cache.thaw()
    assert storage.find(WEBSITES) is None
