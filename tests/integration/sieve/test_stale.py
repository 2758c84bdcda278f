"""The stale scenarios of Sieve's catalogue: wrong without the protections, right with them, by the same reconciles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.integration.sieve.operators import resizing, rings
from tests.integration.sieve.plans import Scenario, Way
from tests.integration.sieve.reference import found_wrong, reference_of
from tests.integration.sieve.runtimes import ACTS, GATES, LISTS, WITH, WITHOUT
from tests.integration.sieve.stage import play
from tests.integration.sieve.stale import STALE

TIMINGS = ((1, 0.5), (2, 3.0))
"""Seeds, and seconds from the trigger to the switch, besides those of Sieve's plans: nothing is to rest on timing."""

SAYING = {
    10: partial(rings.makes_its_budget_anew, says_what_it_rests_on=True),
    28: partial(resizing.makes_its_set_anew_for_another_size, says_what_it_rests_on=True),
}
"""The operators of those that read live what they delete, and the datastore from the view, with `reads=[store]`."""

each_scenario = pytest.mark.parametrize("scenario", STALE, ids=lambda each: each.name)
each_way = pytest.mark.parametrize("way", Way)


@each_scenario
def test_without_faults_both_runtimes_do_the_same(scenario: Scenario) -> None:
    """What differs under faults is due to them, not to the stand-in."""
    plain = play(scenario, WITHOUT, way=None)
    assert plain.differences(reference_of(scenario)) == [], "\n".join(plain.log)


@each_way
@each_scenario
def test_a_stale_view_does_harm_without_the_protections(scenario: Scenario, way: Way) -> None:
    wrong, log = found_wrong(scenario, WITHOUT, way=way)
    assert bool(wrong) == scenario.fails_without, log


@each_way
@each_scenario
def test_a_stale_view_does_no_harm_with_them(scenario: Scenario, way: Way) -> None:
    wrong, log = found_wrong(scenario, WITH, way=way)
    assert wrong == [], log


@pytest.mark.parametrize(("seed", "switch_seconds"), TIMINGS)
@each_scenario
def test_neither_rests_on_timing(scenario: Scenario, seed: int, switch_seconds: float) -> None:
    wrong, log = found_wrong(scenario, WITHOUT, seed=seed, switch_seconds=switch_seconds)
    assert bool(wrong) == scenario.fails_without, log
    for way in Way:
        wrong, log = found_wrong(scenario, WITH, way=way, seed=seed, switch_seconds=switch_seconds)
        assert wrong == [], log


@pytest.mark.parametrize("way", [Way.RESTART, Way.TAKEOVER])
@each_scenario
def test_each_protection_alone_holds_off_what_the_table_says(scenario: Scenario, way: Way) -> None:
    """A process that begins anew has to list consistently; one that stood by has to wait for its predecessor's view."""
    holds = {LISTS: way is Way.RESTART, GATES: way is not Way.RESTART, ACTS: scenario.live_read_suffices}
    for protection, held in holds.items():
        wrong, log = found_wrong(scenario, frozenset({protection}), way=way)
        assert (wrong == []) == held, f"{protection} alone\n{log}"


@pytest.mark.parametrize("way", [Way.RESTART, Way.TAKEOVER])
@each_scenario
def test_one_protection_may_fail_where_the_live_read_suffices(scenario: Scenario, way: Way) -> None:
    """Else nothing may fail that the way depends on."""
    needed = LISTS if way is Way.RESTART else GATES
    for taken_out in sorted(WITH):
        wrong, log = found_wrong(scenario, WITH - {taken_out}, way=way)
        assert (wrong == []) == (scenario.live_read_suffices or taken_out != needed), f"without {taken_out}\n{log}"


@each_way
@pytest.mark.parametrize("number", SAYING)
def test_where_an_operator_says_what_an_act_rests_on_the_live_read_suffices(number: int, way: Way) -> None:
    [scenario] = [each for each in STALE if each.number == number]
    assert not scenario.live_read_suffices
    wrong, log = found_wrong(replace(scenario, make=SAYING[number]), frozenset({ACTS}), way=way)
    assert wrong == [], log
