"""Parts of a definition as messages print them: the JSON of the server's internal Go types. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet.devcluster.schemas.values import json_text

_ZEROS: Mapping[str, str] = {
    "id": '""',
    "$schema": '""',
    "$ref": "null",
    "description": '""',
    "type": '""',
    "nullable": "false",
    "format": '""',
    "title": '""',
    "default": "null",
    "maximum": "null",
    "exclusiveMaximum": "false",
    "minimum": "null",
    "exclusiveMinimum": "false",
    "maxLength": "null",
    "minLength": "null",
    "pattern": '""',
    "maxItems": "null",
    "minItems": "null",
    "uniqueItems": "false",
    "multipleOf": "null",
    "enum": "null",
    "maxProperties": "null",
    "minProperties": "null",
    "required": "null",
    "items": "null",
    "allOf": "null",
    "oneOf": "null",
    "anyOf": "null",
    "not": "null",
    "properties": "null",
    "additionalProperties": "null",
    "patternProperties": "null",
    "dependencies": "null",
    "additionalItems": "null",
    "definitions": "null",
    "externalDocs": "null",
    "example": "null",
    "x-kubernetes-preserve-unknown-fields": "null",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "null",
    "x-kubernetes-list-type": "null",
    "x-kubernetes-map-type": "null",
    "x-kubernetes-validations": "null",
}
"""The fields of a schema in Go's order, each as an empty one is printed."""
_VERSION_FIELDS = (
    ("name", '""'),
    ("served", "false"),
    ("storage", "false"),
    ("deprecated", "false"),
    ("deprecationWarning", "null"),
    ("schema", "null"),
    ("subresources", "null"),
    ("additionalPrinterColumns", "null"),
    ("selectableFields", "null"),
)


def go_name(name: str) -> str:
    """The Go field of a JSON field: XListType of x-kubernetes-list-type."""
    if name.startswith("x-kubernetes-"):
        words = name.removeprefix("x-kubernetes-").split("-")
        return "X" + "".join(word.capitalize() for word in words)
    return {"id": "ID", "$schema": "Schema", "$ref": "Ref"}.get(name) or name[:1].upper() + name[1:]


def schema_text(schema: Mapping[str, Any]) -> str:
    """A JSONSchemaProps."""
    parts = [f'"{go_name(name)}":{_field_text(name, schema.get(name)) or zero}' for name, zero in _ZEROS.items()]
    return "{" + ",".join(parts) + "}"


def _field_text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in ("allOf", "oneOf", "anyOf"):
        return "[" + ",".join(schema_text(each) for each in value) + "]"
    if name == "not":
        return schema_text(value)
    if name == "properties":
        return "{" + ",".join(f"{json_text(key)}:{schema_text(value[key])}" for key in sorted(value)) + "}"
    if name == "items":
        return f'{{"Schema":{schema_text(value)},"JSONSchemas":null}}' if isinstance(value, Mapping) else "null"
    if name == "additionalProperties":
        inner = schema_text(value) if isinstance(value, Mapping) else "null"
        return f'{{"Allows":{"false" if value is False else "true"},"Schema":{inner}}}'
    return json_text(value)


def versions_text(versions: Sequence[Mapping[str, Any]] | None, hoisted: frozenset[str]) -> str:
    """The versions of a definition. hoisted: fields that are equal in all of them, which the server keeps elsewhere."""
    if versions is None:
        return "null"
    return "[" + ",".join(_version_text(each, hoisted) for each in versions) + "]"


def _version_text(version: Mapping[str, Any], hoisted: frozenset[str]) -> str:
    parts = []
    for name, zero in _VERSION_FIELDS:
        value = None if name in hoisted else version.get(name)
        if name == "schema" and value is not None:
            inner = value.get("openAPIV3Schema")
            text = f'{{"OpenAPIV3Schema":{"null" if inner is None else schema_text(inner)}}}'
        else:
            text = zero if value is None else _renamed(value)
        parts.append(f'"{go_name(name)}":{text}')
    return "{" + ",".join(parts) + "}"


def _renamed(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f'"{go_name(name)}":{_renamed(item)}' for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_renamed(each) for each in value) + "]"
    return json_text(value)
