"""What is wrong with the content of a definition's versions: schema, scale, columns and selectable fields. Pure.

After apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.definitions.defaultrules import default_causes
from fleet.devcluster.definitions.internal import go_name, schema_text
from fleet.devcluster.definitions.openapi import openapi_causes
from fleet.devcluster.definitions.structural import conversion_fault, forbidden, invalid, required, structural_causes
from fleet.devcluster.schemas.values import json_text

Spec = Mapping[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_ROOT_FIELDS = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_MAX_SELECTABLE = 8


def content_causes(
    content: Mapping[str, Any], path: str, *, status: bool, places: Mapping[str, str]
) -> Iterator[Cause]:
    """Of the schema, subresources, columns and selectable fields of one version, or of all."""
    schema = (content.get("schema") or {}).get("openAPIV3Schema")
    if schema:
        yield from _schema_causes(schema, f"{path}.{places.get('schema', 'schema')}.openAPIV3Schema", status=status)
    scale = (content.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_causes(scale, f"{path}.subresources.scale")
    for index, column in enumerate(content.get("additionalPrinterColumns") or ()):
        yield from _column_causes(column, f"{path}.additionalPrinterColumns[{index}]")
    fields = content.get("selectableFields") or ()
    if fields:
        yield from _selectable_causes(fields, schema, f"{path}.selectableFields")


def _schema_causes(schema: Spec, path: str, *, status: bool) -> Iterator[Cause]:
    found: list[Cause] = []
    if status:
        found += _root_causes(schema, path)
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    unreadable = conversion_fault(schema)
    if not unreadable:
        structural = structural_causes(schema, path)
        found += structural or list(default_causes(schema, path))
    found += openapi_causes(schema, path)
    if not found and unreadable:
        found.append(invalid(path, "", unreadable))
    yield from found


def _root_causes(schema: Spec, path: str) -> Iterator[Cause]:
    for name in schema:
        if name == "type":
            if schema["type"] != "object":
                why = (
                    'only "object" is allowed as the type at the root of the schema if the status subresource is '
                    "enabled"
                )
                yield invalid(f"{path}.type", schema["type"], why)
                return
        elif go_name(name) not in _ROOT_FIELDS:
            allowed = " ".join(_ROOT_FIELDS)
            why = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            yield Cause("FieldValueInvalid", f"Invalid value: {schema_text(schema)}: {why}", path)
            return


def _path_causes(text: str, field: str) -> list[Cause]:
    return [] if text.startswith(".") else [invalid(field, text, "must be a simple json path starting with .")]


def _scale_causes(scale: Spec, path: str) -> Iterator[Cause]:
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text = scale.get(name, "")
        if not text:
            yield required(f"{path}.{name}")
        elif not text.startswith("."):
            yield from _path_causes(text, f"{path}.{name}")
        elif not text.startswith(root):
            yield invalid(f"{path}.{name}", text, f"should be a json path under {root.rstrip('.')}")
    selector = scale.get("labelSelectorPath", "")
    if selector and not selector.startswith("."):
        yield from _path_causes(selector, f"{path}.labelSelectorPath")
    elif selector and not selector.startswith((".spec.", ".status.")):
        yield invalid(f"{path}.labelSelectorPath", selector, "should be a json path under either .spec or .status")


def _column_causes(column: Spec, path: str) -> Iterator[Cause]:
    kind, shape, source = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    if not column.get("name"):
        yield required(f"{path}.name")
    allowed = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", allowed)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, allowed)
    if shape and shape not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", shape, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not source:
        yield required(f"{path}.JSONPath")
    else:
        yield from _path_causes(source, f"{path}.JSONPath")


def _selectable_causes(fields: Sequence[Spec], schema: Any, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, each in enumerate(fields):
        here, text = f"{path}[{index}].jsonPath", each.get("jsonPath", "")
        if not text:
            yield required(here)
            continue
        target = _field_at(schema, text)
        if target is None:
            yield invalid(here, text, "is an invalid path: does not refer to a valid field")
            continue
        if text.startswith(".metadata"):
            yield invalid(here, text, "must not point to fields in metadata")
        if target.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats"
            )
            yield invalid(here, text, f"{why} are allowed.")
        if text in seen:
            yield Cause("FieldValueDuplicate", f"Duplicate value: {json_text(text)}", here)
        seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        message = f"Too many: {len(seen)}: must have at most {_MAX_SELECTABLE} items"
        yield Cause("FieldValueTooMany", message, path)


def _field_at(schema: Any, text: str) -> Mapping[str, Any] | None:
    found: Any = schema
    for name in text.lstrip(".").split("."):
        found = (found.get("properties") or {}).get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None
