from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.definitions.schema import Schema

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["domain"],
    "properties": {
        "domain": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "size": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        "tier": {"type": "string", "enum": ["free", "paid"]},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "extra": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
    },
}
SCHEMA = Schema({"type": "object", "required": ["spec"], "properties": {"spec": SPEC}})


def with_spec(**spec: Any) -> dict[str, Any]:
    return {"kind": "A", "metadata": {"name": "a"}, "spec": {"domain": "abc", **spec}}


def test_unknown_fields_are_pruned_and_defaults_filled_in() -> None:
    body = with_spec(unknown=1, free={"kept": {"deep": 1}}, extra={"kept": "x"}) | {"other": 1}
    SCHEMA.complete(body)
    assert body == with_spec(free={"kept": {"deep": 1}}, extra={"kept": "x"}, size=2)


def test_a_null_takes_the_default_unless_it_is_allowed() -> None:
    body = with_spec(size=None, maybe=None)
    SCHEMA.complete(body)
    assert body["spec"]["size"] == 2
    assert body["spec"]["maybe"] is None


@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    [
        ({"domain": "a"}, "FieldValueInvalid", "spec.domain"),
        ({"domain": "abcdefg"}, "FieldValueTooLong", "spec.domain"),
        ({"domain": "A-B"}, "FieldValueInvalid", "spec.domain"),
        ({"domain": 1}, "FieldValueTypeInvalid", "spec.domain"),
        ({"size": 0}, "FieldValueInvalid", "spec.size"),
        ({"size": 4}, "FieldValueInvalid", "spec.size"),
        ({"size": True}, "FieldValueTypeInvalid", "spec.size"),
        ({"ratio": 0.0}, "FieldValueInvalid", "spec.ratio"),
        ({"ratio": 0.7}, "FieldValueInvalid", "spec.ratio"),
        ({"tier": "gold"}, "FieldValueNotSupported", "spec.tier"),
        ({"tags": []}, "FieldValueInvalid", "spec.tags"),
        ({"tags": ["a", "b", "c"]}, "FieldValueTooMany", "spec.tags"),
        ({"tags": [1]}, "FieldValueTypeInvalid", "spec.tags[0]"),
        ({"extra": {"a": 1}}, "FieldValueTypeInvalid", "spec.extra.a"),
        ({"extra": {"a": "1", "b": "2"}}, "FieldValueTooMany", "spec.extra"),
        ({"port": []}, "FieldValueTypeInvalid", "spec.port"),
    ],
)
def test_a_wrong_value_names_its_field(spec: dict[str, Any], reason: str, field: str) -> None:
    assert [(cause.reason, cause.field) for cause in SCHEMA.causes(with_spec(**spec))] == [(reason, field)]


@pytest.mark.parametrize("spec", [{}, {"size": 2.0}, {"port": "http"}, {"port": 80}, {"maybe": None}, {"ratio": 1.5}])
def test_a_right_value_is_accepted(spec: dict[str, Any]) -> None:
    assert SCHEMA.causes(with_spec(**spec)) == []


def test_a_missing_field_is_named() -> None:
    assert [cause.text() for cause in SCHEMA.causes({"metadata": {}})] == ["spec: Required value"]
    assert [cause.text() for cause in SCHEMA.causes({"spec": {}})] == ["spec.domain: Required value"]
