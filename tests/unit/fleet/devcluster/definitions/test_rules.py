from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from fleet.devcluster.definitions.rules import rule_causes, rule_warnings, rules_of
from fleet.devcluster.definitions.schema import Schema

RULED: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}},
}


def test_nothing_is_loaded_for_schemas_without_rules() -> None:
    program = (
        "import sys, fleet.devcluster.server\n"
        "from fleet.devcluster.definitions.schema import Schema\n"
        "assert Schema({'type': 'object'}).causes({}) == []\n"
        "assert not {'cel_expr_python', 'google.protobuf'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_schema_judges_by_its_rules_when_nothing_else_is_wrong() -> None:
    schema = Schema(RULED)
    assert [each.field for each in schema.causes({"spec": 1})] == ["spec"]
    assert schema.causes({"spec": 2}) == []
    assert [each.reason for each in schema.causes({"spec": "x"})] == ["FieldValueTypeInvalid", "FieldValueInvalid"]


def test_an_unchanged_fault_is_only_warned_of() -> None:
    schema, body = Schema(RULED), {"spec": 1}
    assert schema.causes(body, body) == []
    assert list(schema.forgiven(body, body)) == ["spec: Invalid value: 1: failed rule: self > 1"]


def test_without_the_library_rules_are_accepted_and_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fleet.devcluster.celrules.tree", None)
    monkeypatch.setitem(sys.modules, "fleet.devcluster.celrules.definitions", None)
    monkeypatch.delattr("fleet.devcluster.celrules.definitions", raising=False)
    assert rules_of(RULED) is None
    assert list(rule_causes(RULED, "schema")) == []
    (warning,) = rule_warnings(RULED, "schema")
    assert "cel-expr-python is not installed" in warning
