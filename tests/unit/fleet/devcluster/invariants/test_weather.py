"""Faults are in force from their injection to their release, or to the end that they name."""

from __future__ import annotations

import pytest

from fleet.devcluster.invariants.weather import Weather, kind_of
from fleet.devcluster.recording.journal import FAULT, FAULT_END, LOST, Entry


def told(*lines: tuple[float, str, str]) -> Weather:
    """Lines of an injector: time, verb, fault."""
    made = Weather()
    for seq, (time, verb, fault) in enumerate(lines):
        made.hears(Entry(seq, time, verb, "", note=fault))
    return made


def test_without_faults_there_was_none() -> None:
    assert told().last(10.0) == float("-inf")


def test_a_fault_is_in_force_until_it_is_released() -> None:
    assert told((1.0, FAULT, "x")).last(10.0) == 10.0
    assert told((1.0, FAULT, "x"), (4.0, FAULT_END, "x")).last(10.0) == 4.0


def test_of_two_alike_one_may_last() -> None:
    assert told((1.0, FAULT, "x"), (1.0, FAULT, "x"), (4.0, FAULT_END, "x")).last(10.0) == 10.0


def test_one_that_ends_by_itself_needs_no_release() -> None:
    weather = told((1.0, FAULT, '{"fault":"silence","until_seconds":5.0}'))
    assert (weather.last(3.0), weather.last(10.0)) == (3.0, 6.0)


def test_a_strike_counts_too() -> None:
    assert told((1.0, FAULT, "x"), (2.0, FAULT_END, "x"), (7.0, LOST, "x")).last(10.0) == 7.0


@pytest.mark.parametrize(
    ("resource", "kind"), [("v1/configmaps", "/configmaps"), ("apps/v1/deployments", "apps/deployments"), ("", "/")]
)
def test_a_kind_is_the_same_in_all_its_versions(resource: str, kind: str) -> None:
    assert kind_of(resource) == kind
