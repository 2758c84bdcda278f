from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.causes import Cause
from fleet.devcluster.celrules.tree import rule_tree

INTEGER: dict[str, Any] = {"type": "integer"}
STRING: dict[str, Any] = {"type": "string"}


def ruled(schema: dict[str, Any], *rules: str, **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": each, **more} for each in rules]}


def of_spec(properties: dict[str, Any], *rules: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"spec": ruled({"type": "object", "properties": properties}, *rules, **more)},
    }


def causes(schema: dict[str, Any], spec: Any, old: Any = None) -> list[Cause]:
    before = None if old is None else {"spec": old}
    return rule_tree(schema).findings({"spec": spec}, before).causes


def test_a_rule_that_holds_says_nothing_and_one_that_fails_names_itself() -> None:
    schema = of_spec({"low": INTEGER, "high": INTEGER}, "self.low <= self.high")
    assert causes(schema, {"low": 1, "high": 2}) == []
    found = causes(schema, {"low": 3, "high": 2})
    assert found == [Cause("FieldValueInvalid", "Invalid value: failed rule: self.low <= self.high", "spec")]


@pytest.mark.parametrize(
    ("rule", "spec", "message"),
    [
        ("10 / self.n > 1", {"n": 0}, "division by zero"),
        ("self.l[2] == 1", {"l": [1]}, "index out of bounds: 2"),
        ("self.m['q'] == 'a'", {"m": {}}, "no such key: q"),
        ("int(self.s) == 1", {"s": "x"}, "type conversion error from 'string' to 'int'"),
        (
            "duration(self.s) > duration('1s')",
            {"s": "x"},
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("self.l.max() > 1", {"l": []}, "max called on empty list"),
        ("9223372036854775807 + self.n > 1", {"n": 1}, "integer overflow"),
        ("self.s.matches(self.s)", {"s": "["}, "error parsing regexp: missing closing ]: `[`"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_says_why_in_the_words_of_the_real_server(
    rule: str, spec: dict[str, Any], message: str
) -> None:
    parts = {"n": INTEGER, "s": STRING}
    parts["l"] = {"type": "array", "items": INTEGER}
    parts["m"] = {"type": "object", "additionalProperties": STRING}
    text = f'Invalid value: "object": {message} evaluating rule: {rule}'
    assert causes(of_spec(parts, rule), spec) == [Cause("FieldValueInvalid", text, "spec")]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.l.isSorted()", {"l": [1, 2]}, {"l": [2, 1]}),
        ("self.l.sum() == 3", {"l": [1, 2]}, {"l": []}),
        ("self.l.min() == 1", {"l": [2, 1]}, {"l": [2]}),
        ("self.s.find('[0-9]+') == '42'", {"s": "a42b"}, {"s": "ab"}),
        ("self.s.findAll('[0-9]') == ['4', '2']", {"s": "a4b2"}, {"s": "ab"}),
        ("self.wait > duration('1m')", {"wait": "1h30m"}, {"wait": "30s"}),
        ("self.time.getFullYear() == 2026", {"time": "2026-01-01T00:00:00Z"}, {"time": "2025-01-01T00:00:00Z"}),
        ("self.raw == b'abc'", {"raw": "YWJj"}, {"raw": "YWJk"}),
        ("self.ratio + 0.5 == 1.5", {"ratio": 1}, {"ratio": 2}),
        ("self.n < 1.5", {"n": 1}, {"n": 2}),
        ("self.?s.orValue('none') == 'none'", {}, {"s": "x"}),
        ("type(self.port) == int ? self.port > 10 : self.port == 'http'", {"port": "http"}, {"port": 9}),
        (
            "self.with__dash__dash == 1 && self.__namespace__ == 'a'",
            {"with-dash": 1, "namespace": "a"},
            {"with-dash": 2},
        ),
        ("self.l.map(i, i > 1, i * 2).exists_one(i, i == 4)", {"l": [1, 2]}, {"l": [2, 2]}),
    ],
)
def test_rules_know_the_functions_and_types_of_kubernetes(rule: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
    parts = {
        "l": {"type": "array", "items": INTEGER},
        "s": STRING,
        "n": INTEGER,
        "wait": {"type": "string", "format": "duration"},
        "time": {"type": "string", "format": "date-time"},
        "raw": {"type": "string", "format": "byte"},
        "ratio": {"type": "number"},
        "port": {"x-kubernetes-int-or-string": True},
        "with-dash": INTEGER,
        "namespace": STRING,
    }
    schema = of_spec(parts, rule)
    assert causes(schema, good) == []
    assert causes(schema, bad)


def test_the_words_the_reason_and_the_place_of_a_failure_can_be_chosen() -> None:
    parts = {"a": INTEGER, "b": STRING}
    spec = {"a": 1, "b": "x"}
    told = causes(of_spec(parts, "self.a != 1", message=" no ", reason="FieldValueForbidden", fieldPath=".b"), spec)
    assert told == [Cause("FieldValueForbidden", "Forbidden: no", "spec.b")]
    worded = causes(of_spec(parts, "self.a != 1", messageExpression="'b is ' + self.b"), spec)
    assert worded == [Cause("FieldValueInvalid", "Invalid value: b is x", "spec")]


def test_a_message_expression_that_fails_leaves_the_plain_message() -> None:
    parts = {"a": INTEGER, "l": {"type": "array", "items": STRING}}
    found = causes(of_spec(parts, "self.a != 1", message="plain", messageExpression="self.l[0]"), {"a": 1, "l": []})
    assert found == [Cause("FieldValueInvalid", "Invalid value: plain", "spec")]


def test_rules_of_items_and_of_values_of_maps_name_their_place() -> None:
    odd = ruled(INTEGER, "self % 2 == 1")
    schema = of_spec({"l": {"type": "array", "items": odd}, "m": {"type": "object", "additionalProperties": odd}})
    found = causes(schema, {"l": [1, 2], "m": {"x": 4}})
    text = "failed rule: self % 2 == 1"
    assert found == [
        Cause("FieldValueInvalid", f"Invalid value: 2: {text}", "spec.l[1]"),
        Cause("FieldValueInvalid", f"Invalid value: 4: {text}", "spec.m[x]"),
    ]


def test_a_rule_on_the_old_value_waits_for_one() -> None:
    schema = of_spec({"n": INTEGER}, "self.n >= oldSelf.n")
    assert causes(schema, {"n": 1}) == []
    assert causes(schema, {"n": 2}, {"n": 1}) == []
    assert causes(schema, {"n": 1}, {"n": 2})


def test_a_rule_with_an_optional_old_value_runs_without_one() -> None:
    schema = of_spec({"n": INTEGER}, "oldSelf.hasValue() || self.n < 5", optionalOldSelf=True)
    assert causes(schema, {"n": 9})
    assert causes(schema, {"n": 9}, {"n": 1}) == []


def test_items_of_a_list_with_keys_have_old_values() -> None:
    item = ruled({"type": "object", "properties": {"k": STRING, "v": INTEGER}}, "self.v >= oldSelf.v")
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item}
    schema = of_spec({"l": listed})
    old = {"l": [{"k": "a", "v": 2}, {"k": "b", "v": 2}]}
    assert causes(schema, {"l": [{"k": "b", "v": 2}, {"k": "c", "v": 0}]}, old) == []
    found = causes(schema, {"l": [{"k": "c", "v": 0}, {"k": "a", "v": 1}]}, old)
    assert [each.field for each in found] == ["spec.l[1]"]


def test_what_an_update_leaves_alone_is_forgiven() -> None:
    schema = of_spec({"a": ruled(STRING, "self.size() < 3"), "b": STRING})
    tree = rule_tree(schema)
    kept = tree.findings({"spec": {"a": "long", "b": "y"}}, {"spec": {"a": "long", "b": "x"}})
    assert kept.causes == []
    assert [each.field for each in kept.forgiven] == ["spec.a"]
    assert tree.findings({"spec": {"a": "longer"}}, {"spec": {"a": "long"}}).causes
