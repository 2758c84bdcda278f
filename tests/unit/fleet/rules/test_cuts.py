from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.cut_request import CutRequest
from fleet.rules.cuts import MOST_RANGES, Cut, Merge, Split, cut_boundaries, refusal
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey, equal_boundaries, ranges_from

HALF = SPACE // 2
LOW, HIGH = ranges_from((0, HALF))


def test_a_split_adds_a_boundary_and_a_merge_takes_one_away() -> None:
    assert cut_boundaries((0,), [Split(WHOLE, HALF)]) == (0, HALF)
    assert cut_boundaries((0, HALF), [Merge(LOW, HIGH)]) == (0,)


def test_a_hot_key_is_isolated_by_two_splits_the_second_of_what_the_first_left() -> None:
    cuts = [Split(LOW, 77), Split(KeyRange(77, HALF - 1), 78)]
    assert cut_boundaries((0, HALF), cuts) == (0, 77, 78, HALF)


def test_cuts_of_ranges_that_are_not_there_change_nothing() -> None:
    assert cut_boundaries((0, HALF), [Split(WHOLE, 5), Merge(KeyRange(0, 4), KeyRange(5, 9))]) == (0, HALF)


@pytest.mark.parametrize("at", [HALF, HALF - 1, 0])
def test_a_split_lies_inside_its_range(at: int) -> None:
    with pytest.raises(ValueError, match="does not divide"):
        Split(HIGH, at)


def test_only_neighbours_merge() -> None:
    with pytest.raises(ValueError, match="no neighbours"):
        Merge(HIGH, LOW)


def test_a_refusal_names_ranges_as_fleet_status_shows_them() -> None:
    first, second, third = ranges_from(equal_boundaries(4))[:3]
    assert refusal(CutRequest(1, (first, third)), equal_boundaries(4), PartitionKey.UID) == (
        "0000-3fff and 8000-bfff are no neighbours"
    )
    assert refusal(CutRequest(1, (first, second)), (0,), PartitionKey.UID).startswith(
        "the layout has no range 0000-3fff;"
    )
    why = refusal(CutRequest(1, (first,), HALF), equal_boundaries(4), PartitionKey.UID)
    assert why.startswith("8000000000000000 does not divide 0000-3fff: ")


def test_no_request_makes_a_layout_that_no_map_could_hold() -> None:
    boundaries = equal_boundaries(MOST_RANGES)
    first, second = ranges_from(boundaries)[:2]
    assert "merge some first" in refusal(CutRequest(1, (first,), first.first + 1), boundaries, PartitionKey.UID)
    assert refusal(CutRequest(1, (first, second)), boundaries, PartitionKey.UID) == ""


def test_a_cut_is_told_in_one_sentence() -> None:
    assert str(Split(WHOLE, HALF, "it is hot")) == "0000-ffff is split at 8000000000000000, because it is hot"
    assert str(Merge(LOW, HIGH)) == "0000-7fff and 8000-ffff become one shard"


def test_thousands_of_cuts_of_thousands_of_ranges_block_no_coordinator() -> None:
    """Whoever is blocked for longer than its lease is out of office, and the next one begins with the same cuts."""
    boundaries = equal_boundaries(MOST_RANGES - 1)
    layout = ranges_from(boundaries)
    began = time.process_time()
    cuts = [Split(each, each.first + 1) for each in layout]
    cuts += [Split(KeyRange(each.first + 1, each.last), each.first + 2) for each in layout]
    assert len(cut_boundaries(boundaries, cuts)) == 3 * (MOST_RANGES - 1)
    for each in layout:
        assert refusal(CutRequest(1, (each,), each.first + 1), boundaries, PartitionKey.UID) == ""
    assert time.process_time() - began < 5.0


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 20), st.integers(0, SPACE - 1)), max_size=8))
def test_whatever_is_cut_the_layout_covers_every_hash_once(count: int, draws: list[tuple[int, int]]) -> None:
    boundaries = equal_boundaries(count)
    for which, at in draws:
        layout = ranges_from(boundaries)
        i = which % len(layout)
        cuts: list[Cut] = [Split(layout[i], at)] if layout[i].first < at <= layout[i].last else []
        cuts += [Merge(layout[i - 1], layout[i])] if i and not cuts else []
        boundaries = cut_boundaries(boundaries, cuts)
    ranges_from(boundaries)
