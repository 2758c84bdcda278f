"""Structural schemas of custom resources: pruning, defaults and validation.

The part of OpenAPI v3 that a CRD commonly uses: type, properties, additionalProperties, items, required, enum, the
bounds, pattern, default, nullable, x-kubernetes-int-or-string and x-kubernetes-preserve-unknown-fields. Messages are
those of the real server.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fleet.devcluster.causes import Cause

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_ROOT_FIELDS = ("apiVersion", "kind", "metadata")


class Schema:
    """One `openAPIV3Schema`."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root

    def complete(self, body: dict[str, Any]) -> None:
        """Prunes unknown fields, then fills in defaults, both in place."""
        kept = {name: body[name] for name in _ROOT_FIELDS if name in body}
        rest = {name: value for name, value in body.items() if name not in kept}
        _prune(rest, self.root)
        _default(rest, self.root)
        body.clear()
        body.update(kept)
        body.update(rest)

    def status_causes(self, body: Mapping[str, Any]) -> list[Cause]:
        """What is wrong with the status. The server words these relative to the status."""
        schema = self.root.get("properties", {}).get("status", {})
        found = _check(body.get("status", {}), schema, "")
        return [cause._replace(field=_child("status", cause.field)) for cause in found]

    def causes(self, body: Mapping[str, Any]) -> list[Cause]:
        """What is wrong with the object; empty when it is valid."""
        rest = {name: value for name, value in body.items() if name not in _ROOT_FIELDS}
        root = {**self.root, "required": [n for n in self.root.get("required", ()) if n not in _ROOT_FIELDS]}
        return list(_check(rest, root, ""))


def _property(schema: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found = schema.get("properties", {}).get(name)
    if found is not None:
        return found  # type: ignore[no-any-return]
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        return extra
    return {_PRESERVE: True} if extra is True else None


def _prune(value: Any, schema: Mapping[str, Any]) -> None:
    if isinstance(value, dict):
        for name in list(value):
            inner = _property(schema, name)
            if inner is not None:
                _prune(value[name], inner)
            elif not schema.get(_PRESERVE):
                del value[name]
    elif isinstance(value, list):
        for item in value:
            _prune(item, schema.get("items", {_PRESERVE: True}))


def _default(value: Any, schema: Mapping[str, Any]) -> None:
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if "default" in inner and (name not in value or (value[name] is None and not inner.get("nullable"))):
                value[name] = copy.deepcopy(inner["default"])
        for name, item in value.items():
            inner = _property(schema, name)
            if inner is not None:
                _default(item, inner)
    elif isinstance(value, list):
        for item in value:
            _default(item, schema.get("items", {}))


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _show(value: Any) -> str:
    """A value as Go's field errors print it."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return '"null"'
    if isinstance(value, dict):
        return '"object"'
    return str(value)


def _of_type(value: Any, wanted: str) -> bool:
    actual = _type_name(value)
    return (
        actual == wanted
        or (wanted == "number" and actual == "integer")
        or (wanted == "integer" and isinstance(value, float) and value.is_integer())
    )


def _invalid(path: str, value: Any, why: str) -> Cause:
    shown = f"Invalid value: {_show(value)}: {path} in body {why}" if why else f"Invalid value: {_show(value)}"
    return Cause("FieldValueInvalid", shown, path)


def _check(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    wanted = schema.get("type")
    if schema.get(_INT_OR_STRING):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield _type_cause(path, value, "integer,string")
        return
    if wanted and not _of_type(value, wanted):
        yield _type_cause(path, value, wanted)
        if wanted == "integer" and isinstance(value, float):
            message = f'Invalid value: "": Checked value must be of type integer (default format) in {path}'
            yield Cause("FieldValueInvalid", message, "<nil>")
        return
    if schema.get("enum") and value not in schema["enum"]:
        allowed = ", ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in schema["enum"])
        yield Cause("FieldValueNotSupported", f"Unsupported value: {_show(value)}: supported values: {allowed}", path)
    if isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        yield from _check_array(value, schema, path)
    elif isinstance(value, str):
        yield from _check_string(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)


def _type_cause(path: str, value: Any, wanted: str) -> Cause:
    actual = _type_name(value)
    shown = f'"{actual}"'
    message = f"Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"
    return Cause("FieldValueTypeInvalid", message, path)


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    for name, item in value.items():
        inner = _property(schema, name)
        if inner is not None:
            yield from _check(item, inner, _child(path, name))
    for name in schema.get("required", ()):
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", _child(path, name))
    count = len(value)
    if count > schema.get("maxProperties", count):
        yield Cause("FieldValueTooMany", f"Too many: {count}: must have at most {schema['maxProperties']} items", path)


def _check_array(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    most = schema.get("maxItems", len(value))
    if len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    if len(value) < schema.get("minItems", 0):
        yield _invalid(path, len(value), f"should have at least {schema['minItems']} items")
    for index, item in enumerate(value):
        yield from _check(item, schema.get("items", {}), f"{path}[{index}]")


def _check_string(value: str, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if len(value) > schema.get("maxLength", len(value)):
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {schema['maxLength']} bytes", path)
    if len(value) < schema.get("minLength", 0):
        yield _invalid(path, value, f"should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield _invalid(path, value, f"should match '{schema['pattern']}'")


def _check_number(value: float, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    if lowest is not None and (value < lowest or (schema.get("exclusiveMinimum") and value == lowest)):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield _invalid(path, value, f"should be {than} {lowest}")
    if highest is not None and (value > highest or (schema.get("exclusiveMaximum") and value == highest)):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield _invalid(path, value, f"should be {than} {highest}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield _invalid(path, value, f"should be a multiple of {step}")
