"""What the measurements conclude from what they found."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.rebalancing.__main__ import MEASUREMENTS
from benchmarks.rebalancing.bench import Bench, NotReached, median_and_worst, on_each_server
from benchmarks.rebalancing.depot import PARCELS
from benchmarks.rebalancing.evidence import Gap
from benchmarks.rebalancing.measurements.handovers import swapped
from benchmarks.rebalancing.measurements.rolling import per_range
from benchmarks.rebalancing.measurements.worker_killed import first_act
from benchmarks.rebalancing.servers import BenchServer
from benchmarks.table import Row
from fleet.devcluster.recording.journal import Entry
from shards.keyrange import equal_boundaries
from tests.unit.fleet.records.records import shard_map


def act(member: str, epoch: int, time: float) -> Entry:
    agent = f"fleet/0.1.0 m={member} e={epoch} s=0-f k=default/p u=uid"
    return Entry(1, time, "patch", str(PARCELS), "default", "p", "status", status=200, user_agent=agent)


def test_every_measurement_has_a_module() -> None:
    for name in MEASUREMENTS:
        assert callable(importlib.import_module(f"benchmarks.rebalancing.measurements.{name}").measure)


class TestRuns:
    def test_the_target_holds_for_the_worst(self) -> None:
        rows = median_and_worst("death", [0.2, 3.0, 0.4], "s", 1.0)
        assert [(row.value, row.ok) for row in rows] == [(0.4, True), (3.0, False)]

    def test_a_run_that_never_came_to_its_end_is_the_worst(self) -> None:
        rows = median_and_worst("death", [0.2, None], "s", 1.0)
        assert rows[1].value is None
        assert not rows[1].ok


class TestWorkerKilled:
    def test_a_later_incarnation_acts_and_what_the_dead_one_wrote_is_none(self) -> None:
        entries = [act("a", 1, 1.0), act("a", 1, 2.05), act("b", 9, 2.1), act("a", 2, 2.6)]
        assert first_act(entries, "a", 2.0) == 2.6

    def test_nobody_acts(self) -> None:
        assert first_act([act("a", 1, 1.0)], "a", 2.0) is None


class TestRolling:
    def test_spans_and_moves_are_added_up_by_range(self) -> None:
        gaps = [Gap("low", "a", "b", 1.0, 1.5), Gap("low", "b", "c", 3.0, 3.25), Gap("high", "a", "b", 1.0, 1.1)]
        unowned, moves = per_range(gaps)
        assert unowned["low"] == pytest.approx(0.75)
        assert moves == {"low": 2, "high": 1}


def test_a_swap_takes_one_range_of_each_of_two_members_and_another_one_the_next_time() -> None:
    shards = shard_map(boundaries=equal_boundaries(4), targets=("a", "b", "a", "b"))
    names = [str(each) for each in shards.ranges]
    held = dict(zip(names, shards.targets, strict=True))
    first = swapped(shards, held)
    assert sorted(first.values()) == ["a", "b"]
    assert all(held[each] != target for each, target in first.items())
    assert swapped(replace(shards, version=shards.version + 1), held).keys().isdisjoint(first)


@dataclass
class _Server:
    name: str
    kubeconfig: Path = Path()
    shared: bool = False

    def writes(self, namespace: str) -> list[Entry]:
        return []


async def test_a_server_on_which_a_fleet_gets_nowhere_is_a_miss_and_the_next_one_is_measured() -> None:
    async def measured(server: BenchServer) -> list[Row]:
        if server.name == "first":
            raise NotReached("no gate opens")
        return [Row(f"moves, {server.name}", 3)]

    bench = Bench([_Server("first"), _Server("second")], Path())
    rows = await on_each_server(bench, "writes", measured)
    assert [(row.quantity, row.ok) for row in rows] == [
        ("writes came to its end, first", False),
        ("moves, second", True),
    ]
