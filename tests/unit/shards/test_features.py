"""Which features are on where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.features import BUILT, Canary, Feature, Rollout, position
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from

GATE, SHARDING = Feature.VERSION_GATE, Feature.SERVER_SIDE_SHARDING
NOBODY: dict[str, str] = {}


def layout(count: int) -> tuple[KeyRange, ...]:
    return ranges_from(equal_boundaries(count))


def taken(count: int, fraction: float) -> set[KeyRange]:
    canary = Canary(features=frozenset({GATE}), shard_fraction=fraction)
    return {each for each in layout(count) if canary.holds("websites", each, NOBODY)}


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 64, 1024, 4096])
@pytest.mark.parametrize("fraction", [0.0625, 0.125, 0.25, 0.5, 1.0])
def test_of_as_many_shards_as_a_power_of_two_the_fraction_is_exact(count: int, fraction: float) -> None:
    assert len(taken(count, fraction)) == max(1, int(count * fraction))


@given(st.integers(1, 4096), st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
def test_a_larger_fraction_only_adds_shards_and_a_smaller_one_only_takes_away(
    count: int, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert taken(count, small) <= taken(count, large)


@given(st.integers(1, 4096), st.floats(1e-9, 1.0))
def test_no_canary_of_shards_is_empty_and_a_whole_one_is_everything(count: int, fraction: float) -> None:
    assert layout(count)[0] in taken(count, fraction)
    assert taken(count, 1.0) == set(layout(count))


@pytest.mark.parametrize("count", [3, 10, 12, 100, 1000])
def test_of_any_other_number_the_fraction_is_near(count: int) -> None:
    """A hash spreads them: within four standard deviations of a binomial, and the one that always is there."""
    for fraction in (0.1, 0.25, 0.5):
        wide = 4 * (count * fraction * (1 - fraction)) ** 0.5 + 1
        assert abs(len(taken(count, fraction)) - count * fraction) <= wide


def test_neighbours_are_not_taken_together() -> None:
    first, second, *_ = layout(16)
    assert abs(position(first) - position(second)) > 0.25


def test_the_lower_half_of_a_split_shard_stays_where_it_was() -> None:
    for whole in layout(16):
        lower = KeyRange(whole.first, whole.first + (whole.last - whole.first) // 2)
        assert position(lower) == position(whole)


def test_a_feature_that_is_switched_off_is_on_nowhere() -> None:
    rollout = Rollout(frozenset({SHARDING}), Canary(features=frozenset({GATE}), controllers=frozenset({"a"})))
    assert not rollout.has(GATE, "a", WHOLE, NOBODY)


def test_a_feature_that_no_canary_names_is_on_everywhere() -> None:
    rollout = Rollout(canary=Canary(features=frozenset({SHARDING}), controllers=frozenset({"a"})))
    assert rollout.has(GATE, "b", WHOLE, NOBODY)
    assert not rollout.has(SHARDING, "b", WHOLE, NOBODY)
    assert rollout.has(SHARDING, "a", WHOLE, NOBODY)


@pytest.mark.parametrize(
    ("controller", "shard", "labels", "inside"),
    [
        ("a", layout(4)[0], {"track": "canary", "zone": "x"}, True),
        ("b", layout(4)[0], {"track": "canary"}, False),
        ("a", layout(4)[2], {"track": "canary"}, False),
        ("a", layout(4)[0], {"track": "stable"}, False),
        ("a", layout(4)[0], {}, False),
    ],
)
def test_every_condition_narrows_the_canary(
    controller: str, shard: KeyRange, labels: dict[str, str], inside: bool
) -> None:
    canary = Canary(frozenset({GATE}), frozenset({"a"}), 0.5, {"track": "canary"})
    assert Rollout(canary=canary).has(GATE, controller, shard, labels) is inside


def test_what_controllers_share_is_on_only_where_it_is_on_for_all_of_them() -> None:
    rollout = Rollout(canary=Canary(frozenset({SHARDING}), frozenset({"a"})))
    assert rollout.has_for_all(SHARDING, ["a"], WHOLE, NOBODY)
    assert not rollout.has_for_all(SHARDING, ["a", "b"], WHOLE, NOBODY)


def test_what_this_version_does_not_have_is_never_on() -> None:
    assert not Rollout().has(Feature.ADMISSION_FENCE, "a", WHOLE, NOBODY)
    assert set(BUILT) < set(Feature)
