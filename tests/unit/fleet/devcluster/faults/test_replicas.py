from __future__ import annotations

import asyncio

import pytest

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.documents import read_fault
from fleet.devcluster.faults.words import (
    StaleReplica,
)
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from shards import errors
from tests.unit.fleet.devcluster.faults.bench import Bench, cached
from tests.unit.fleet.devcluster.faults.scenes import STRUCK

pytestmark = pytest.mark.looptime


async def test_one_document_makes_a_replica_stale_for_those_it_matches(bench: Bench) -> None:
    await bench.create("old")
    fault = bench.faults.inject(
        read_fault({"fault": "stale_replica", "frozen": True, "match": {"user_agent": "struck"}})
    )
    await bench.create("new")
    assert (await cached(bench), await cached(bench, "other")) == (["old"], ["new", "old"])
    async with bench.watch(resourceVersion=await bench.version()) as watch:
        await bench.create("newer")
        assert await watch.quiet()
        fault.release()
        assert await watch.shown(1) == [("ADDED", "newer")]
    assert await cached(bench) == ["new", "newer", "old"]


async def test_a_replica_that_is_made_has_been_there_all_along_and_ends_with_its_server(
    bench: Bench, server: ApiServer
) -> None:
    begin = await bench.version()
    await bench.create("a")
    bench.faults.inject(StaleReplica(match=STRUCK, lag_seconds=3))
    async with bench.watch(resourceVersion=begin) as watch:
        assert await watch.shown(1) == [("ADDED", "a")]
        server.close()
        with pytest.raises(StopAsyncIteration):
            await watch.next()


async def test_a_replica_lags_while_the_fault_has_its_time(bench: Bench) -> None:
    bench.faults.inject(StaleReplica(match=STRUCK, lag_seconds=3, from_seconds=10, until_seconds=20))
    await bench.create("a")
    assert await cached(bench) == ["a"]
    await asyncio.sleep(11)
    await bench.create("b")
    assert await cached(bench) == ["a"]
    await asyncio.sleep(3)
    assert await cached(bench) == ["a", "b"]
    await asyncio.sleep(5)
    await bench.create("c")
    await asyncio.sleep(2)
    assert await cached(bench) == ["a", "b", "c"]


async def test_faults_at_one_time_have_replicas_of_their_own_and_later_ones_take_over_theirs(
    bench: Bench, server: ApiServer
) -> None:
    one = bench.faults.inject(StaleReplica(match=Match(user_agent="one"), frozen=True))
    two = bench.faults.inject(StaleReplica(match=Match(user_agent="two"), lag_seconds=2))
    await bench.create("a")
    await asyncio.sleep(3)
    assert (await cached(bench, "one"), await cached(bench, "two")) == ([], ["a"])
    one.release()
    two.release()
    for _ in range(5):
        bench.faults.inject(StaleReplica(match=Match(user_agent="one"), frozen=True)).release()
    assert sorted(bench.faults.routes) == ["stale-1", "stale-2"]


async def test_a_named_replica_is_made_stale_and_undone(bench: Bench, server: ApiServer) -> None:
    other = server.another("b")
    fault = bench.faults.inject(StaleReplica(match=STRUCK, replica="b", frozen=True))
    await bench.create("a")
    assert (other.cache.apart, await cached(bench)) == (True, [])
    fault.release()
    assert (other.cache.apart, await cached(bench)) == (False, ["a"])


async def test_only_a_front_end_of_ours_can_be_made_stale(bench: Bench) -> None:
    bench.faults.routes["upstream"] = _nowhere
    with pytest.raises(errors.ConfigError) as raised:
        bench.faults.inject(StaleReplica(replica="upstream", lag_seconds=3))
    assert raised.value.path == "lag_seconds"


async def _nowhere(request: Request) -> Answer:
    return Answer(503)
