"""What the server knows of the shape of a value: one node of a resource's type, from OpenAPI or from a CRD's schema.

Patches, apply and field validation walk a body and its structure side by side. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

_REFERENCE = "$ref"
_PREFIX = "#/components/schemas/"
_LIST_TYPE = "x-kubernetes-list-type"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_MAP_TYPE = "x-kubernetes-map-type"
_MAP_KEYS = "x-kubernetes-list-map-keys"
_MERGE_KEY = "x-kubernetes-patch-merge-key"
_STRATEGY = "x-kubernetes-patch-strategy"
_SCALARS = ("string", "integer", "number", "boolean")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The schema with its reference followed. OpenAPI v3 wraps a reference that has siblings into `allOf`."""
    inner = schema
    wrapped = schema.get("allOf")
    if wrapped and len(wrapped) == 1 and _REFERENCE in wrapped[0]:
        inner = wrapped[0]
    if _REFERENCE not in inner:
        return schema
    target = schemas[inner[_REFERENCE].removeprefix(_PREFIX)]
    siblings = {name: value for name, value in schema.items() if name not in (_REFERENCE, "allOf")}
    return {**_resolved(target, schemas), **siblings} if siblings else _resolved(target, schemas)


Reading = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Structure:
    """One node. schema: its OpenAPI v3 schema. schemas: what `$ref` points into; empty for CRDs.

    Nodes are made when they are first asked for, and kept: types refer to themselves.
    """

    def __init__(
        self, schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], read: Reading | None = None
    ) -> None:
        """read: makes an object of this type of one of another version, for comparisons."""
        self.schemas: Final = schemas
        self.schema: Final = _resolved(schema, schemas)
        self.read: Final = read

    def reading(self, read: Reading) -> Structure:
        """The same type for objects of another version."""
        return Structure(self.schema, self.schemas, read)

    @cached_property
    def type(self) -> str:
        """object, array, string, integer, number, boolean; "" where anything goes."""
        found: str = self.schema.get("type", "")
        return found or ("object" if "properties" in self.schema else "")

    @cached_property
    def properties(self) -> Mapping[str, Structure]:
        """The named fields of an object."""
        return {name: Structure(each, self.schemas) for name, each in self.schema.get("properties", {}).items()}

    @cached_property
    def additional(self) -> Structure | None:
        """The values of a map; None where only named fields exist."""
        extra = self.schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            return Structure(extra, self.schemas)
        return ANYTHING if extra is True else None

    @cached_property
    def items(self) -> Structure:
        found = self.schema.get("items")
        return ANYTHING if found is None else Structure(found, self.schemas)

    @cached_property
    def list_type(self) -> str:
        """atomic, set or map: how apply merges an array."""
        found: str = self.schema.get(_LIST_TYPE, "atomic")
        return found

    @cached_property
    def map_keys(self) -> tuple[str, ...]:
        """Of a list of type map: the fields that identify an item."""
        return tuple(self.schema.get(_MAP_KEYS, ()))

    @cached_property
    def atomic(self) -> bool:
        """An object that is owned and replaced as a whole."""
        return bool(self.schema.get(_MAP_TYPE) == "atomic") or self.schema is self.schemas.get(_RAW_EXTENSION)

    @cached_property
    def merge_key(self) -> str:
        """Of an array that a strategic merge patch merges: the field that identifies an item; "" for plain values."""
        found: str = self.schema.get(_MERGE_KEY, "")
        return found

    @cached_property
    def strategies(self) -> frozenset[str]:
        """Of a strategic merge patch: merge, replace, retainKeys."""
        return frozenset(filter(None, self.schema.get(_STRATEGY, "").split(",")))

    @cached_property
    def preserves_unknown(self) -> bool:
        return bool(self.schema.get(_PRESERVE))

    @cached_property
    def of_scalars(self) -> bool:
        """A map of nothing but texts, numbers and truth values."""
        extra = self.additional
        return not self.properties and extra is not None and extra.type in _SCALARS

    @cached_property
    def zeros(self) -> Mapping[str, Any]:
        """Built-in types only: what the server shows for fields that are not set. {} a struct, null a list or a map,
        "" or 0 a scalar. Fields that are left out instead are not in it.
        """
        if not self.schemas:
            return {}
        required = self.schema.get("required", ())
        found: dict[str, Any] = {}
        for name, each in self.properties.items():
            default = each.schema.get("default", ...)
            if default is not ... and not default:
                found[name] = default
            elif default is ... and name in required:
                found[name] = None
        return found

    def field(self, name: str) -> Structure | None:
        """The structure under a name: a field or a map's value. None: no such field."""
        found = self.properties.get(name)
        if found is None:
            found = self.additional
        if found is None and (self.preserves_unknown or not self.schema):
            return ANYTHING
        return found


ANYTHING: Final = Structure({}, {})
"""A value of which nothing is known: merged as maps, and atomic lists."""
