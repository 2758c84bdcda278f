from __future__ import annotations

import pytest

from fleet.devcluster.selectors import SelectorError, field_value, parse_fields, parse_labels


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
    ],
)
def test_a_label_selector_selects(selector: str, labels: dict[str, str], selected: bool) -> None:
    assert selects(selector, **labels) is selected


@pytest.mark.parametrize("selector", ["=x", "app,", "app in x", "app in (x", "app=x y", "-a", "app=-x", "tier>z"])
def test_a_malformed_label_selector_is_refused(selector: str) -> None:
    with pytest.raises(SelectorError):
        parse_labels(selector)


def test_field_selectors_are_terms_that_may_be_negated() -> None:
    terms = parse_fields("metadata.name=a,status.phase!=Running,type==x")
    assert [(term.path, term.value, term.negated) for term in terms] == [
        ("metadata.name", "a", False),
        ("status.phase", "Running", True),
        ("type", "x", False),
    ]


def test_a_field_selector_without_a_sign_is_refused() -> None:
    with pytest.raises(SelectorError, match="can't understand"):
        parse_fields("metadata.name")


def test_an_absent_field_counts_as_empty_text() -> None:
    assert field_value({"status": {"phase": "x"}}, "status.phase") == "x"
    assert field_value({"status": 3}, "status.phase.deep") == ""
