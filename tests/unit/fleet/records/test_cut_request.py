from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.controls import Controls, ControlsUnreadable, Order, controls_text, parse_controls
from fleet.records.cut_request import CutRequest, parse_request, request_written
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import ranges, texts

LOW, HIGH = ranges_from(equal_boundaries(2), PartitionKey.NAMESPACE)
requests = st.builds(
    CutRequest, st.integers(1, 9), ranges().map(lambda each: (each,)), st.integers(0, 99), texts, texts
)
merges = st.builds(CutRequest, st.integers(1, 9), st.tuples(ranges(), ranges()), st.none(), texts, texts)


@given(requests | merges)
def test_a_request_survives_the_way_through_its_text(request: CutRequest) -> None:
    assert parse_request(request_written(request)) == request
    controls = Controls(frozen=Order("ann"), requests=(request,), other={"x": 1})
    assert parse_controls(controls_text(controls)) == controls


def test_ranges_of_another_key_say_so() -> None:
    written = request_written(CutRequest(1, (LOW, HIGH)))
    assert written["merge"][0] == f"namespace.{LOW.hashes}"


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"number": 0, "split": str(LOW), "at": "0" * 16},
        {"number": 1},
        {"number": 1, "split": "x", "at": "0" * 16},
        {"number": 1, "split": str(LOW), "at": "zz"},
        {"number": 1, "split": str(LOW), "at": "0" * 16, "merge": [str(LOW), str(HIGH)]},
        {"number": 1, "merge": [str(LOW)]},
        "split",
        7,
    ],
)
def test_what_is_no_request_makes_the_controls_unreadable_and_says_which(found: Any) -> None:
    with pytest.raises(ValueError):
        parse_request(found)
    with pytest.raises(ControlsUnreadable, match=r"requests\[0\]: .*; ask for cuts with fleet reshard"):
        parse_controls(json.dumps({"requests": [found]}))


def test_requests_are_a_list() -> None:
    with pytest.raises(ControlsUnreadable, match="requests: write a list"):
        parse_controls('{"requests": {"number": 1}}')


def test_a_range_is_read_as_it_was_written() -> None:
    assert KeyRange.parse(str(LOW)) == LOW
