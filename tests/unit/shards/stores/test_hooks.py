"""Authors' functions: whatever one does is reported in one way, and is felt by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from shards.informers.informer_meters import HookCounts
from shards.journal import KeptJournal
from shards.metrics import ShardMetrics
from shards.objects import Meta
from shards.stores.hooks import FAILED, Hook
from shards.stores.indexes import Index
from shards.stores.intake import Intake
from shards.stores.store import StoreWriter


class Rig:
    def __init__(self) -> None:
        self.now = 0.0
        self.registry = CollectorRegistry()
        self.journal = KeptJournal("worker-0")
        self.meters = HookCounts(ShardMetrics(self.registry), "v1/pods", lambda: self.now, self.journal)

    def hook(self, function: Callable[[Any], Any]) -> Hook:
        return Hook("transform", function, lambda: self.now, self.meters)

    def counted(self, name: str) -> float | None:
        return self.registry.get_sample_value(name, {"hook": "transform", "resource": "v1/pods"})

    def noted(self) -> list[tuple[str, str, str]]:
        return [(note.cause, note.key, note.outcome) for note in self.journal.notes if note.what == "hook"]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def raising(error: BaseException) -> Callable[[Any], Any]:
    def function(_: Any) -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    "error", [ValueError(), RecursionError(), MemoryError(), SystemExit(3), asyncio.CancelledError(), GeneratorExit()]
)
def test_whatever_it_raises_is_a_failure(rig: Rig, error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    hook = rig.hook(raising(error))
    assert hook.run({}, "ns/a") is FAILED
    assert rig.counted("shardfleet_hook_failures_total") == hook.failures == 1
    assert "transform failed for ns/a (1 times)" in caplog.text
    assert rig.noted() == [("transform", "ns/a", "failed")]


def test_who_stops_the_process_is_heard(rig: Rig) -> None:
    with pytest.raises(KeyboardInterrupt):
        rig.hook(raising(KeyboardInterrupt())).run({}, "ns/a")


def test_what_becomes_of_its_result_is_its_own_doing(rig: Rig) -> None:
    def half(_: Any) -> Iterator[str]:
        yield "x"
        raise ZeroDivisionError

    assert rig.hook(half).run({}, "ns/a", list) is FAILED
    assert rig.hook(lambda _: 5).run({}, "ns/a", list) is FAILED
    assert rig.hook(lambda _: "ab").run({}, "ns/a", list) == ["a", "b"]
    assert rig.counted("shardfleet_hook_failures_total") == 2


def test_log_and_journal_have_the_first_the_second_the_fourth_and_so_on(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    hook = rig.hook(raising(ValueError()))
    for number in range(1, 10):
        hook.run({}, f"ns/{number}")
    assert [key for _, key, _ in rig.noted()] == ["ns/1", "ns/2", "ns/4", "ns/8"]
    assert [record.message for record in caplog.records] == [
        f"transform failed for ns/{number} ({number} times)" for number in (1, 2, 4, 8)
    ]
    assert rig.counted("shardfleet_hook_failures_total") == 9


def test_one_that_takes_long_is_reported_likewise_also_with_what_takes_its_result(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(_: Any) -> str:
        rig.now += 0.02
        return ""

    rig.hook(slow).run({}, "ns/a")
    rig.hook(lambda _: None).run({}, "ns/b", slow)
    assert rig.counted("shardfleet_slow_hooks_total") == 2
    assert "transform took 0.020 s for ns/a" in caplog.text
    assert rig.noted() == [("transform", "ns/a", "slow"), ("transform", "ns/b", "slow")]


def test_a_store_keeps_every_object_whatever_its_functions_do() -> None:
    def transform(body: dict[str, Any]) -> None:
        body["metadata"]["ownerReferences"].clear()
        body["metadata"]["uid"] = "another"
        raise SystemExit

    def index(_: Meta) -> list[str]:
        raise asyncio.CancelledError

    intake = Intake(transform=transform, indexes=[Index("mine", index)])
    writer = StoreWriter(intake)
    raw = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","ownerReferences":[{"uid":"o","controller":true}]}}'
    writer.apply(Meta(name="a", namespace="ns", uid="u", resource_version="5"), raw)
    [name] = writer.reader.select()
    assert writer.reader.raw(name) == raw
    assert writer.reader.find("mine", "x").unknown == [name]


def test_a_transform_that_changes_owners_in_place_does_not_change_them() -> None:
    def transform(body: dict[str, Any]) -> None:
        body["metadata"]["ownerReferences"].clear()
        body["spec"] = {}

    raw = b'{"metadata":{"name":"a","uid":"u","ownerReferences":[{"uid":"o"}]},"spec":{"x":1}}'
    writer = StoreWriter(Intake(transform=transform))
    writer.apply(Meta(name="a", uid="u", resource_version="5"), raw)
    [name] = writer.reader.select()
    body = writer.reader.get(name)
    assert body is not None
    assert (body["metadata"]["ownerReferences"], body["spec"]) == ([{"uid": "o"}], {})
