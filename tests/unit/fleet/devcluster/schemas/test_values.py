"""JSON values as Go compares them."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.schemas.checks import Check
from fleet.devcluster.schemas.values import same


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, 1), ({"a": 1, "b": [None]}, {"b": [None], "a": 1}), (True, True), (1.5, 1.5), (None, None)],
)
def test_equal_values_are_the_same(left: Any, right: Any) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (0, False), (1, 1.0), ({"a": [1]}, {"a": [True]}), ([], {}), (0, None)]
)
def test_a_number_is_no_truth_value_and_no_other_kind_of_number(left: Any, right: Any) -> None:
    assert not same(left, right)


def test_a_fault_may_stay_but_not_come_as_something_that_python_calls_equal() -> None:
    check = Check({"type": "object", "properties": {"size": {"type": "integer", "minimum": 2}}})
    assert check.failures({"size": 1}, "", {"size": 1}) == []
    (failure,) = check.failures({"size": True}, "", {"size": 1})
    assert "must be of type integer" in failure.text
