"""Whether a canary may grow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.records.report_record import PartRecord
from fleet.rules.canary_verdict import Criterion, Enough, Word, judge_parts, summed, worst

GOOD = PartRecord(
    shards=4,
    seconds=300,
    keys=1000,
    parked=0,
    failing=0,
    reconciles=500,
    requests=1000,
    live_reads=0,
    longest_wait=0.1,
    longest_parked=0.2,
)
ENOUGH = Enough()


def judged(canary: PartRecord, rest: PartRecord | None = GOOD) -> dict[str, Criterion]:
    return {each.name: each for each in judge_parts(canary, rest, ENOUGH)}


def verdict(canary: PartRecord, rest: PartRecord | None = GOOD) -> Word:
    return worst(judge_parts(canary, rest, ENOUGH))


def test_a_part_that_fares_as_the_rest_does_may_grow() -> None:
    assert verdict(GOOD) is Word.GO_ON
    assert verdict(GOOD, None) is Word.GO_ON


BAD = {
    "keys waiting for their view": replace(GOOD, parked=100),
    "longest wait for a view": replace(GOOD, longest_parked=31.0),
    "longest wait in the queue": replace(GOOD, longest_wait=11.0),
    "keys that keep failing": replace(GOOD, failing=20),
    "keys whose destructive acts are paused": replace(GOOD, paused=20),
    "live reads of the gate per reconcile": replace(GOOD, live_reads=100),
}


@pytest.mark.parametrize(("name", "canary"), BAD.items())
def test_what_is_beyond_its_limit_and_worse_than_the_rest_asks_for_a_step_back(name: str, canary: PartRecord) -> None:
    assert verdict(canary) is Word.STEP_BACK
    assert verdict(canary, None) is Word.STEP_BACK
    assert [each.name for each in judged(canary).values() if each.word is not Word.GO_ON] == [name]


@pytest.mark.parametrize(("name", "canary"), BAD.items())
def test_where_the_rest_is_as_bad_it_is_not_the_canary_but_no_time_for_a_step(name: str, canary: PartRecord) -> None:
    found = judged(canary, canary)[name]
    assert found.word is Word.WAIT
    assert "the rest is no better" in found.sentence


def test_requests_are_judged_by_the_rest_only() -> None:
    twice = replace(GOOD, requests=2500)
    assert verdict(twice) is Word.STEP_BACK
    assert verdict(twice, None) is Word.GO_ON
    assert verdict(twice, replace(GOOD, reconciles=3, requests=3)) is Word.GO_ON
    assert "nothing to compare" in judged(twice, None)["requests per reconcile"].sentence


def test_a_cost_that_is_small_in_itself_condemns_nothing() -> None:
    assert verdict(replace(GOOD, requests=300), replace(GOOD, requests=5)) is Word.STEP_BACK
    assert verdict(replace(GOOD, requests=200), replace(GOOD, requests=5)) is Word.GO_ON


@pytest.mark.parametrize(
    "canary", [replace(GOOD, seconds=299), replace(GOOD, reconciles=19), replace(GOOD, reconciles=0, requests=0)]
)
def test_too_little_to_judge_by_is_neither_good_nor_bad(canary: PartRecord) -> None:
    assert verdict(canary) is Word.WAIT


def test_too_little_to_judge_by_hides_nothing_that_is_plain() -> None:
    assert verdict(replace(GOOD, reconciles=3, seconds=20, longest_parked=60.0)) is Word.STEP_BACK


def test_few_live_reads_among_few_reconciles_prove_nothing() -> None:
    assert verdict(replace(GOOD, reconciles=5, live_reads=3)) is Word.WAIT


def test_one_failing_key_of_a_few_says_something_about_that_key() -> None:
    assert verdict(replace(GOOD, keys=10, failing=1)) is Word.GO_ON
    assert verdict(replace(GOOD, keys=10, failing=2)) is Word.STEP_BACK


def test_a_part_without_keys_is_no_division_by_zero() -> None:
    empty = summed([])
    assert verdict(empty) is Word.WAIT
    assert verdict(empty, empty) is Word.WAIT


def test_who_needs_no_reconciles_gets_a_verdict_on_a_fleet_at_rest() -> None:
    still = replace(GOOD, reconciles=0, requests=0)
    assert worst(judge_parts(still, still, Enough(reconciles=0))) is Word.GO_ON
    assert worst(judge_parts(still, None, Enough(reconciles=0))) is Word.GO_ON


def test_parts_add_up_over_members_and_take_the_worst_of_each() -> None:
    one = PartRecord("a", shards=2, seconds=300, keys=10, reconciles=5, longest_wait=1.0, longest_parked=2.0)
    other = PartRecord("a", shards=1, seconds=20, keys=1, parked=1, live_reads=2, longest_wait=3.0)
    found = summed([one, other])
    assert (found.shards, found.seconds, found.keys, found.parked, found.live_reads) == (3, 20, 11, 1, 2)
    assert (found.longest_wait, found.longest_parked) == (3.0, 2.0)


def test_the_worst_criterion_decides_and_nothing_known_waits() -> None:
    criteria = [Criterion("a", Word.GO_ON, ""), Criterion("b", Word.STEP_BACK, ""), Criterion("c", Word.WAIT, "")]
    assert worst(criteria) is Word.STEP_BACK
    assert worst(criteria[:1]) is Word.GO_ON
    assert worst([]) is Word.WAIT
