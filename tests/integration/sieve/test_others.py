"""The scenarios of Sieve's catalogue that are not about stale views: what comes of each, as the table says."""

from __future__ import annotations

import pytest

from tests.integration.sieve.catalogue import CATALOGUE
from tests.integration.sieve.plans import Scenario
from tests.integration.sieve.reference import found_wrong, reference_of
from tests.integration.sieve.runtimes import WITH, WITHOUT
from tests.integration.sieve.stage import play

OTHERS = [each for each in CATALOGUE if each.kind != "S"]

WITH_FAULTS = [each for each in OTHERS if each.rules]

each_scenario = pytest.mark.parametrize("scenario", OTHERS, ids=lambda each: each.name)


@pytest.mark.parametrize("scenario", WITH_FAULTS, ids=lambda each: each.name)
def test_without_faults_both_runtimes_do_the_same(scenario: Scenario) -> None:
    plain = play(scenario, WITHOUT, way=None)
    assert plain.differences(reference_of(scenario)) == [], "\n".join(plain.log)


@each_scenario
def test_it_ends_as_the_table_says(scenario: Scenario) -> None:
    wrong, log = found_wrong(scenario, WITHOUT)
    assert bool(wrong) == scenario.fails_without, "\n".join([*wrong, log])
    wrong, log = found_wrong(scenario, WITH)
    assert bool(wrong) == scenario.fails_with, "\n".join([*wrong, log])
