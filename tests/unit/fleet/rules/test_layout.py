from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus
from fleet.rules.layout import (
    Wanted,
    boundaries_for,
    heirs_of,
    is_settled,
    next_layout,
    relaid,
    told,
    weighted_boundaries,
)
from shards.keyrange import SPACE, KeyRange, PartitionKey, equal_boundaries, fnv1a64, range_of, ranges_from
from tests.unit.fleet.records.records import shard, shard_map

UID, NAMESPACE = PartitionKey.UID, PartitionKey.NAMESPACE
QUARTERS = ranges_from(equal_boundaries(4))
HALVES = ranges_from(equal_boundaries(2))


def mapped(count: int = 4, **changes: object) -> ShardMap:
    """Ranges that belong to a, b, a, b ..."""
    targets = tuple("ab"[i % 2] for i in range(count))
    found = shard_map(boundaries=equal_boundaries(count), targets=targets, config_version="10", base_count=count)
    return replace(found, **changes)  # type: ignore[arg-type]  # any field may change


def held(shown: ShardMap) -> dict[KeyRange, ShardRecord]:
    """Every range by its target."""
    holders = zip(shown.ranges, shown.targets, strict=True)
    return {each: shard(each, holder=Holder(name, 3), holder_text=f"{name}@3") for each, name in holders}


def after(shown: ShardMap, wanted: Wanted) -> ShardMap:
    new = next_layout(shown, wanted, held(shown))
    assert new is not None
    return new


# -- the config's layout ----------------------------------------------------------------------------------------------


def test_another_count_cuts_anew_and_what_leaves_retires() -> None:
    new = after(mapped(2), Wanted(4, UID, "11"))
    assert new.ranges == QUARTERS
    assert new.retiring == set(HALVES)
    assert (new.config_version, new.base_count) == ("11", 4)


def test_each_new_range_begins_with_the_member_that_holds_most_of_its_hashes() -> None:
    assert after(mapped(2), Wanted(4, UID, "11")).targets == ("a", "a", "b", "b")
    thirds = mapped(3, targets=("a", "b", "b"))
    assert after(thirds, Wanted(2, UID, "11")).targets == ("a", "b")


def test_members_that_hold_as_much_inherit_as_much() -> None:
    assert after(mapped(8), Wanted(4, UID, "11")).targets == ("a", "b", "a", "b")


def test_a_record_s_living_holder_counts_before_the_target() -> None:
    shown = mapped(2)
    records = held(shown) | {HALVES[0]: shard(HALVES[0], holder=Holder("c", 3), holder_text="c@3")}
    assert heirs_of(equal_boundaries(4), shown, records)[0].member == "c"
    dead = replace(shown, floors={"c": 4})
    assert heirs_of(equal_boundaries(4), dead, records)[0].member == "a"


