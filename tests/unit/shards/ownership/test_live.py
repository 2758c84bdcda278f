"""Live reads: their budget, and what an answer means."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from shards.errors import ApiError, Forbidden, NotFound, NotReadyYet, Unreachable
from shards.limits.breaker import BreakerState
from shards.metrics import ShardMetrics
from shards.objects import Key, ObjectName, Resource
from shards.ownership.live import Guards, LiveReader
from shards.settings import BreakerSettings, GateSettings
from shards.testing.clock import FakeClock
from tests.unit.shards.world import RecordingTransport

PAGES = Resource("", "v1", "configmaps")
PAGE = ObjectName("ns", "page")


class Answers(RecordingTransport):
    """Answers every request with the next thing in `script`: bytes, or an exception."""

    def __init__(self, *script: bytes | Exception) -> None:
        self.script = list(script)

    async def request(self, method: str, path: str, **options: object) -> bytes:
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Reader:
    def __init__(self, *script: bytes | Exception, per_second: float = 5.0) -> None:
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.guards = Guards.of(GateSettings(live_reads_per_second=per_second), self.clock())
        metrics = ShardMetrics(self.registry)
        self.live = LiveReader(Answers(*script), self.guards, self.clock, metrics, "sites", shard="00-ff")

    def count(self, result: str) -> float:
        labels = {"controller": "sites", "purpose": "gate", "result": result, "shard": "00-ff"}
        return self.registry.get_sample_value("shardfleet_gate_live_reads_total", labels) or 0.0


async def test_the_object_as_the_server_has_it() -> None:
    reader = Reader(b'{"metadata":{"name":"page"}}')
    assert await reader.live.get(PAGES, PAGE, purpose="gate") == {"metadata": {"name": "page"}}
    assert reader.count("found") == 1


async def test_a_404_of_the_api_is_an_answer() -> None:
    reader = Reader(NotFound(404, "NotFound", 'configmaps "page" not found'))
    assert await reader.live.get(PAGES, PAGE, purpose="gate") is None
    assert reader.count("absent") == 1


async def test_a_404_of_something_else_proves_no_absence() -> None:
    reader = Reader(NotFound(404, "", "404 page not found"))
    with pytest.raises(NotFound):
        await reader.live.get(PAGES, PAGE, purpose="gate")
    assert reader.count("failed") == 1


@pytest.mark.parametrize("error", [Unreachable("down"), ApiError(401), ApiError(500)])
async def test_failures_in_a_row_open_the_breaker(error: Exception) -> None:
    reader = Reader(error, error, error)
    for _ in range(3):
        with pytest.raises(type(error)):
            await reader.live.get(PAGES, PAGE, purpose="gate")
    assert reader.guards.breaker.state(reader.clock()) is BreakerState.OPEN
    assert reader.count("failed") == 3


async def test_a_resource_that_cannot_be_read_pauses_nothing_that_is_done_to_others() -> None:
    error = Forbidden(403, "Forbidden", "no")
    reader = Reader(error, error, error)
    for _ in range(3):
        with pytest.raises(Forbidden):
            await reader.live.get(PAGES, PAGE, purpose="gate")
    assert reader.guards.breaker.state(reader.clock()) is BreakerState.CLOSED
    assert reader.count("failed") == 3


async def test_children_are_found_by_their_label_and_their_controller() -> None:
    def child(name: str, owner: str) -> str:
        return f'{{"metadata":{{"name":"{name}","ownerReferences":[{{"uid":"{owner}","controller":true}}]}}}}'

    items = ",".join((child("ours", "u1"), child("theirs", "u2")))
    reader = Reader(f'{{"kind":"ConfigMapList","apiVersion":"v1","items":[{items}]}}'.encode())
    [found] = await reader.live.children(PAGES, Key("ns", "a", "u1"), purpose="gate")
    assert (found["metadata"]["name"], found["kind"], found["apiVersion"]) == ("ours", "ConfigMap", "v1")


async def test_a_budget_that_is_spent_for_long_is_not_waited_for() -> None:
    reader = Reader(b"{}", b"{}", per_second=0.1)
    await reader.live.get(PAGES, PAGE, purpose="gate")
    with pytest.raises(NotReadyYet, match=r"live reads of sites are over their budget for 20\.0 s"):
        await reader.live.get(PAGES, PAGE, purpose="gate")
    assert reader.count("over_budget") == 1
    assert reader.live.affordable(), "reconciles that read do not use up what parked keys need"
    assert not reader.live.affordable()
    reader.clock.advance(21.0)
    assert reader.live.affordable()


def test_other_limits_hold_for_the_readers_that_exist() -> None:
    reader = Reader(per_second=0.1)
    other = GateSettings(live_reads_per_second=100.0, breaker=BreakerSettings(failures_to_open=1))
    reader.guards.change(other, reader.clock())
    reader.clock.advance(1.0)
    assert sum(reader.live.affordable() for _ in range(60)) > 40
    reader.guards.breaker.read_failed(reader.clock())
    assert reader.guards.breaker.opened
