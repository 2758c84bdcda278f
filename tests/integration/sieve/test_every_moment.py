"""Not at the moments of the catalogue alone: its operators are killed after each of their writes, and act on views that
stood still at each change of their histories. With the product as it is, nothing differs."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, cycle

import pytest

from tests.integration.sieve.plans import At, Scenario, Way, any_change, crash, stale
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
