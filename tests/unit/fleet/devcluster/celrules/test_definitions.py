from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.celrules.definitions import rule_causes, unevaluated

PATH = "schema"
PARTS = {"a": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}, "s": {"type": "string"}}


def with_rule(rule: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": PARTS, "x-kubernetes-validations": [{"rule": rule, **more}]}


def fields(schema: dict[str, Any]) -> list[str]:
    return [each.field.removeprefix(f"{PATH}.x-kubernetes-validations[0].") for each in rule_causes(schema, PATH)]


@pytest.mark.parametrize(
    "rule", ["self.a >", "self.zz > 1", "has(self.zz)", "self.a", "self.a == 'x'", "nothing(self.a)", "self.l == null"]
)
def test_a_rule_that_does_not_compile_is_refused(rule: str) -> None:
    assert fields(with_rule(rule)) == ["rule"]


def test_the_expression_of_a_message_has_to_make_a_text() -> None:
    assert fields(with_rule("self.a > 1", messageExpression="self.a")) == ["messageExpression"]


def test_an_optional_old_value_has_to_be_used() -> None:
    assert fields(with_rule("self.a > 1", optionalOldSelf=True)) == ["optionalOldSelf"]
    assert fields(with_rule("self.a > oldSelf.?a.orValue(1)", optionalOldSelf=True)) == []


def test_items_without_keys_have_no_old_value() -> None:
    items = {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": items}}}
    (found,) = rule_causes(schema, PATH)
    assert found.message.endswith("on the uncorrelatable portion of the schema within schema.properties[l]")


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        ("quantity(self.s).isLessThan(quantity('1Gi'))", "quantity"),
        ("self.l.indexOf('a') == 0", "indexOf"),
        ("self.l.all(i, v, v != '')", "all with two variables"),
        ("sets.contains(self.l, ['a'])", "sets"),
    ],
)
def test_a_rule_that_only_the_real_server_knows_is_accepted_and_named(rule: str, missing: str) -> None:
    schema = with_rule(rule)
    assert fields(schema) == []
    assert list(unevaluated(schema, PATH)) == [(f"{PATH}.x-kubernetes-validations[0].rule", missing)]
