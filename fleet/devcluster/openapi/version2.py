"""OpenAPI v2 made of v3: one document for everything. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.openapi.operations import PREFIX, Document

_DEFINITIONS = "#/definitions/"
_NUMBER_OR_STRING = ("oneOf", "anyOf")


def document(paths: Mapping[str, Document], schemas: Mapping[str, Document]) -> Document:
    """paths, schemas: of OpenAPI v3."""
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
        "paths": {path: _path_item(item) for path, item in paths.items()},
        "definitions": {name: definition(schema) for name, schema in schemas.items()},
    }


def definition(schema: Any) -> Any:
    """A schema without what v2 does not know: defaults, wrapped references, a choice of types."""
    if isinstance(schema, list):
        return [definition(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    wrapped = schema.get("allOf")
    if wrapped and "$ref" in wrapped[0]:
        kept = ("description", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key")
        rest = {name: schema[name] for name in kept if name in schema}
        return {**definition(wrapped[0]), **rest}
    if "$ref" in schema:
        return {"$ref": _DEFINITIONS + schema["$ref"].removeprefix(PREFIX)}
    made = {
        name: _properties(value) if name == "properties" else definition(value)
        for name, value in schema.items()
        if name not in ("default", *_NUMBER_OR_STRING)
    }
    if any(name in schema for name in _NUMBER_OR_STRING) and "x-kubernetes-int-or-string" not in schema:
        made["type"] = "string"
    return made


def _properties(fields: Mapping[str, Any]) -> Document:
    return {name: definition(each) for name, each in fields.items()}


def _path_item(item: Document) -> Document:
    made: Document = {}
    for method, value in item.items():
        if method == "parameters":
            made["parameters"] = [_parameter(each) for each in value]
            continue
        operation = {name: each for name, each in value.items() if name.startswith("x-")}
        parameters = [_parameter(each) for each in value.get("parameters", ())]
        content = value.get("requestBody", {}).get("content", {})
        if content:
            body = definition(next(iter(content.values()))["schema"])
            parameters.insert(0, {"name": "body", "in": "body", "schema": body})
            if method == "patch":
                operation["consumes"] = list(content)
        answer = definition(value["responses"]["200"]["content"]["application/json"]["schema"])
        made[method] = {**operation, "responses": {"200": {"description": "OK", "schema": answer}}}
        if parameters:
            made[method]["parameters"] = parameters
    return made


def _parameter(parameter: Document) -> Document:
    """A path or query parameter; v2 has the type beside the name."""
    made = {name: value for name, value in parameter.items() if name != "schema"}
    return {**made, **parameter["schema"]}
