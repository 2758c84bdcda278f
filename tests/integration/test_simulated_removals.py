"""Each rule of the protocol, and of shards, that can be removed, in the shortest known scenario that misses it: the
whole build keeps every promise in it, and without the rule the oracle that it is there for says so.

A seed draws what a scenario leaves open, such as latencies, and a change of the product that moves a write by a
millisecond makes another history of it. So each is played with a few seeds, until one misses the rule.

The scenarios were found by `python -m chaos.simulation.removals.search`, or written for what seeds find seldom.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.catches import SCENARIOS
from chaos.simulation.removals.search import breach_of
from chaos.simulation.scenario_file import read

MOST_SEEDS = {"protocol": 100, "stack": 30}
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
    seen: list[str] = []
    for seed in range(plan.seed, plan.seed + MOST_SEEDS[plan.depth]):
        drawn = msgspec.structs.replace(plan, seed=seed)
        breach = breach_of(drawn, removal)
        if breach is not None:
            seen.append(f"seed {seed}: {breach.oracle} {breach.what}")
            if breach.oracle in removal.expects:
                assert breach_of(drawn) is None, "with no rule removed"
                return
    pytest.fail("\n".join(seen) or "no seed misses it")


def test_no_scenario_is_of_a_rule_that_is_not_known() -> None:
    assert {path.stem for path in CAUGHT} <= REMOVALS.keys()
