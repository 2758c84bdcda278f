"""What a definition's schema may say at all: forbidden fields, list and map types, keys, rules. Pure.

After apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go. Rules in CEL are looked at from the
outside only: celrules compiles them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.definitions.structural import forbidden, invalid, required, unsupported
from fleet.devcluster.schemas.fieldpaths import field_place

Schema = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = ("metadata", "kind", "apiVersion")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LIST_TYPE, _MAP_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_LINE_BREAK = re.compile(r"[\n\r]")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True, slots=True)
class _Place:
    """no_defaults: why defaults are forbidden here; "" where they are not. in_meta: inside of an object's metadata."""

    no_defaults: str = ""
    in_meta: bool = False


def openapi_causes(schema: Schema, path: str, place: _Place | None = None, *, root: bool = True) -> Iterator[Cause]:
    """What is wrong with a schema and those below it."""
    place = place or _Place()
    yield from _standard(schema, path, place)
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    yield from _below(schema, path, place, root=root)
    preserve = "x-kubernetes-preserve-unknown-fields"
    if schema.get(preserve) is False:
        yield invalid(f"{path}.{preserve}", False, "must be true or undefined")
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    if schema.get(_LIST_TYPE) == "map":
        yield from _list_map(schema, path)
    if schema.get(_LIST_TYPE) in ("map", "set") and isinstance(schema.get("items"), Mapping):
        yield from _items_of_set(schema, path)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule(rule, schema, f"{path}.x-kubernetes-validations[{index}]")


def _standard(schema: Schema, path: str, place: _Place) -> Iterator[Cause]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and place.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {place.no_defaults}")
    for name in _NOT_SUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")


def _below(schema: Schema, path: str, place: _Place, *, root: bool) -> Iterator[Cause]:
    extra, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if extra is not None and properties and extra is not True:
        yield forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if isinstance(extra, Mapping):
        why = "inside additionalProperties applying to object metadata"
        inner = replace(place, no_defaults=why) if place.in_meta else place
        yield from openapi_causes(extra, f"{path}.additionalProperties", inner, root=False)
    for name, each in properties.items():
        inner = place
        if name in _META_FIELDS and (root or schema.get("x-kubernetes-embedded-resource")):
            inner = replace(inner, in_meta=True)
            if root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        yield from openapi_causes(each, f"{path}.properties[{name}]", inner, root=False)
    if isinstance(schema.get("not"), Mapping):
        yield from openapi_causes(schema["not"], f"{path}.not", place, root=False)
    for name in ("allOf", "oneOf", "anyOf"):
        for index, each in enumerate(schema.get(name) or ()):
            yield from openapi_causes(each, f"{path}.{name}[{index}]", place, root=False)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from openapi_causes(items, f"{path}.items", place, root=False)
    elif isinstance(items, list):
        for index, each in enumerate(items):
            yield from openapi_causes(each, f"{path}.items[{index}]", place, root=False)


def _wants(schema: Schema, path: str, kind: str, what: str) -> Iterator[Cause]:
    given, why = schema.get("type", ""), f"must be {kind} if {what} is specified"
    if given != kind:
        yield invalid(f"{path}.type", given, why) if given else required(f"{path}.type", why)


def _map_type(schema: Schema, path: str) -> Iterator[Cause]:
    if _MAP_TYPE not in schema:
        return
    yield from _wants(schema, path, "object", _MAP_TYPE)
    if schema[_MAP_TYPE] not in ("atomic", "granular"):
        yield unsupported(f"{path}.{_MAP_TYPE}", schema[_MAP_TYPE], ("atomic", "granular"))


def _list_type(schema: Schema, path: str) -> Iterator[Cause]:
    declared, items = schema.get(_LIST_TYPE), schema.get("items")
    if declared is not None:
        if schema.get("type") != "array":
            yield from _wants(schema, path, "array", _LIST_TYPE)
        elif declared == "set" and isinstance(items, Mapping):
            why = "must be atomic as item of a list with x-kubernetes-list-type=set"
            if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
                yield invalid(f"{path}.items.{_LIST_TYPE}", items[_LIST_TYPE], why)
            if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
                yield invalid(f"{path}.items.{_MAP_TYPE}", items.get(_LIST_TYPE), why)
        if declared not in ("atomic", "set", "map"):
            yield unsupported(f"{path}.{_LIST_TYPE}", declared, ("atomic", "set", "map"))
    if schema.get(_KEYS):
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        if declared is None:
            yield required(f"{path}.{_LIST_TYPE}", why)
        elif declared != "map":
            yield invalid(f"{path}.{_LIST_TYPE}", declared, why)


def _list_map(schema: Schema, path: str) -> Iterator[Cause]:
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        yield required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        return
    kind = items.get("type", "")
    if kind != "object":
        yield invalid(f"{path}.items.type", kind, "must be object if parent array's x-kubernetes-list-type is map")
        return
    seen: set[str] = set()
    properties = items.get("properties") or {}
    for key in keys:
        if key not in properties:
            yield invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", kind, why)
        if key in seen:
            yield invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")
        seen.add(key)


def _items_of_set(schema: Schema, path: str) -> Iterator[Cause]:
    declared, items = schema[_LIST_TYPE], schema["items"]
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {declared}")
    if declared != "map":
        return
    properties = items.get("properties") or {}
    for key in schema.get(_KEYS) or ():
        if key not in properties:
            continue
        here, what = f"{path}.items.properties[{key}]", f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            yield required(f"{here}.default", f"{what} must have a default or be a required property")
        if properties[key].get("nullable"):
            yield forbidden(f"{here}.nullable", f"{what} cannot be nullable")


def _rule(rule: Mapping[str, Any], schema: Schema, path: str) -> Iterator[Cause]:
    text, message, expression = (rule.get(name, "") for name in ("rule", "message", "messageExpression"))
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield unsupported(f"{path}.reason", rule["reason"], _REASONS)
    place = rule.get("fieldPath", "")
    for wrong, why in (
        (place and not place.strip(), "must be non-empty if specified"),
        ("\n" in place, "must not contain line breaks"),
        (place and field_place(place, schema) is None, "must be a valid path"),
    ):
        if wrong:
            yield invalid(f"{path}.fieldPath", place, why)
