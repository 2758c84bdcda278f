"""A worker forgets ranges that left the map, when it is done with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from fleet.records.record import Holder, ShardRecord
from fleet.rules.handover import LocalShard, Phase
from fleet.workers.former_ranges import forget_former
from fleet.workers.range_runner import RangeRunner
from shards.keyrange import KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import shard, shard_map

ME = Holder("me", 5)
KEPT = ranges_from(equal_boundaries(2))
FORMER = ranges_from(equal_boundaries(4))[1]


@dataclass
class Runner:
    """As much of one as is looked at."""

    phase: Phase = Phase.IDLE
    busy: bool = False
    local: LocalShard = field(init=False)

    def __post_init__(self) -> None:
        self.local = LocalShard(FORMER, self.phase)


def left(former: Runner, record: ShardRecord | None = None) -> set[KeyRange]:
    """Ranges that are remembered afterwards."""
    runners = cast("dict[KeyRange, RangeRunner]", dict.fromkeys(KEPT, Runner()) | {FORMER: former})
    records = {} if record is None else {FORMER: record}
    forget_former(runners, shard_map("web", targets=("me", "me")), records, ME)
    return set(runners)


def test_what_has_nothing_left_to_do_is_forgotten() -> None:
    assert left(Runner()) == set(KEPT)
    assert left(Runner(), shard(FORMER, holder=Holder("other", 1))) == set(KEPT)


def test_what_is_held_closing_or_to_be_renounced_is_not() -> None:
    everything = {*KEPT, FORMER}
    assert left(Runner(Phase.OWNED)) == everything
    assert left(Runner(busy=True)) == everything
    assert left(Runner(), shard(FORMER, holder=ME)) == everything


def test_without_a_map_nothing_is_forgotten() -> None:
    runners = cast("dict[KeyRange, RangeRunner]", {FORMER: Runner()})
    forget_former(runners, None, {}, ME)
    assert set(runners) == {FORMER}
