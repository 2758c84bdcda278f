from __future__ import annotations

from typing import Any

import pytest

from chaos.documents.tolerance import parse_tolerance
from shards.errors import ConfigError


@pytest.mark.parametrize(
    ("tolerance", "met", "missed"),
    [
        (0, [0, 0.0], [1, False, None, "0"]),
        (True, [True], [False, 1, "true"]),
        ("owned", ["owned"], ["disowned", None]),
        ([0, 2], [0, 1.5, 2], [2.01, -1, True, None, "1", float("nan")]),
        ([1, 2, 3], [1, 3], [1.5, True, None]),
        (["a", "b"], ["a"], ["ab", ["a"]]),
        ({"type": "range", "range": [0, 2]}, [0, 2.0], [2.5, None]),
        ({"type": "regex", "pattern": "^all"}, ["all owned"], ["not all", 3, None]),
    ],
)
def test_an_answer_is_within_its_tolerance_or_not(tolerance: Any, met: list[Any], missed: list[Any]) -> None:
    parsed = parse_tolerance(tolerance, "tolerance")

    assert [answer for answer in met if not parsed.met(answer)] == []
    assert [answer for answer in missed if parsed.met(answer)] == []


@pytest.mark.parametrize(
    ("tolerance", "sentence"),
    [
        (None, r"^t: nothing is no tolerance; write a value, \[lowest, highest\]"),
        ([], r"^t: \[\] holds no alternatives"),
        ([2, 0], "^t: 2 is above 0, so that no answer would do; write the lower number first"),
        ({"range": [0, 1]}, "^t.type: this field is required; write range or regex"),
        ({"type": "rnage"}, "^t.type: 'rnage' is not allowed; did you mean range"),
        ({"type": "jsonpath", "path": "$"}, "^t.type: jsonpath is not supported yet; use range or regex"),
        ({"type": "probe", "name": "x"}, "^t.type: probe is not supported yet"),
        ({"type": "range"}, r"^t.range: this field is required; write \[lowest, highest\]"),
        ({"type": "range", "range": [0]}, r"^t.range: \[0\] is not a pair of numbers"),
        ({"type": "range", "range": [0, True]}, "^t.range: .* is not a pair of numbers"),
        ({"type": "range", "range": [0, 1], "target": "x"}, "^t.target: not supported yet; let the probe"),
        ({"type": "regex", "pattern": "("}, r"^t.pattern: '\(' is no regular expression"),
    ],
)
def test_a_tolerance_that_could_not_be_judged_is_refused(tolerance: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_tolerance(tolerance, "t")


def test_a_tolerance_says_what_the_answer_must_be() -> None:
    tolerances = [0, [0, 2], ["a", "b"], {"type": "regex", "pattern": "x"}]

    assert [str(parse_tolerance(each, "")) for each in tolerances] == [
        "0",
        "from 0 to 2",
        "'a' or 'b'",
        "text that matches 'x'",
    ]
