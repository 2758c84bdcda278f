"""The scenarios that the author's own bug fails, with that bug taken out of the operator: what would have helped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from shards.authoring.controller import Controller
from tests.integration.sieve.indirect import INDIRECT
from tests.integration.sieve.intermediate import INTERMEDIATE
from tests.integration.sieve.parts import DATASTORES
from tests.integration.sieve.plans import Change, Scenario
from tests.integration.sieve.unobserved import UNOBSERVED


def _cured(scenario: Scenario) -> Scenario:
    right = replace(scenario, fails_without=False, fails_with=False)
    if scenario.number == 38:
        # It is for the schema to say how something is switched off; here by leaving it out.
        off = Change(DATASTORES, "one", {"spec": {"tserverUIPort": None}})
        steps = tuple(off if isinstance(each, Change) else each for each in scenario.workload)
        return replace(right, workload=steps)
    make: Callable[..., Controller] = scenario.make
    return replace(right, make=partial(make, cured=True))


CURES = {each.number: _cured(each) for each in (*INTERMEDIATE, *UNOBSERVED, *INDIRECT) if each.fails_with}
"""By number."""
