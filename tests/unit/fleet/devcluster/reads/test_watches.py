from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import msgspec
import pytest

from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.wire.answers import EventStream
from shards.objects import Object, Resource
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map

pytestmark = pytest.mark.looptime

INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@asynccontextmanager
async def watching(cluster: Cluster, user_agent: str = "", **query: str) -> AsyncIterator[EventStream]:
    parameters = [("watch", "true"), *query.items()]
    answer = await cluster.server.handle("GET", CONFIG_MAPS.path(), parameters, None, {"user-agent": user_agent})
    assert answer.stream is not None
    yield answer.stream
    answer.stream.close()


async def events(stream: EventStream) -> list[Object]:
    return [msgspec.json.decode(line) for line in (await stream.read()).splitlines()]


def shown(found: Iterable[Object]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in found]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def test_a_watch_resumes_from_a_version_without_loss_or_repetition(cluster: Cluster) -> None:
    first = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
    async with watching(cluster, resourceVersion=first["metadata"]["resourceVersion"]) as stream:
        await cluster.client.delete(CONFIG_MAPS, "default", "a")
        assert shown(await events(stream)) == [("ADDED", "b"), ("DELETED", "a")]


async def test_leaving_a_selection_is_a_deletion_and_entering_one_an_addition(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a", labels={"w": "1"}))
    version = str(cluster.server.storage.version)
    async with watching(cluster, resourceVersion=version, labelSelector="w=1") as stream:
        left = await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"metadata": {"labels": {"w": "2"}}})
        await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"data": {"a": "unseen"}})
        await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"metadata": {"labels": {"w": "1"}}})
        found = await events(stream)
    assert shown(found) == [("DELETED", "a"), ("ADDED", "a")]
    assert found[0]["object"]["metadata"]["labels"] == {"w": "1"}
    assert found[0]["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_the_end_of_the_initial_events_is_marked(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    async with watching(cluster, **INITIAL) as stream:
        found = await events(stream)
    assert shown(found) == [("ADDED", "a"), ("BOOKMARK", "")]
    metadata = found[1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == str(cluster.server.storage.version)


async def test_a_version_out_of_the_history_is_an_error_event_in_a_good_answer(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    cluster.server.storage.compact()
    async with watching(cluster, resourceVersion="5") as stream:
        found = await events(stream)
        assert (found[0]["type"], found[0]["object"]["code"], found[0]["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert await stream.read() == b""


async def test_bookmarks_come_on_an_interval_and_carry_the_versions_of_other_resources() -> None:
    cluster = Cluster.make(ServerSettings(bookmark_seconds=60))
    version = str(cluster.server.storage.version)
    async with watching(cluster, resourceVersion=version, allowWatchBookmarks="true", labelSelector="none") as stream:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
        started = asyncio.get_running_loop().time()
        found = await events(stream)
        assert asyncio.get_running_loop().time() - started == pytest.approx(60)
    assert shown(found) == [("BOOKMARK", "")]
    assert found[0]["object"]["metadata"]["resourceVersion"] == str(cluster.server.storage.version)


async def test_a_watch_ends_at_its_timeout_with_one_more_bookmark(cluster: Cluster) -> None:
    version = str(cluster.server.storage.version)
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "10"}
    async with watching(cluster, **query) as stream:
        started = asyncio.get_running_loop().time()
        assert shown(await events(stream)) == [("BOOKMARK", "")]
        assert asyncio.get_running_loop().time() - started == pytest.approx(8)
        assert await stream.read() == b""
        assert asyncio.get_running_loop().time() - started == pytest.approx(10)
        assert not cluster.server.watching.streams


async def test_one_encoding_of_an_event_serves_all_watchers(cluster: Cluster) -> None:
    version = str(cluster.server.storage.version)
    async with (
        watching(cluster, resourceVersion=version) as one,
        watching(cluster, resourceVersion=version, labelSelector="!x") as other,
    ):
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
        assert await one.read() == await other.read()


async def test_a_closed_watch_hears_nothing_any_more(cluster: Cluster) -> None:
    async with watching(cluster) as stream:
        assert len(cluster.server.watching.streams) == 1
        stream.close()
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
        assert await stream.read() == b""
    assert not cluster.server.watching.streams


async def test_a_watch_without_a_version_shows_what_exists_and_marks_its_end_for_those_who_want_bookmarks(
    cluster: Cluster,
) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    async with watching(cluster, allowWatchBookmarks="true") as stream:
        found = await events(stream)
    assert shown(found) == [("ADDED", "a"), ("BOOKMARK", "")]
    assert found[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_that_declines_initial_events_begins_now(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    query = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "0"}
    async with watching(cluster, **query) as stream:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
        assert shown(await events(stream)) == [("ADDED", "b")]


async def test_a_watch_from_the_future_shows_nothing_before_it(cluster: Cluster) -> None:
    version = str(cluster.server.storage.version + 1)
    async with watching(cluster, resourceVersion=version) as stream:
        for name in ("a", "b"):
            await cluster.client.create(CONFIG_MAPS, "default", config_map(name))
        assert shown(await events(stream)) == [("ADDED", "b")]


async def test_initial_events_of_the_future_are_an_error_after_three_seconds() -> None:
    cluster = Cluster.make(ServerSettings(too_large_cause=False))
    started = asyncio.get_running_loop().time()
    async with watching(cluster, resourceVersion="900000", **INITIAL) as stream:
        found = await events(stream)
        assert asyncio.get_running_loop().time() - started == pytest.approx(3)
        assert (found[0]["type"], found[0]["object"]["code"]) == ("ERROR", 504)
        assert found[0]["object"]["details"] == {"retryAfterSeconds": 1}
        assert await stream.read() == b""


async def test_an_expired_watch_can_be_a_status_as_on_old_servers() -> None:
    cluster = Cluster.make(ServerSettings(watch_expired_as_status=True))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    cluster.server.storage.compact()
    status, answer = await cluster.ask("GET", CONFIG_MAPS.path(), watch="true", resourceVersion="5")
    assert (status, answer["code"], answer["reason"]) == (410, 410, "Expired")


async def test_a_watcher_that_lags_too_far_behind_is_dropped() -> None:
    cluster = Cluster.make(ServerSettings(watch_buffer_events=2))
    async with watching(cluster) as stream:
        for name in ("a", "b", "c"):
            await cluster.client.create(CONFIG_MAPS, "default", config_map(name))
        assert not cluster.server.watching.streams
        assert shown(await events(stream)) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        assert await stream.read() == b""


async def test_bookmarks_of_built_in_resources_carry_what_is_never_absent(cluster: Cluster) -> None:
    leases = Resource("coordination.k8s.io", "v1", "leases")
    parameters = [("watch", "true"), *INITIAL.items()]
    answer = await cluster.server.handle("GET", leases.path(), parameters)
    assert answer.stream is not None
    assert (await events(answer.stream))[0]["object"]["spec"] == {}
    answer.stream.close()


@pytest.mark.parametrize("query", [INITIAL, {"resourceVersion": "1"}], ids=["initial events", "history"])
async def test_what_is_there_from_the_beginning_makes_no_client_too_slow(query: dict[str, str]) -> None:
    cluster = Cluster.make(ServerSettings(watch_buffer_events=2))
    for number in range(5):
        await cluster.client.create(CONFIG_MAPS, "default", config_map(str(number)))
    async with watching(cluster, **query) as stream:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("later"))
        found = [name for kind, name in shown(await events(stream)) if kind == "ADDED"]
        assert found == ["0", "1", "2", "3", "4", "later"]
        for number in range(3):
            await cluster.client.create(CONFIG_MAPS, "default", config_map(f"missed-{number}"))
        assert not cluster.server.watching.streams
    assert not cluster.server.watching.streams


async def test_watches_end_in_the_order_in_which_they_were_opened(cluster: Cluster) -> None:
    ended: list[int] = []

    async def read_on(number: int, stream: EventStream) -> None:
        while await stream.read():
            pass
        ended.append(number)

    streams = []
    for _ in range(50):
        answer = await cluster.server.handle("GET", CONFIG_MAPS.path(), [("watch", "true")])
        assert answer.stream is not None
        streams.append(answer.stream)
    opened = [*cluster.server.watching.streams]
    readers = [asyncio.create_task(read_on(number, stream)) for number, stream in enumerate(streams)]
    await asyncio.sleep(1)
    assert [*cluster.server.watching.streams] == opened
    cluster.server.close()
    await asyncio.gather(*readers)
    assert ended == list(range(50))


async def test_large_events_do_not_pile_up_for_a_watcher_that_does_not_read(cluster: Cluster) -> None:
    async with watching(cluster) as stream:
        await cluster.client.create(CONFIG_MAPS, "default", config_map("a") | {"data": {"a": "x" * 500_000}})
        for number in range(500):
            await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"data": {"number": str(number)}})
            if not cluster.server.watching.streams:
                break
        assert number < 300
        assert len(await stream.read()) > 64_000_000
        assert await stream.read() == b""
