"""Runs without a fault, each played once: what the others are compared with."""

from __future__ import annotations

from functools import cache

from tests.integration.sieve.cures import CURES
from tests.integration.sieve.outcome import Outcome
from tests.integration.sieve.plans import Scenario, Way
from tests.integration.sieve.runtimes import WITH
from tests.integration.sieve.stage import SWITCH_SECONDS, play

_CATALOGUE: dict[int, Scenario] = {}


def reference_of(scenario: Scenario) -> Outcome:
    """Raises AssertionError where the run does not get to an end by itself."""
    _CATALOGUE[scenario.number] = scenario
    return _reference(scenario.number)


@cache
def _reference(number: int) -> Outcome:
    scenario = _CATALOGUE[number]
    # What goes wrong without any fault is compared with what would be right.
    right = CURES[number] if scenario.fails_with and not scenario.rules else scenario
    outcome = play(right, WITH, way=None)
    assert not outcome.errors, "\n".join([*outcome.errors, *outcome.log])
    return outcome


def found_wrong(
    scenario: Scenario,
    protections: frozenset[str],
    *,
    way: Way = Way.RESTART,
    seed: int = 0,
    switch_seconds: float = SWITCH_SECONDS,
) -> tuple[list[str], str]:
    """What the oracles say of the run with the faults, and its log. Raises AssertionError where the faults of the plan
    did not all strike."""
    outcome = play(scenario, protections, way=way, seed=seed, switch_seconds=switch_seconds)
    log = "\n".join(outcome.log)
    assert not outcome.unfired, f"never seen: {outcome.unfired}\n{log}"
    return outcome.differences(reference_of(scenario)), log
