from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.definitions.openapi import openapi_causes
from fleet.devcluster.definitions.structural import structural_causes


def of_spec(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_structural_schema_has_no_faults() -> None:
    port = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    schema = of_spec(a={"type": "string", "anyOf": [{"pattern": "a"}]}, port=port)
    assert structural_causes(schema, "s") == []
    assert list(openapi_causes(schema, "s")) == []


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({}, "s.properties[a].type"),
        ({"type": "array"}, "s.properties[a].items"),
        ({"type": "string", "pattern": "(?=x)"}, "s.properties[a].pattern"),
        ({"type": "string", "not": {"type": "string"}}, "s.properties[a].not.type"),
    ],
)
def test_what_is_not_structural_names_its_field(schema: dict[str, Any], field: str) -> None:
    assert [cause.field for cause in structural_causes(of_spec(a=schema), "s")] == [field]


def test_a_field_that_only_a_rule_names_is_missing_from_the_structure() -> None:
    schema = of_spec() | {"anyOf": [{"properties": {"b": {"minimum": 1}}}]}
    assert [cause.field for cause in structural_causes(schema, "s")] == ["s.properties[b]"]


def test_a_list_of_type_map_needs_keys_that_are_always_there() -> None:
    items = {"type": "object", "properties": {"k": {"type": "string"}}}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items}
    assert [cause.field for cause in openapi_causes(of_spec(a=listed), "s")] == [
        "s.properties[a].items.properties[k].default"
    ]
