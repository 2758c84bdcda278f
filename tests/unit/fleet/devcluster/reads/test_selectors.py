from __future__ import annotations

import pytest

from fleet.devcluster.reads.labelselector import SelectorError, parse_labels
from fleet.devcluster.reads.selectors import FieldTerm, Filter, field_value, parse_fields
from fleet.devcluster.storage.storage import Stored
from shards.objects import Meta


def stored(name: str, namespace: str = "default", **labels: str) -> Stored:
    raw = b'{"status":{"phase":"Running"}}'
    return Stored(f"{namespace}/{name}", 2, raw, Meta(name=name, namespace=namespace, labels=labels))


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


def test_a_backslash_makes_signs_of_the_grammar_part_of_a_value() -> None:
    assert parse_fields(r"a=b\,c\=d\\") == (FieldTerm("a", "b,c=d\\"),)


@pytest.mark.parametrize(
    ("selector", "why"), [("a=b=c", "unescaped character in value: 61"), (r"a=\x", r"sequence: \x")]
)
def test_a_malformed_value_of_a_field_is_refused_in_the_servers_words(selector: str, why: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_fields(selector)
    assert str(refused.value).endswith(why)


def test_truth_reads_in_lower_case_and_some_fields_read_as_false_where_they_are_absent() -> None:
    assert field_value({"spec": {"loud": True}}, "spec.loud") == "true"
    assert field_value({"spec": {}}, "spec.hostNetwork") == "false"


def test_the_source_of_an_event_is_its_component() -> None:
    assert field_value({"source": {"component": "kubelet"}}, "source") == "kubelet"
    assert field_value({"reportingComponent": "other"}, "source") == "other"


def test_every_part_of_a_filter_must_admit_an_object() -> None:
    fields = parse_fields("status.phase=Running,metadata.name!=b")
    wanted = Filter("default", parse_labels("app=x"), fields)
    assert wanted.admits(stored("a", app="x"))
    assert not wanted.admits(stored("b", app="x"))
    assert not wanted.admits(stored("a", app="y"))
    assert not wanted.admits(stored("a", "other", app="x"))


def test_a_filter_of_everything_needs_no_test() -> None:
    assert Filter().test() is None
    within = Filter("default").test()
    assert within is not None
    assert [within(stored("a")), within(stored("a", "other"))] == [True, False]


def test_a_term_of_nothing_holds_always() -> None:
    assert parse_fields("=") == parse_fields("!=") == parse_fields("==") == ()
    assert parse_fields("=,a=b") == (FieldTerm("a", "b"),)
    assert parse_fields("=a") == (FieldTerm("", "a"),)
