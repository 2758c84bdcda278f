"""What the author's own bug fails: it passes with that bug taken out, and costs nobody else anything while it is there.

In virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import isawaitable

import pytest

from shards import Context, Controller, Request
from shards.authoring.controller import Result
from shards.objects import Object
from shards.testing.virtual_time import loop_seconds
from tests.integration.sieve import parts, stage
from tests.integration.sieve.catalogue import CATALOGUE
from tests.integration.sieve.cures import CURES
from tests.integration.sieve.outcome import Outcome
from tests.integration.sieve.parts import DATASTORES, PODS, datastore
from tests.integration.sieve.plans import Change, Make, Scenario, Wait
from tests.integration.sieve.runtimes import WITH
from tests.integration.sieve.stage import play
from tests.integration.sieve.workloads import running

NEVER_DONE = frozenset({21, 26, 29, 36, 41})
"""Where what was never seen, or not wanted any more when it was, is never done: only the end state is the same."""

RAISE = frozenset({12, 17})
"""Whose reconciles raise errors, so that somebody is told."""

BY_NUMBER = {each.number: each for each in CATALOGUE}


@pytest.mark.parametrize("number", CURES)
def test_without_the_bug_the_plan_passes(number: int) -> None:
    scenario = CURES[number]
    right = play(scenario, WITH, way=None)
    assert right.errors == []
    outcome = play(scenario, WITH)
    assert outcome.unfired == []
    if number in NEVER_DONE:
        right = replace(right, created=outcome.created, deleted=outcome.deleted)
    assert outcome.differences(right) == [], "\n".join(outcome.log)


def counted(make: Callable[[], Controller], runs: list[tuple[str, float]]) -> Callable[[], Controller]:
    """Notes the runs of each datastore, and when."""

    def made() -> Controller:
        controller = make()
        run = controller._function
        assert run is not None

        async def noting(ctx: Context, request: Request) -> Result | None:
            runs.append((request.name, loop_seconds()))
            outcome = run(ctx, request)
            assert isawaitable(outcome)
            return await outcome

        controller._function = noting
        return controller

    return made


def _beside_another(scenario: Scenario) -> tuple[Outcome, int]:
    """A second datastore is made two minutes after the first one got stuck. How often that runs in a minute then."""
    another = datastore("two", replicas=1, config="b2xk", volume="10Gi", sharding=False, tls=False)
    runs: list[tuple[str, float]] = []
    last = Wait(60.0)
    steps = (*scenario.workload, Wait(120.0), Make(another), running("two-0"), last)
    outcome = play(replace(scenario, make=counted(scenario.make, runs), workload=steps), WITH)
    began = next(float(line.split()[0]) for line in outcome.log if line.endswith(f"user: {last}"))
    return outcome, len([at for name, at in runs if name == "one" and began <= at < began + 60.0])


@pytest.mark.parametrize("number", CURES)
def test_the_bug_costs_no_other_key_and_no_hot_loop_and_what_is_raised_is_told(number: int) -> None:
    outcome, runs_a_minute = _beside_another(BY_NUMBER[number])
    assert [each for each in outcome.errors if "two" in each] == []
    assert runs_a_minute <= 2
    assert [each.split(":")[0] for each in outcome.told] == (["default/one fails"] if number in RAISE else [])


def test_what_an_operator_cannot_do_is_refused_by_a_rule_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """29: an operator that cannot take members away says so in its definition, and its users are told at once. What is
    wanted stays, and so it is done, whether or not it was seen at first: with the next event at the latest."""
    another = (Change(DATASTORES, "one", {"metadata": {"labels": {"seen": "yes"}}}), Wait(10.0))
    scenario = replace(BY_NUMBER[29], workload=(*BY_NUMBER[29].workload, *another))
    monkeypatch.setattr(stage, "DEFINITION", _no_fewer())
    reference, outcome = play(scenario, WITH, way=None), play(scenario, WITH)
    refused = [each for each in outcome.errors if "spec.replicas" in each and "422" in each]
    assert refused == outcome.errors == reference.errors
    assert len(refused) == 1
    assert outcome.state == reference.state
    assert (PODS, "one-2") in outcome.state


def _no_fewer() -> Object:
    rule = {"rule": "self >= oldSelf", "message": "members cannot be taken away"}
    replicas = {"type": "integer", "x-kubernetes-validations": [rule]}
    spec = {**parts.OPEN, "properties": {"replicas": replicas}}
    [version] = parts.DEFINITION["spec"]["versions"]
    schema = {"openAPIV3Schema": {**parts.OPEN, "properties": {"spec": spec}}}
    return {**parts.DEFINITION, "spec": {**parts.DEFINITION["spec"], "versions": [{**version, "schema": schema}]}}
