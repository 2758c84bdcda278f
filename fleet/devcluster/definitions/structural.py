"""Whether a schema is structural: what the server must know of every field before it can prune and default. Pure.

After apiextensions-apiserver pkg/apiserver/schema: validation.go, complete.go and convert.go. A schema is the plain
JSON of a definition, without its empty fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.patterns import PatternError, compiled
from fleet.devcluster.schemas.values import shown

Schema = Mapping[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_INT_OR_STRING_PARTS = [{"type": "integer"}, {"type": "string"}]
_EMPTY_LEVELS = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED_FORBIDDEN = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")


def required(field: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def invalid(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def unsupported(field: str, value: str, allowed: Sequence[str]) -> Cause:
    names = ", ".join(f'"{each}"' for each in allowed)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {names}", field)


def conversion_fault(schema: Any) -> str:
    """Why a schema cannot even be read as a structural one; "" when it can."""
    if not isinstance(schema, Mapping):
        return ""
    for name in _UNSUPPORTED:
        if name in schema:
            return f"OpenAPIV3Schema '{name.removeprefix('$') if name == '$schema' else name}' is not supported"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    logic = [each for name in ("allOf", "anyOf", "oneOf") for each in schema.get(name) or ()]
    parts = [
        schema.get("not"),
        *logic,
        schema.get("items"),
        schema.get("additionalProperties"),
        *(schema.get("properties") or {}).values(),
    ]
    return next(filter(None, (conversion_fault(each) for each in parts)), "")


def structural_causes(schema: Schema, path: str) -> list[Cause]:
    """What keeps a schema from being structural, in order of the texts."""
    found = [*_invariants(schema, "root", path), *_incomplete(schema, schema, path, path)]
    return sorted(found, key=Cause.text)


def _invariants(schema: Schema, level: str, path: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    items, extra = schema.get("items"), schema.get("additionalProperties")
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _invariants(items, "item", f"{path}.items")
    for name, inner in properties.items():
        yield from _invariants(inner, "field", f"{path}.properties[{name}]")
    if extra is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(extra, Mapping):
            yield from _invariants(extra, "field", f"{path}.additionalProperties")
    if schema.get(_INT_OR_STRING):
        for name in (_PRESERVE, _EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", True, f"must be false if {_INT_OR_STRING} is true")
    yield from _values(schema, path, skip_any=_is_int_or_string(schema), skip_all=_has_int_or_string(schema))
    yield from _type_causes(schema, level, path)
    if level == "root" or schema.get(_EMBEDDED):
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type") != "string":
                field = f"{path}.properties[{name}].type"
                yield invalid(field, properties[name].get("type", ""), "must be string")
    if "metadata" in properties:
        yield from _metadata_causes(properties["metadata"], schema, level, f"{path}.properties[metadata]")
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        why = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield required(f"{path}.properties", why)


def _type_causes(schema: Schema, level: str, path: str) -> Iterator[Cause]:
    kind, field = schema.get("type", ""), f"{path}.type"
    embedded = schema.get(_EMBEDDED)
    if embedded and kind != "object":
        why = f"must be object if {_EMBEDDED} is true"
        yield invalid(field, kind, why) if kind else required(field, why)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield required(field, _EMPTY_LEVELS[level])
    if embedded and schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBEDDED} is set")
    if level == "root" and kind and kind != "object":
        yield invalid(field, kind, "must be object at the root")


def _metadata_causes(metadata: Schema, parent: Schema, level: str, path: str) -> Iterator[Cause]:
    if (level == "root" or parent.get(_EMBEDDED)) and metadata.get("type") != "object":
        yield invalid(f"{path}.type", metadata.get("type", ""), "must be object")
    if level != "root":
        return
    names = set(metadata.get("properties") or {})
    rest = {name for name in metadata if name not in ("type", "default", "properties")}
    if rest or names - {"name", "generateName"}:
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path, why)


def _is_int_or_string(schema: Schema) -> bool:
    return bool(schema.get("anyOf") == _INT_OR_STRING_PARTS)


def _has_int_or_string(schema: Schema) -> bool:
    parts: Sequence[Schema] = schema.get("allOf") or ()
    return bool(parts) and _is_int_or_string(parts[0])


def _values(schema: Schema, path: str, *, skip_any: bool, skip_all: bool) -> Iterator[Cause]:
    """Of the rules on values: nothing in them may say what only the structure may say."""
    if not skip_any:
        for index, each in enumerate(schema.get("anyOf") or ()):
            yield from _nested(each, f"{path}.anyOf[{index}]")
    for index, each in enumerate(schema.get("allOf") or ()):
        yield from _nested(each, f"{path}.allOf[{index}]", skip_any=skip_all and index == 0)
    for index, each in enumerate(schema.get("oneOf") or ()):
        yield from _nested(each, f"{path}.oneOf[{index}]")
    if "not" in schema:
        yield from _nested(schema["not"], f"{path}.not")
    if schema.get("pattern"):
        try:
            compiled(schema["pattern"])
        except PatternError as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", schema["pattern"], why)


def _nested(schema: Schema, path: str, *, skip_any: bool = False) -> Iterator[Cause]:
    yield from _values(schema, path, skip_any=skip_any, skip_all=False)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{path}.items")
    for name, inner in (schema.get("properties") or {}).items():
        yield from _nested(inner, f"{path}.properties[{name}]")
    for name, why in _NESTED_FORBIDDEN:
        if schema.get(name) not in (None, False, "", [], {}) or (name == "default" and schema.get(name) is not None):
            yield forbidden(f"{path}.{name}", why)
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete(rules: Schema, structure: Any, structure_path: str, path: str) -> Iterator[Cause]:
    """Fields that only rules on values name."""
    if "not" in rules:
        yield from _incomplete_nested(rules["not"], structure, structure_path, f"{path}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(rules.get(name) or ()):
            yield from _incomplete_nested(each, structure, structure_path, f"{path}.{name}[{index}]")


def _incomplete_nested(rules: Schema, structure: Any, structure_path: str, path: str) -> Iterator[Cause]:
    if not isinstance(structure, Mapping):
        yield required(structure_path, f"because it is defined in {path}")
        return
    yield from _incomplete(rules, structure, structure_path, path)
    if isinstance(rules.get("items"), Mapping):
        inner = structure.get("items")
        yield from _incomplete_nested(rules["items"], inner, f"{structure_path}.items", f"{path}.items")
    known = structure.get("properties") or {}
    for name, each in (rules.get("properties") or {}).items():
        here, there = f"{structure_path}.properties[{name}]", f"{path}.properties[{name}]"
        if name in known:
            yield from _incomplete_nested(each, known[name], here, there)
        else:
            yield required(here, f"because it is defined in {there}")
