from __future__ import annotations

from fleet.records.filter_record import FilterRecord
from fleet.records.record import Incarnation, MemberRecord
from fleet.status.filter_rows import filter_rows
from fleet.status.status_rows import FilterRow

SELECTOR = FilterRecord("v1/websites", "shard-selector", 3, "shard-selector", "proven", "because", 1, 900)


def member(name: str, *filters: FilterRecord, gone: bool = False) -> MemberRecord:
    return MemberRecord(name, None if gone else Incarnation("pod.1", 1), 1, 8.0, filters=filters)


def test_members_that_stand_on_the_same_are_one_row_as_old_as_the_oldest_answer() -> None:
    later = FilterRecord("v1/websites", "shard-selector", 5, "shard-selector", "proven", "lately", 2, 950)
    assert filter_rows([member("a", SELECTOR), member("b", later)], 1000.0) == (
        FilterRow(
            resource="v1/websites",
            filter="shard-selector",
            views=8,
            best="shard-selector",
            verdict="proven",
            why="lately",
            foreign=3,
            probed_seconds_ago=100.0,
        ),
    )


def test_members_that_differ_are_rows_of_their_own() -> None:
    fallen = FilterRecord("v1/websites", "local", 4, "shard-selector", "refuted", "foreign", 7, 900)
    rows = filter_rows([member("a", SELECTOR), member("b", fallen)], 1000.0)
    assert [(row.filter, row.views) for row in rows] == [("local", 4), ("shard-selector", 3)]


def test_those_that_are_gone_say_nothing() -> None:
    assert filter_rows([member("a", SELECTOR, gone=True)], 1000.0) == ()


def test_one_that_was_never_answered_has_no_age() -> None:
    unknown = FilterRecord("v1/websites", "local", 4, "shard-selector", "unknown", "not asked yet")
    [row] = filter_rows([member("a", unknown)], 1000.0)
    assert row.probed_seconds_ago is None
