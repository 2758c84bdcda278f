"""Defaults in a schema: they must be pruned, and valid where they stand. Pure.

After apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go. Defaults of metadata are refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.definitions.structural import invalid
from fleet.devcluster.schemas.checks import Check
from fleet.devcluster.schemas.failures import causes_of
from fleet.devcluster.schemas.shape import Shape

_META_FIELDS = ("metadata", "kind", "apiVersion")


def default_causes(schema: Mapping[str, Any], path: str, *, embedded: bool = True) -> Iterator[Cause]:
    """What is wrong with the defaults of a schema and of those below it. Not below `additionalProperties`."""
    default = schema.get("default")
    if default is not None:
        yield from _causes(schema, default, f"{path}.default")
    if isinstance(schema.get("items"), Mapping):
        yield from default_causes(schema["items"], f"{path}.items", embedded=False)
    embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, inner in (schema.get("properties") or {}).items():
        if not (embedded and name in _META_FIELDS):
            yield from default_causes(inner, f"{path}.properties[{name}]", embedded=False)


def _causes(schema: Mapping[str, Any], default: Any, field: str) -> Iterator[Cause]:
    pruned = msgspec.json.decode(msgspec.json.encode(default))
    Shape(schema).prune(pruned, "", [])
    if pruned != default:
        yield invalid(field, default, "must not have unknown fields")
    yield from causes_of(Check(schema).failures(default), field)
