from __future__ import annotations

import pytest

from fleet.devcluster.reads.labelselector import SelectorError, parse_labels


def selects(selector: str, **labels: str) -> bool:
    return all(test(labels) for test in parse_labels(selector))


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ("", {}, True),
        ("app", {"app": ""}, True),
        ("app", {}, False),
        ("!app", {}, True),
        ("!app", {"app": "x"}, False),
        ("app=x", {"app": "x"}, True),
        ("app==x", {"app": "y"}, False),
        ("app!=x", {}, True),
        ("app!=x", {"app": "x"}, False),
        ("app in (x, y)", {"app": "y"}, True),
        ("app in (x, y)", {}, False),
        ("app notin (x, y)", {}, True),
        ("app notin (x, y)", {"app": "x"}, False),
        ("app in (x),tier", {"app": "x"}, False),
        ("app in (x),tier", {"app": "x", "tier": "1"}, True),
        ("app in ()", {"app": ""}, True),
        ("app=", {"app": ""}, True),
        ("tier>1", {"tier": "2"}, True),
        ("tier>1", {"tier": "x"}, False),
        ("tier<1", {"tier": "2"}, False),
        ("example.com/app=x", {"example.com/app": "x"}, True),
        ("app in (x,)", {"app": ""}, True),
        ("app notin (x),tier", {"tier": ""}, True),
        ("in in (in,notin)", {"in": "notin"}, True),
    ],
)
def test_a_label_selector_selects(selector: str, labels: dict[str, str], selected: bool) -> None:
    assert selects(selector, **labels) is selected


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("app,", "found '', expected: identifier after ','"),
        ("app,,b", "found ',', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("app in x", "unable to parse requirement: found 'x' expected: '('"),
        ("app in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("app=x y", "found 'y', expected: ',' or 'end of string'"),
        ("app=>1", "unable to parse requirement: found '>', expected: identifier"),
        ("app like x", "unable to parse requirement: found 'like', expected: in, notin, =, ==, !=, gt, lt"),
        ("/app", 'unable to parse requirement: <nil>: Invalid value: "/app": prefix part must be non-empty'),
        ("n" * 64, "name part must be no more than 63 bytes"),
        ("app=-x", 'unable to parse requirement: values[0][app]: Invalid value: "-x": a valid label must be'),
        ("app in (x,y$)", 'unable to parse requirement: values[1][app]: Invalid value: "y$": a valid label'),
        ("tier>z", "values[0]: Invalid value: \"z\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ],
)
def test_a_malformed_label_selector_is_refused_in_the_servers_words(selector: str, why: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_labels(selector)
    assert why in str(refused.value)