def test_ranges_that_stay_keep_their_target_and_do_not_retire() -> None:
    shown = mapped(3, boundaries=(0, SPACE // 2, SPACE // 4 * 3), targets=("x", "y", "z"))
    new = relaid(shown, (0, SPACE // 4, SPACE // 2, SPACE // 4 * 3), UID, held(shown))
    assert new.targets == ("x", "x", "y", "z")
    assert new.retiring == {HALVES[0]}


def test_a_config_that_asks_for_what_there_is_is_only_recorded() -> None:
    assert after(mapped(), Wanted(4, UID, "11")) == mapped(config_version="11")
    assert next_layout(mapped(), Wanted(4, UID, "10"), held(mapped())) is None


def test_single_ranges_that_were_cut_stay_until_the_count_changes() -> None:
    shown = mapped(5, base_count=4)
    assert after(shown, Wanted(4, UID, "11")).boundaries == shown.boundaries
    assert after(shown, Wanted(8, UID, "11")).boundaries == equal_boundaries(8)


def test_a_map_of_before_takes_its_own_number_for_the_count_it_was_made_for() -> None:
    shown = mapped(base_count=0, config_version="")
    assert after(shown, Wanted(4, UID, "11")).boundaries == shown.boundaries


def test_no_layout_follows_one_that_has_a_record_of_another_protocol() -> None:
    shown = mapped(2)
    records = held(shown)
    assert is_settled(shown, records)
    records[HALVES[0]] = shard(HALVES[0], holder=None, holder_text="another protocol", foreign=True)
    assert next_layout(shown, Wanted(4, UID, "11"), records) is None


@pytest.mark.parametrize("version", ["0", "-1", "newest"])
def test_a_version_that_somebody_made_up_in_the_map_is_followed_by_any(version: str) -> None:
    new = after(mapped(2, config_version=version), Wanted(4, UID, "11"))
    assert (new.ranges, new.config_version) == (QUARTERS, "11")


@pytest.mark.parametrize("version", ["9", ""])
def test_an_older_config_never_reshards(version: str) -> None:
    assert next_layout(mapped(), Wanted(8, UID, version), held(mapped())) is None


def test_there_is_one_reshard_at_a_time() -> None:
    shown, wanted = mapped(), Wanted(8, UID, "11")
    records = held(shown)
    assert next_layout(replace(shown, retiring=frozenset({HALVES[0]})), wanted, records) is None
    assert next_layout(shown, wanted, {**records, HALVES[0]: shard(HALVES[0])}) is None
    assert next_layout(shown, wanted, {each: record for each, record in records.items() if each != QUARTERS[1]}) is None
    retired = replace(records[QUARTERS[1]], status=ShardStatus.RETIRED)
    assert not is_settled(shown, {**records, QUARTERS[1]: retired})
    assert is_settled(shown, records)


def test_another_partition_key_is_a_whole_new_layout() -> None:
    new = after(mapped(), Wanted(4, NAMESPACE, "11"))
    assert new.ranges == tuple(replace(each, key=NAMESPACE) for each in QUARTERS)
    assert new.retiring == set(QUARTERS)
    assert new.targets == mapped().targets


def test_a_refused_config_is_forgotten_with_the_next_one_that_is_followed() -> None:
    shown = mapped(config_refused="version 11: no")
    assert after(shown, Wanted(4, UID, "12")).config_refused == ""
    assert after(shown, Wanted(8, UID, "12")).config_refused == ""


@given(st.integers(1, 64), st.integers(1, 64), st.sets(st.integers(1, SPACE - 1), max_size=6))
def test_every_layout_covers_the_space_and_nothing_is_forgotten(before: int, count: int, cuts: set[int]) -> None:
    boundaries = tuple(sorted({*equal_boundaries(before), *cuts}))
    shown = mapped(boundaries=boundaries, targets=("a",) * len(boundaries), base_count=100)
    new = after(shown, Wanted(count, UID, "11"))
    assert len(new.ranges) == count
    assert new.retiring | (set(new.ranges) & set(shown.ranges)) == set(shown.ranges)
    assert not new.retiring & set(new.ranges)


# -- boundaries -------------------------------------------------------------------------------------------------------


def loads(boundaries: tuple[int, ...], points: list[tuple[int, float]]) -> list[float]:
    found = [0.0] * len(boundaries)
    for value, weight in points:
        found[range_of(value, boundaries)] += weight
    return found


def test_namespaces_of_any_size_are_divided_by_weight() -> None:
    points = [(fnv1a64(f"team-{i}"), 1.0 + i % 7) for i in range(200)]
    weighted = loads(boundaries_for(8, NAMESPACE, points), points)
    equal = loads(equal_boundaries(8), points)
    assert max(weighted) < 1.15 * sum(weighted) / 8 < max(equal)


def test_a_namespace_that_outweighs_the_others_gets_a_range_of_its_own() -> None:
    points = [(SPACE // 16 * i, 1.0 if i != 5 else 100.0) for i in range(1, 16)]
    assert sorted(loads(weighted_boundaries(4, points), points))[-1] == 100.0


def test_fewer_namespaces_than_ranges_leave_the_rest_to_halves() -> None:
    boundaries = weighted_boundaries(6, [(5, 1.0), (SPACE // 2, 1.0)])
    assert len(boundaries) == 6
    assert SPACE // 2 in boundaries


@pytest.mark.parametrize("key", [UID, PartitionKey.NAME])
def test_other_keys_are_cut_into_ranges_of_one_width(key: PartitionKey) -> None:
    assert boundaries_for(4, key, [(7, 1.0)]) == equal_boundaries(4)
    assert boundaries_for(4, NAMESPACE) == equal_boundaries(4)
    assert weighted_boundaries(4, [(7, 0.0)]) == equal_boundaries(4)


@given(
    st.integers(1, 50), st.lists(st.tuples(st.integers(0, SPACE - 1), st.floats(0, 1e6, allow_nan=False)), max_size=60)
)
def test_boundaries_are_as_many_as_asked_for(count: int, points: list[tuple[int, float]]) -> None:
    assert len(ranges_from(weighted_boundaries(count, points))) == count


# -- sentences --------------------------------------------------------------------------------------------------------


def test_each_range_that_changes_is_told_in_one_sentence() -> None:
    shown = mapped(2)
    assert told(shown, after(shown, Wanted(4, UID, "11")), held(shown)) == [
        "0000-7fff leaves the layout; a holds it today and gives it up",
        "8000-ffff leaves the layout; b holds it today and gives it up",
        "0000-3fff is new, a part of 0000-7fff; it begins on a, which holds 100% of it today",
        "4000-7fff is new, a part of 0000-7fff; it begins on a, which holds 100% of it today",
        "8000-bfff is new, a part of 8000-ffff; it begins on b, which holds 100% of it today",
        "c000-ffff is new, a part of 8000-ffff; it begins on b, which holds 100% of it today",
    ]


def test_ranges_that_stay_are_told_together() -> None:
    shown = mapped(4)
    new = relaid(shown, (0, SPACE // 2, SPACE // 4 * 3), UID, held(shown))
    assert told(shown, new, held(shown))[2:] == [
        "0000-7fff is new, made of 2 ranges from 0000-3fff to 4000-7fff; it begins on a, which holds 50% of it today",
        "2 of 4 ranges stay as they are",
    ]


def test_under_another_key_nobody_holds_what_a_new_range_will_have() -> None:
    shown = mapped(1, boundaries=(0,), targets=("",))
    new = relaid(shown, (0,), NAMESPACE, {})
    assert told(shown, new, {}) == [
        "0000-ffff leaves the layout; nobody holds it today",
        "namespace.0000-ffff is new, under the key namespace; the planner places it",
    ]


def test_the_next_layout_of_thousands_of_ranges_and_its_sentences_are_there_at_once() -> None:
    shown = mapped(3001)
    began = time.process_time()
    new = after(shown, Wanted(4096, UID, "11"))
    assert len(told(shown, new, held(shown))) > 7000
    assert time.process_time() - began < 2.0
