"""How a worker ends when one of its ranges cannot be drained: what its other ranges lose, and what they do not."""

from __future__ import annotations

import pytest

from fleet.records.record import Holder
from tests.unit.fleet.ownership import Fleet, running

pytestmark = pytest.mark.looptime(noop_cycles=0)


async def test_a_range_that_cannot_be_drained_ends_the_process_when_its_other_ranges_have_come_to_rest() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        stuck, other = fleet.shards["a"]
        stuck.behaviour, other.behaviour = fleet.behaviour("stuck"), fleet.behaviour("other")
        stuck.behaviour.undrained = other.behaviour.undrained = True
        fleet.start("b")
        await fleet.until(lambda: fleet.deaths == ["a"], 20, "the process of a ends")
        first = next(each for each in (stuck, other) if "drain" in each.calls)
        second = other if first is stuck else stuck
        assert second.calls[-1] == "drain", "it takes no new keys, and what runs ends"
        held = {fleet.record(each).holder for each in fleet.layout}  # type: ignore[union-attr]
        assert held == {Holder("a", 1)}, "nothing is released while something runs"
        first.behaviour.undrained = second.behaviour.undrained = False


async def test_the_process_ends_though_another_of_its_ranges_ends_by_an_error() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        for name, shard in zip(("stuck", "other"), fleet.shards["a"], strict=True):
            shard.behaviour = fleet.behaviour(name)
            shard.behaviour.undrained, shard.behaviour.drain_seconds = True, 1.0
        fleet.start("b")
        one, other = fleet.shards["a"]
        await fleet.until(lambda: "drain" in one.calls + other.calls, 20, "a range is to move")
        waits = other if "drain" in one.calls else one
        waits.behaviour.drain_error = RuntimeError("a view in disorder")
        await fleet.until(lambda: fleet.deaths == ["a"], 20, "the process of a ends")
        for shard in fleet.shards["a"]:
            shard.behaviour.undrained, shard.behaviour.drain_error = False, None


async def test_a_worker_that_leaves_releases_its_other_ranges_before_it_ends_over_one_that_cannot_be_drained() -> None:
    async with running(Fleet(ranges=3), "a") as fleet:
        stuck = fleet.shards["a"][0]
        stuck.behaviour = fleet.behaviour("stuck")
        stuck.behaviour.undrained = True
        fleet.leave("a")
        await fleet.until(lambda: fleet.deaths == ["a"], 30, "the process of a ends")
        holders = {each: fleet.record(each).holder for each in fleet.layout}  # type: ignore[union-attr]
        assert holders.pop(stuck.range) == Holder("a", 1)
        assert set(holders.values()) == {None}
        stuck.behaviour.undrained = False


async def test_other_ranges_that_take_a_moment_longer_are_released_as_well() -> None:
    async with running(Fleet(ranges=3), "a") as fleet:
        stuck, *others = fleet.shards["a"]
        stuck.behaviour = fleet.behaviour("stuck")
        stuck.behaviour.undrained = True
        for each in others:
            each.behaviour = fleet.behaviour("slow")
            each.behaviour.drain_seconds = 0.5
        fleet.leave("a")
        await fleet.until(lambda: fleet.deaths == ["a"], 30, "the process of a ends")
        holders = {each: fleet.record(each).holder for each in fleet.layout}  # type: ignore[union-attr]
        assert holders.pop(stuck.range) == Holder("a", 1)
        assert set(holders.values()) == {None}
        stuck.behaviour.undrained = False
