"""A crash after each single write, one run for each: what makes no author's bug gets to the same end.

Not a choice of crashes, but all of them, for each operator that looks at what is there and what is wanted. In virtual
time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import pytest

from shards.objects import Object
from tests.integration.sieve.cures import CURES
from tests.integration.sieve.plans import At, On, Scenario, crash
from tests.integration.sieve.runtimes import WITH
from tests.integration.sieve.stage import play

ALIKE = frozenset({34, 35})
"""Played by the operators of others, with the same workload."""

SHORTER = 8
"""What is taken back quickly is never begun where the operator is away meanwhile: nothing is made a second time."""

OPERATORS = [each for number, each in CURES.items() if number not in ALIKE]


@dataclass(frozen=True)
class AnyWrite(On):
    """The controller's n-th write that changes something."""

    def names(self, resource: str, name: str) -> bool:
        return True

    def changes(self, old: Object | None, new: Object | None) -> bool:
        return True


def crashed(scenario: Scenario, nth: int, seconds: float) -> Scenario:
    return replace(scenario, rules=crash(AnyWrite("any", "", "", nth=nth, at=At.WRITE), restart_seconds=seconds))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", OPERATORS, ids=lambda each: each.name)
def test_a_crash_after_any_write_ends_as_none_does(scenario: Scenario) -> None:
    reference = play(scenario, WITH, way=None)
    assert reference.errors == []
    for nth in count(1):
        outcome = play(crashed(scenario, nth, 1.0), WITH)
        if outcome.unfired:
            assert nth > 2, "it writes, and is made to crash"
            return
        if scenario.number == SHORTER:
            reference = replace(reference, created=outcome.created, deleted=outcome.deleted)
        assert outcome.differences(reference) == [], "\n".join(outcome.log)
