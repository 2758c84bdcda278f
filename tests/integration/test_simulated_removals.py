"""Each rule of the protocol, and of shards, that can be removed, in the shortest known history that misses it: the
whole build keeps every promise in it, and without the rule the oracle that it is there for says so.

The scenarios were found by `python -m chaos.simulation.removals.search`, or written for what seeds find seldom.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.catches import SCENARIOS
from chaos.simulation.removals.search import breach_of
from chaos.simulation.scenario_file import read

CAUGHT = sorted(SCENARIOS.glob("*.yaml"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What a fleet logs of its faults is not what is asked here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("scenario", CAUGHT, ids=lambda path: path.stem)
def test_a_removed_rule_is_missed(scenario: Path) -> None:
    plan, removal = read(scenario), REMOVALS[scenario.stem]
    assert breach_of(plan) is None

    breach = breach_of(plan, removal)

    assert breach is not None
    assert breach.oracle in removal.expects, breach.what


def test_no_scenario_is_of_a_rule_that_is_not_known() -> None:
    assert {path.stem for path in CAUGHT} <= REMOVALS.keys()
