"""Ranges are found by the hashes of keys."""

from __future__ import annotations

from fleet.devcluster.evidence.rangeindex import RangeIndex
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey, equal_boundaries, key_hash, ranges_from
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, uid_in

UID, NAMESPACE = PartitionKey.UID, PartitionKey.NAMESPACE


def index_of(*where: tuple[PartitionKey, KeyRange]) -> RangeIndex:
    made = RangeIndex()
    for each in where:
        made.add(each)
        made.add(each)
    return made


def test_a_key_is_found_in_every_range_that_holds_it() -> None:
    index = index_of((UID, LOWER), (UID, UPPER), (UID, WHOLE))
    assert list(index.places("default", "a", uid_in(LOWER))) == [(UID, LOWER), (UID, WHOLE)]


def test_each_partition_key_has_its_own_hash() -> None:
    home = LOWER if key_hash(NAMESPACE, "default", "a", "u") in LOWER else UPPER
    index = index_of((NAMESPACE, LOWER), (NAMESPACE, UPPER))
    assert list(index.places("default", "a", "u")) == [(NAMESPACE, home)]


def test_many_narrow_ranges_are_found_one_each() -> None:
    ranges = ranges_from(equal_boundaries(4096))
    index = index_of(*((UID, each) for each in ranges))
    for number in range(50):
        [(_, found)] = index.places("", "", f"uid-{number}")
        assert key_hash(UID, "", "", f"uid-{number}") in found
    assert index.overlapping((UID, KeyRange(0, SPACE // 2048 - 1))) == {(UID, each) for each in ranges[:2]}


def test_ranges_of_other_partition_keys_overlap_with_all() -> None:
    index = index_of((UID, LOWER), (UID, UPPER), (NAMESPACE, UPPER))
    assert index.overlapping((UID, LOWER)) == {(NAMESPACE, UPPER)}
    assert index.overlapping((NAMESPACE, UPPER)) == {(UID, LOWER), (UID, UPPER)}


def test_what_was_cleared_is_not_found() -> None:
    index = index_of((UID, WHOLE))
    index.clear()
    assert not list(index.places("", "", "u"))
    index.add((UID, WHOLE))
    assert list(index.places("", "", "u"))
