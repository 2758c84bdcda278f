from __future__ import annotations

from dataclasses import replace

from fleet.budget_share import working_members
from fleet.record import Holder, ShardMap, ShardRecord, ShardStatus
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from

RANGES = ranges_from(equal_boundaries(4))
MAP = ShardMap(5, 1, "web", "id", PartitionKey.UID, equal_boundaries(4), ("a", "a", "b", ""), opened=frozenset(RANGES))
RECORDS = [ShardRecord(each, PartitionKey.UID, ShardStatus.ACTIVE, 7, Holder("a", 3), "a@3") for each in RANGES]


def test_members_that_own_or_are_to_own_something_share_the_budget() -> None:
    assert working_members(MAP, RECORDS, "a") == 2
    assert working_members(MAP, [], "a") == 2


def test_who_asks_counts_itself() -> None:
    """One that has just joined takes too small a part, never one that nobody gave up."""
    assert working_members(MAP, RECORDS, "c") == 3
    assert working_members(replace(MAP, targets=("",) * 4), [], "c") == 1


def test_a_holder_that_has_to_let_go_counts_until_it_has() -> None:
    moving = [*RECORDS[:3], replace(RECORDS[3], holder=Holder("d", 1), holder_text="d@1")]
    assert working_members(MAP, moving, "a") == 3
    released = [*RECORDS[:3], replace(RECORDS[3], holder=None, holder_text="", released=7)]
    assert working_members(MAP, released, "a") == 2


def test_a_fenced_holder_does_not_count() -> None:
    dead = [replace(RECORDS[0], holder=Holder("d", 1), holder_text="d@1")]
    assert working_members(replace(MAP, floors={"d": 2}), dead, "a") == 2
