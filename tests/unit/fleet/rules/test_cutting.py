from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet.rules.cuts import Cut, Merge, Split
from fleet.rules.cutting import HOT_SECONDS, MOST_TIMES, merges, splits
from fleet.rules.planner import Situation
from fleet.rules.shard_costs import Known, Point
from shards.keyrange import KeyRange, equal_boundaries, ranges_from


def proposed(targets: str, costs: Sequence[float], points: Mapping[int, Point], *, count: int = 0) -> tuple[Cut, ...]:
    layout = ranges_from(equal_boundaries(len(targets)))
    now = Situation(layout, tuple(targets), tuple(costs), {"a": 1.0, "b": 1.0})
    return splits(now, {layout[i]: point for i, point in points.items()}, 0.05, count or len(targets))


def merged(targets: str, seconds: Sequence[float], *, count: int) -> tuple[Cut, ...]:
    layout = ranges_from(equal_boundaries(len(targets)))
    now = Situation(layout, tuple(targets), (1.0,) * len(layout), {"a": 1.0, "b": 1.0})
    return merges(now, tuple(Known(each, 0.0) for each in seconds), count)


LOW, HIGH = ranges_from(equal_boundaries(2))
MIDDLE = Point(1000, 0.5, 7, 0.1)


def test_a_range_that_is_too_hot_to_be_moved_is_split_where_half_of_its_cost_is_below() -> None:
    [cut] = proposed("ab", [3.0, 1.0], {0: MIDDLE})
    assert cut == Split(LOW, 1000)
    assert str(cut) == (
        "0000-7fff is split at 00000000000003e8, because it takes 150 % of a fair share and no move would help"
    )


def test_a_hot_key_gets_a_range_of_its_own() -> None:
    cuts = proposed("ab", [3.0, 1.0], {0: Point(500, 0.2, 700, 0.6)})
    assert cuts == (Split(LOW, 700), Split(KeyRange(700, LOW.last), 701))


def test_a_hot_key_at_the_edge_of_its_range_needs_one_split() -> None:
    assert proposed("ab", [3.0, 1.0], {0: Point(500, 0.7, 0, 0.7)}) == (Split(LOW, 1),)
    assert proposed("ab", [3.0, 1.0], {0: Point(LOW.last, 0.3, LOW.last, 0.7)}) == (Split(LOW, LOW.last),)


def test_a_hot_key_that_is_alone_is_left_alone_and_its_member_s_next_range_is_split() -> None:
    layout = ranges_from((0, 700, 701, HIGH.first))
    now = Situation(layout, ("a", "a", "a", "b"), (1.0, 9.0, 2.0, 1.0), {"a": 1.0, "b": 1.0})
    points = {layout[1]: Point(0, 0.0, 700, 1.0), layout[2]: Point(9000, 0.5, 9001, 0.2)}
    assert splits(now, points, 0.05, 4) == (Split(layout[2], 9000),)


def test_nothing_is_split_while_all_carry_their_fair_share() -> None:
    assert proposed("ab", [1.04, 1.0], {0: MIDDLE}) == ()


def test_a_range_that_matters_to_nobody_is_not_split() -> None:
    quiet = HOT_SECONDS / 2
    assert proposed("ab", [quiet, quiet / 4], {0: MIDDLE}) == ()


def test_a_range_is_only_split_where_its_worker_has_said_where() -> None:
    assert proposed("ab", [3.0, 1.0], {}) == ()
    assert proposed("ab", [3.0, 1.0], {0: Point(0, 0.0, 7, 0.4)}) == ()


def test_splits_end_at_four_times_the_configured_number() -> None:
    targets, costs = "a" * 8 + "b" * 8, [9.0, *[1.0] * 15]
    assert proposed(targets, costs, {0: MIDDLE}, count=16 // MOST_TIMES) == ()
    assert proposed(targets, costs, {0: MIDDLE}, count=16 // MOST_TIMES + 1) != ()


def test_cold_neighbours_are_merged_while_there_are_more_ranges_than_configured() -> None:
    layout = ranges_from(equal_boundaries(4))
    cold = merged("aabb", [1.0, 0.001, 0.002, 1.0], count=2)
    assert cold == (Merge(layout[1], layout[2]),)
    assert str(cold[0]) == (
        "4000-7fff and 8000-bfff become one shard, because together they take 0.3 % of a fair share,"
        " and there are more shards than shards.count"
    )
    assert merged("aabb", [1.0, 0.001, 0.002, 1.0], count=4) == ()


def test_neighbours_of_one_member_are_merged_before_others() -> None:
    layout = ranges_from(equal_boundaries(4))
    assert merged("abbb", [0.001, 0.001, 0.002, 1.0], count=2) == (Merge(layout[1], layout[2]),)


def test_ranges_that_are_busy_are_not_merged() -> None:
    assert merged("aabb", [1.0, 1.0, 1.0, 1.0], count=2) == ()


def test_an_idle_fleet_goes_back_to_its_configured_number() -> None:
    assert merged("aabb", [0.0, 0.0, 0.0, 0.0], count=2) != ()
