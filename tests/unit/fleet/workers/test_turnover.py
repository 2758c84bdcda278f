"""Shards whose views were opened under other feature gates are turned over one after the other."""

from __future__ import annotations

import pytest

from fleet.records.object_names import Kind
from shards.keyrange import KeyRange
from tests.unit.fleet.ownership import FakeShard, Fleet, running

pytestmark = pytest.mark.looptime(noop_cycles=0)


def shards_of(fleet: Fleet, name: str) -> dict[KeyRange, FakeShard]:
    found = {each: runner.shard for each, runner in fleet.workers[name].runners.items() if runner.holding}
    return {each: shard for each, shard in found.items() if isinstance(shard, FakeShard)}


async def test_every_outdated_shard_is_released_and_claimed_again_by_its_owner() -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        fleet.behaviour("a").activate_seconds = 0.5
        old = shards_of(fleet, "a")
        epochs = {each: found.epoch for each in old if (found := fleet.record(each)) is not None}
        for shard in old.values():
            shard.outdated = True
        before = len(fleet.writes)
        at_once = 0

        def all_new() -> bool:
            nonlocal at_once
            at_once = max(at_once, len(old) - len(fleet.open()))
            new = shards_of(fleet, "a")
            return len(new) == len(fleet.open()) == 4 and all(new[each] is not old[each] for each in old)

        await fleet.until(all_new, 20, "all shards have new views")
        assert at_once == 1
        for each, shard in old.items():
            assert shard.calls[-2:] == ["drain", "stop"]
            found = fleet.record(each)
            assert found is not None
            assert found.epoch == epochs[each] + 1
        assert len(fleet.written(Kind.SHARD, before)) == 2 * len(old)
        assert fleet.written(Kind.MAP, before) == []
        assert all(shard.watermark is not None for shard in shards_of(fleet, "a").values())


async def test_one_that_does_not_open_again_holds_the_others_up() -> None:
    """Whatever is wrong with the new filter shall cost one shard of the worker, not all of them."""
    async with running(Fleet(ranges=4), "a") as fleet:
        old = shards_of(fleet, "a")
        fleet.behaviour("a").opening_error = RuntimeError("forbidden")
        for shard in old.values():
            shard.outdated = True
        await fleet.pass_seconds(20)
        assert len(fleet.open()) == 3
        fleet.behaviour("a").opening_error = None
        await fleet.until(lambda: len(fleet.open()) == 4, 60, "it opens again")


async def test_a_switch_back_in_between_ends_it() -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        fleet.behaviour("a").activate_seconds = 0.5
        old = shards_of(fleet, "a")
        for shard in old.values():
            shard.outdated = True
        await fleet.until(lambda: len(fleet.open()) == 3, 5, "the first one is under way")
        for shard in old.values():
            shard.outdated = False
        await fleet.all_open()
        await fleet.pass_seconds(5)
        new = shards_of(fleet, "a")
        assert sum(new[each] is not old[each] for each in old) == 1


async def test_a_leaving_worker_turns_nothing_over() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        old = shards_of(fleet, "a")
        fleet.leave("a")
        for shard in old.values():
            shard.outdated = True
        await fleet.left("a")
        await fleet.until(lambda: len(fleet.holds("b")) == 4, 30, "b owns everything")
