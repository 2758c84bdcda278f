from __future__ import annotations

from typing import cast

import msgspec

from fleet.workers.range_runner import RangeRunner
from fleet.workers.waiting_records import MOST, waiting_records
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from shards.queue.waiting_keys import TEXT_LENGTH, WaitingKey, WaitsFor


class Runner:
    """What is asked of a runner."""

    def __init__(self, covered: KeyRange, *since: float) -> None:
        self.range = covered
        self.keys = [WaitingKey("sites", f"default/{at:g}", at, 7, WaitsFor.VIEW, "why") for at in since]

    def waiting(self, most: int) -> list[WaitingKey]:
        return self.keys[:most]


def runners(*made: Runner) -> list[RangeRunner]:
    return cast("list[RangeRunner]", made)


def test_moments_of_the_boot_clock_become_moments_of_the_day() -> None:
    [record] = waiting_records(runners(Runner(WHOLE, 40.0)), 100.0, 1_800_000_000.0)
    assert (record.since, record.range, record.times) == (1_800_000_000 - 60, str(WHOLE), 7)
    assert (record.waits_for, record.why) == ("view", "why")


def test_the_longest_waiting_ride_along_whichever_shard_they_are_of() -> None:
    low, high = ranges_from(equal_boundaries(2))
    many = [float(at) for at in range(100, 100 + 2 * MOST, 2)]
    records = waiting_records(runners(Runner(low, *many), Runner(high, 1.0, 101.0)), 500.0, 500.0)
    assert len(records) == MOST
    assert [record.key for record in records[:3]] == ["default/1", "default/100", "default/101"]


def test_a_record_of_the_longest_keys_and_reasons_fits_into_a_lease_beside_those_that_fail() -> None:
    key = WaitingKey("c" * 63, f"{'n' * 63}/{'x' * 253}", 1.0, 10**6, WaitsFor.READINESS, "e" * TEXT_LENGTH)
    runner = Runner(WHOLE)
    runner.keys = [key] * MOST
    assert len(msgspec.json.encode(waiting_records(runners(runner), 1.0, 1e9))) < 16 * 1024
