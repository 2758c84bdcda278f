"""Not at the moments of the catalogue alone: with the product as it is, operators are killed after each of their
writes, act on views that stood still at any change of their histories, and have watches that are late.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, cycle

import pytest

from tests.integration.sieve.parts import DATASTORES, STATEFUL_SETS, VOLUMES
from tests.integration.sieve.plans import At, Delay, Rule, Scenario, Way, any_change, crash, stale, value_at
from tests.integration.sieve.reference import reference_of
from tests.integration.sieve.runtimes import WITH
from tests.integration.sieve.stage import play
from tests.integration.sieve.stale import STALE

STRIDE = 3

each_scenario = pytest.mark.parametrize("scenario", STALE, ids=lambda each: each.name)


@each_scenario
def test_a_crash_after_any_write_does_no_harm(scenario: Scenario) -> None:
    reference = reference_of(scenario)
    crashes = 0
    for nth in count(1):
        outcome = play(replace(scenario, rules=crash(any_change(nth, At.WRITE))), WITH)
        if outcome.unfired:
            break
        crashes += 1
        assert outcome.differences(reference) == [], "\n".join(outcome.log)
    assert crashes >= 3


@each_scenario
def test_a_view_that_stands_still_at_any_change_does_no_harm(scenario: Scenario) -> None:
    """It acts after the last change of the history. Of the changes every STRIDE-th is taken, of each scenario others;
    the ways take turns."""
    reference = reference_of(scenario)
    ways = cycle(Way)
    for nth in range(1 + scenario.number % STRIDE, reference.changes, STRIDE):
        still, last = any_change(nth, At.SERVER), any_change(reference.changes - nth, At.SERVER)
        outcome = play(replace(scenario, rules=stale(still, last)), WITH, way=next(ways))
        assert outcome.unfired == []
        assert outcome.differences(reference) == [], "\n".join([f"change {nth}", *outcome.log])


def late(scenario: Scenario, seconds: float, resource: str = "") -> Scenario:
    return replace(scenario, rules=(Rule(any_change(1, At.SERVER), (Delay(seconds, resource),)),))


@pytest.mark.parametrize("seconds", [0.05, 1.0, 5.0])
@each_scenario
def test_late_watches_do_no_harm(scenario: Scenario, seconds: float) -> None:
    outcome = play(late(scenario, seconds), WITH)
    assert outcome.differences(reference_of(scenario)) == [], "\n".join(outcome.log)


@pytest.mark.parametrize("resource", [DATASTORES, STATEFUL_SETS, VOLUMES])
@each_scenario
def test_a_view_that_lags_behind_the_others_destroys_nothing(scenario: Scenario, resource: str) -> None:
    """What an operator does not see yet it may leave behind: absence from a view is no proof."""
    outcome, reference = play(late(scenario, 5.0, resource), WITH), reference_of(scenario)
    assert outcome.created <= reference.created, "\n".join(outcome.log)
    assert outcome.deleted <= reference.deleted, "\n".join(outcome.log)
    doomed = [place for place, body in outcome.state.items() if value_at(body, "metadata.deletionTimestamp")]
    assert doomed == []
