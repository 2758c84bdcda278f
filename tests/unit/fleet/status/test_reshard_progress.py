from __future__ import annotations

from dataclasses import replace

from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus
from fleet.rules.layout import relaid
from fleet.status.reshard_progress import Goal, ReshardPhase, ReshardProgress, reshard_progress
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries
from tests.unit.fleet.records.records import shard, shard_map

BEFORE = shard_map(config_version="10", base_count=2)
AFTER = replace(relaid(BEFORE, equal_boundaries(4), PartitionKey.UID, {}), config_version="11")
GOAL = Goal(frozenset(BEFORE.ranges), config_version="11")
DONE = replace(AFTER, retiring=frozenset())


def active(each: KeyRange, owner: str = "") -> ShardRecord:
    holder = Holder(owner, 3) if owner else None
    return shard(each, holder=holder, holder_text=f"{owner}@3" if owner else "", released=None if owner else 5)


def progress(shown: ShardMap, *records: ShardRecord, goal: Goal = GOAL) -> ReshardProgress:
    return reshard_progress(goal, shown, {record.range: record for record in records})


def test_a_map_that_follows_an_older_config_is_waited_for() -> None:
    assert progress(BEFORE).phase is ReshardPhase.WAITING
    assert progress(replace(BEFORE, requests_done=3), goal=Goal(GOAL.before, request=4)).phase is ReshardPhase.WAITING


def test_ranges_retire_are_activated_and_owned() -> None:
    first, second, third, _ = AFTER.ranges
    retired = shard(BEFORE.ranges[0], status=ShardStatus.RETIRED, holder=None, holder_text="")
    found = progress(
        replace(AFTER, retiring=frozenset({BEFORE.ranges[1]})), active(first, "a"), active(second), retired
    )
    assert (found.phase, found.leaving, found.retired) == (ReshardPhase.RUNNING, 2, 1)
    assert (found.new, found.activated, found.owned) == (4, 2, 1)
    assert found.sentence == "1 of 2 ranges retired, 2 of 4 new ones activated, 1 owned"
    assert progress(AFTER, active(third, "a")).retired == 0


def test_it_is_done_when_every_range_has_an_owner() -> None:
    owned = [active(each, "a") for each in DONE.ranges]
    assert progress(DONE, *owned).phase is ReshardPhase.DONE
    assert progress(DONE, *owned[:-1], active(DONE.ranges[-1])).phase is ReshardPhase.RUNNING
    assert progress(replace(DONE, floors={"a": 4}), *owned).phase is ReshardPhase.RUNNING
    newer = replace(DONE, config_version="12")
    assert progress(newer, *owned).phase is ReshardPhase.DONE, "of a newer config: nothing more will come of this one"


def test_a_config_that_is_refused_says_why() -> None:
    found = progress(replace(BEFORE, config_refused="version 11: shards.count: 0 is out of bounds"))
    assert (found.phase, found.why) == (ReshardPhase.REFUSED, "shards.count: 0 is out of bounds")
    assert progress(replace(BEFORE, config_refused="version 9: old")).phase is ReshardPhase.WAITING


def test_a_cut_that_left_the_layout_as_it_was_was_refused() -> None:
    goal = Goal(GOAL.before, request=4)
    assert progress(replace(BEFORE, requests_done=4), goal=goal).phase is ReshardPhase.REFUSED
    assert progress(replace(AFTER, requests_done=4), goal=goal).phase is ReshardPhase.RUNNING
