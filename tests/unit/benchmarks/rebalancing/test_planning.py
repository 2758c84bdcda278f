"""A fleet that is planned round after round, without a server."""

from __future__ import annotations

import pytest

from benchmarks.rebalancing.planning import FLEET_SECONDS, Fleet, keys, moved_keys, plan_times, skewed_spread
from fleet.rules.plan_settings import PlanSettings


def test_all_keys_together_take_what_the_fleet_takes() -> None:
    assert sum(keys(100, 1, lambda rank: 1 / rank).values()) == pytest.approx(FLEET_SECONDS)


def test_a_change_of_membership_moves_hardly_more_keys_than_it_must() -> None:
    for members in (2, 7, 16):
        found = moved_keys(members, 256, 10_000)
        assert 0.8 < found.joined <= 1.05
        assert 0.95 < found.left <= 1.05


def test_a_fleet_whose_shards_are_too_hot_to_be_moved_is_balanced_by_splits() -> None:
    found = skewed_spread(8, 16, 10_000, 0.9, 2)
    assert found.whole > 1.3
    assert found.over_best <= 1.1
    assert 16 < found.ranges <= 64


def test_a_hot_key_gets_a_shard_of_its_own_and_is_left_alone() -> None:
    weights = keys(2_000, 3, lambda rank: 1000.0 if rank == 1 else 1.0)
    fleet = Fleet(weights, 8, PlanSettings(auto_split=True)).of(4).settle()
    hot = next(iter(weights))
    [alone] = [i for i, found in enumerate(fleet.keys) if hot in found]
    assert fleet.keys[alone] == [hot]
    assert fleet.layout[alone].first == fleet.layout[alone].last
    assert max(fleet.loads().values()) <= 1.1 * max(FLEET_SECONDS / 4, weights[hot])


def test_what_was_split_is_merged_when_it_has_cooled_down_and_then_nothing_changes_any_more() -> None:
    weights = keys(2_000, 3, lambda rank: 1000.0 if rank == 1 else 1.0)
    fleet = Fleet(weights, 8, PlanSettings(auto_split=True)).of(4).settle()
    assert len(fleet.layout) > 8
    fleet.cool_down()
    assert len(fleet.layout) == 8
    boundaries = fleet.map.boundaries
    for _ in range(200):
        fleet.turn()
    assert fleet.map.boundaries == boundaries


def test_a_hot_fleet_does_not_split_and_merge_in_turns() -> None:
    fleet = Fleet(keys(5_000, 2, lambda rank: rank**-0.9), 16, PlanSettings(auto_split=True)).of(8).settle()
    for _ in range(100):
        fleet.turn()
    layouts = set()
    for _ in range(200):
        fleet.turn()
        layouts.add(fleet.map.boundaries)
    assert len(layouts) == 1


def test_a_plan_is_timed_for_every_kind_of_trouble() -> None:
    assert all(len(times) == 2 for times in plan_times(64, 8, 2).values())
