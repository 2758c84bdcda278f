"""What the store accepted is read as the path of the protocol that led to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.simulation.happenings import Happening, Lived, Restored, Stepped, Written
from chaos.simulation.paths import PATHS, Paths
from fleet.backends.record_cache import Record
from fleet.health.range_steps import Cause, RangeStep, Step
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    StoredMap,
)
from shards.gates.watermark import Watermark
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from

RANGE = ranges_from(equal_boundaries(1))[0]
MEMBER = MemberRecord("a", Incarnation("pod", 1), 1, 2.0)
FREE = ShardRecord(RANGE, ShardStatus.ACTIVE, 1, released=1)
HELD = replace(FREE, epoch=2, holder=Holder("a", 1), holder_text="a@1")
GONE = replace(FREE, status=ShardStatus.RETIRED, epoch=3)
MAP = ShardMap(1, 1, "web", "websites", PartitionKey.UID, equal_boundaries(1), ("a",))
OFFICE = CoordinatorRecord("agent-1/1", 1, 2.0)


def paths_of(*happenings: Happening) -> list[str]:
    paths = Paths()
    for each in happenings:
        paths.hear(each)
    assert set(paths.counts) <= set(PATHS), "every path has its rule"
    return list(paths.counts)


def written(
    kind: Kind, before: Record | CoordinatorRecord | None, after: Record | CoordinatorRecord | None, by: str = "a/1"
) -> Written:
    return Written(1.0, by, kind, "x", before, after, 0.9)


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (None, MEMBER, "first join"),
        (None, replace(MEMBER, epoch=4), "member record made again"),
        (MEMBER, replace(MEMBER, renewals=1), None),
        (MEMBER, replace(MEMBER, renewals=2, seen_map=0), "expulsion"),
        (MEMBER, replace(MEMBER, epoch=2), "join after its own end"),
        (MEMBER, replace(MEMBER, epoch=2, holder=Incarnation("pod", 2)), "join over a reaped holder"),
        (MEMBER, replace(MEMBER, epoch=2, holder=Incarnation("other", 1)), "join over a silent holder"),
        (MEMBER, replace(MEMBER, epoch=2, holder=None), "fence"),
        (MEMBER, replace(MEMBER, epoch=2, holder=None, leaving=True), "leave for good"),
        (MEMBER, None, "member record collected"),
    ],
)
def test_members(before: MemberRecord | None, after: MemberRecord | None, path: str | None) -> None:
    assert paths_of(written(Kind.MEMBER, before, after)) == ([path] if path else [])


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (None, FREE, "activation of a new range"),
        (None, replace(FREE, epoch=3, released=3), "shard record made again"),
        (None, GONE, "retire write to a missing record"),
        (FREE, GONE, "retire write"),
        (GONE, replace(FREE, epoch=4), "activation of a retired range"),
        (HELD, replace(HELD, holder=None, released=2), "release"),
        (replace(FREE, released=None), replace(FREE, epoch=2), "shard record mended"),
        (GONE, None, "range record collected"),
    ],
)
def test_shards(before: ShardRecord | None, after: ShardRecord | None, path: str) -> None:
    assert paths_of(written(Kind.SHARD, before, after)) == [path]


def test_a_release_with_a_watermark_is_both() -> None:
    after = replace(HELD, holder=None, released=2, watermark=Watermark(2))
    assert paths_of(written(Kind.SHARD, HELD, after)) == ["release", "release with a watermark"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"coordinator_epoch": 2}, "office entered in the map"),
        ({"boundaries": equal_boundaries(2), "targets": ("a", "a")}, "reshard"),
        ({"targets": ("b",)}, "move"),
        ({"floors": {"a": 2}}, "floor raised"),
        ({"lost": {RANGE: 2}}, "range marked lost"),
        ({"version": 1_000_002}, "old map outrun"),
    ],
)
def test_maps(changes: dict[str, object], path: str) -> None:
    after = replace(MAP, **changes)  # type: ignore[arg-type]
    assert paths_of(written(Kind.MAP, StoredMap(MAP, "1"), StoredMap(after, "2"))) == [path]


def test_a_map_is_made_once_and_rebuilt_after_that() -> None:
    assert paths_of(written(Kind.MAP, None, StoredMap(MAP, "1"))) == ["map made"]
    assert paths_of(written(Kind.MAP, None, StoredMap(replace(MAP, version=9), "1"))) == ["map rebuilt"]


def test_a_lost_range_comes_back() -> None:
    lost = StoredMap(replace(MAP, lost={RANGE: 2}), "1")
    assert paths_of(written(Kind.MAP, lost, StoredMap(MAP, "2"))) == ["lost range back"]


def test_offices() -> None:
    assert paths_of(written(Kind.COORDINATOR, None, OFFICE)) == ["election"]
    assert paths_of(written(Kind.COORDINATOR, OFFICE, replace(OFFICE, renewals=1))) == []
    assert paths_of(written(Kind.COORDINATOR, OFFICE, replace(OFFICE, epoch=2))) == ["election"]
    assert paths_of(written(Kind.COORDINATOR, OFFICE, replace(OFFICE, holder=""))) == ["resignation"]


def test_what_a_hand_writes_is_no_path() -> None:
    assert paths_of(written(Kind.MEMBER, MEMBER, None, by="hand")) == []


def test_steps_of_ranges() -> None:
    claim = RangeStep(Step.CLAIMED, RANGE, "a", 1.0, cause=Cause.HANDOVER, watermark=True)
    drop = RangeStep(Step.DROPPED, RANGE, "a", 1.0)
    opened = RangeStep(Step.OPEN, RANGE, "a", 1.0)
    heard = [Stepped(1.0, "a/1", each) for each in (claim, drop, opened)]
    assert paths_of(*heard) == ["claim: handover", "claim with a watermark", "drop"]


def test_ends_and_restores() -> None:
    assert paths_of(Lived(1.0, "a/1", "died"), Lived(1.0, "a/1", "crashed"), Restored(2.0)) == [
        "end by itself",
        "restore",
    ]
