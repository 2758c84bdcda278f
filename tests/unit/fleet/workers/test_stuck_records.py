"""Which keys that fail, or wait for long, a member's record tells of."""

from __future__ import annotations

from typing import cast

import msgspec

from fleet.workers.range_runner import RangeRunner
from fleet.workers.stuck_records import MOST, failing_records, waiting_records
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from shards.queue.failing_keys import FailingKey
from shards.queue.sentences import TEXT_LENGTH
from shards.queue.waiting_keys import WaitingKey, WaitsFor

LOW, HIGH = ranges_from(equal_boundaries(2))
MANY = [float(at) for at in range(100, 100 + 2 * MOST, 2)]
LONGEST_KEY = f"{'n' * 63}/{'x' * 253}"


class Runner:
    """What is asked of a runner: keys that fail, and wait, since then."""

    def __init__(self, covered: KeyRange, *since: float) -> None:
        self.range = covered
        self.fail = [FailingKey("sites", f"default/{at:g}", "u", at, 7, "Error: no", False) for at in since]
        self.wait = [WaitingKey("sites", f"default/{at:g}", at, 7, WaitsFor.VIEW, "why") for at in since]

    def failing(self, most: int) -> list[FailingKey]:
        return self.fail[:most]

    def waiting(self, most: int) -> list[WaitingKey]:
        return self.wait[:most]


def runners(*made: Runner) -> list[RangeRunner]:
    return cast("list[RangeRunner]", made)


def test_moments_of_the_boot_clock_become_moments_of_the_day() -> None:
    [failing] = failing_records(runners(Runner(WHOLE, 40.0)), 100.0, 1_800_000_000.0)
    assert (failing.since, failing.range, failing.count) == (1_800_000_000 - 60, str(WHOLE), 7)
    [waiting] = waiting_records(runners(Runner(WHOLE, 40.0)), 100.0, 1_800_000_000.0)
    assert (waiting.since, waiting.range, waiting.times) == (1_800_000_000 - 60, str(WHOLE), 7)
    assert (waiting.waits_for, waiting.why) == ("view", "why")


def test_the_longest_failing_ride_along_whichever_shard_they_are_of() -> None:
    records = failing_records(runners(Runner(LOW, *MANY), Runner(HIGH, 1.0, 101.0)), 500.0, 500.0)
    assert len(records) == MOST
    assert [record.key for record in records[:3]] == ["default/1", "default/100", "default/101"]


def test_the_longest_waiting_ride_along_whichever_shard_they_are_of() -> None:
    records = waiting_records(runners(Runner(LOW, *MANY), Runner(HIGH, 1.0, 101.0)), 500.0, 500.0)
    assert len(records) == MOST
    assert [record.key for record in records[:3]] == ["default/1", "default/100", "default/101"]


def test_a_record_of_the_longest_keys_and_errors_fits_into_a_lease() -> None:
    runner = Runner(WHOLE)
    runner.fail = [FailingKey("c" * 63, LONGEST_KEY, "u", 1.0, 10**6, "e" * 200, False)] * MOST
    assert len(msgspec.json.encode(failing_records(runners(runner), 1.0, 1e9))) < 16 * 1024


def test_a_record_of_the_longest_keys_and_reasons_fits_into_a_lease_beside_those_that_fail() -> None:
    runner = Runner(WHOLE)
    runner.wait = [WaitingKey("c" * 63, LONGEST_KEY, 1.0, 10**6, WaitsFor.READINESS, "e" * TEXT_LENGTH)] * MOST
    assert len(msgspec.json.encode(waiting_records(runners(runner), 1.0, 1e9))) < 16 * 1024
