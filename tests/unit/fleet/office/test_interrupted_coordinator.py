"""The coordinator may die, stand still or be deceived at every request that it makes, in every operation."""

from __future__ import annotations

import pytest

from fleet.records.object_names import Kind
from fleet.records.record import ShardStatus
from shards.keyrange import equal_boundaries, ranges_from
from shards.testing.virtual_time import run_virtually
from tests.unit.fleet.office.interruptions import READ, WRITES_ONLY, Cut, Operation, play
from tests.unit.fleet.office.test_resharding import config, configure, settled
from tests.unit.fleet.ownership import LEASE_SECONDS, Fleet
from tests.unit.fleet.records.records import shard

STRAY = ranges_from(equal_boundaries(8))[3]


async def one_joins(fleet: Fleet) -> None:
    fleet.start("c")


async def one_leaves(fleet: Fleet) -> None:
    fleet.leave("a")


async def one_dies(fleet: Fleet) -> None:
    await fleet.crash("a")


async def more_ranges(fleet: Fleet) -> None:
    await configure(fleet, config(4))


async def fewer_ranges(fleet: Fleet) -> None:
    await configure(fleet, config(1))


async def a_lease_is_deleted(fleet: Fleet) -> None:
    fleet.delete_shard(fleet.layout[0])


async def the_map_is_deleted(fleet: Fleet) -> None:
    fleet.edit(Kind.MAP, "only", None)


async def a_stray_appears(fleet: Fleet) -> None:
    record = shard(STRAY, holder=None, released=9, epoch=9, status=ShardStatus.ACTIVE)
    await fleet.wire("hand").write_shard(record, "")


def given_back(fleet: Fleet) -> bool:
    record = fleet.record(fleet.layout[0])
    return record is not None and record.holder is not None and record.epoch > 2


OPERATIONS = [
    Operation("the first assignment", from_the_start=True),
    Operation("a move", one_joins, lambda fleet: fleet.holds("c") != [], ranges=3),
    Operation("leaving", one_leaves, lambda fleet: fleet.holds("a") == [] and len(fleet.open()) == 2),
    Operation("a fence", one_dies, lambda fleet: set(fleet.open().values()) == {"b"}, within_seconds=3 * LEASE_SECONDS),
    Operation("a split", more_ranges, lambda fleet: settled(fleet, 4)),
    Operation("a merge", fewer_ranges, lambda fleet: settled(fleet, 1), ranges=2),
    Operation("a lost Lease", a_lease_is_deleted, given_back),
    Operation("a lost map", the_map_is_deleted),
    Operation(
        "garbage",
        a_stray_appears,
        lambda fleet: fleet.record(STRAY) is None and fleet.map.shard_epochs.get(STRAY, 0) >= 10,
        within_seconds=3 * (LEASE_SECONDS + 30),  # each office counts for itself (R15)
    ),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("cut", Cut, ids=lambda each: each.name.lower().replace("_", " "))
@pytest.mark.timeout(600)
def test_wherever_it_is_cut_off_the_fleet_is_whole_again_in_time(operation: Operation, cut: Cut) -> None:
    requests = run_virtually(play(operation)).requests
    assert any(what != READ for what in requests)
    for at, what in enumerate(requests):
        if what == READ and cut in WRITES_ONLY:
            continue
        try:
            run_virtually(play(operation, at, cut))
        except Exception as error:
            raise AssertionError(f"{operation.name}, cut off at request {at} ({what}): {cut}: {error}") from error
