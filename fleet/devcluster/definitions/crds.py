"""CustomResourceDefinitions: their defaults, and the resources that they define. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final

from fleet.devcluster.definitions.rules import rule_warnings
from fleet.devcluster.definitions.schema import Schema
from fleet.devcluster.kinds.catalogue import schemas
from fleet.devcluster.kinds.custom import custom_subresources, storage_version_hash
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.kinds.scale import ScalePaths
from fleet.devcluster.kinds.structure import Structure
from fleet.devcluster.schemas.formats import supported
from fleet.devcluster.versions.conversion import Pruning
from shards.objects import Object, Resource

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that holds a definition until its objects are gone."""
_OBJECT_META = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_TEXT = {"type": "string"}
_KEPT_EMPTY = frozenset(("additionalProperties", "default", "example", "items", "not", "status", "subresources"))
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)
_VALUES = frozenset(("default", "enum", "example"))
_SCHEMA_MAPS = frozenset(("properties", "patternProperties", "definitions"))


def complete_definition(body: Object) -> None:
    """Fills in names and the conversion, and drops what the server does not keep of empty fields, in place."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.setdefault("names", {})
    names.setdefault("plural", "")
    names.setdefault("kind", "")
    for name in [name for name, value in names.items() if not value and name not in ("plural", "kind")]:
        del names[name]
    if names["kind"]:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})
    if not spec.get("preserveUnknownFields"):
        spec.pop("preserveUnknownFields", None)
    for version in spec.get("versions") or ():
        _complete_version(version)


def _complete_version(version: Object) -> None:
    for name in ("served", "storage"):
        version.setdefault(name, False)
    for name in ("deprecated", "additionalPrinterColumns", "selectableFields"):
        if not version.get(name):
            version.pop(name, None)
    for column in version.get("additionalPrinterColumns") or ():
        for name in [name for name, value in column.items() if value in ("", 0)]:
            if name not in ("name", "type", "jsonPath"):
                del column[name]
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if isinstance(schema, dict):
        _tidy(schema)


def _tidy(schema: Object) -> None:
    """Drops empty fields of a schema, as Go's omitempty does."""
    for name, value in list(schema.items()):
        if name in _VALUES or name == "x-kubernetes-preserve-unknown-fields":
            if value is None:
                del schema[name]
        elif name in _SCHEMA_MAPS:
            for inner in (value or {}).values():
                _tidy(inner)
            if not value:
                del schema[name]
        elif isinstance(value, dict):
            _tidy(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict) and name != "x-kubernetes-validations":
            for inner in value:
                _tidy(inner)
        elif (value in ("", [], None) or value is False) and name not in _KEPT_EMPTY:
            del schema[name]


def first_status(body: Object) -> Object:
    """Of a definition that has just been created: nothing is accepted yet."""
    versions = (body.get("spec") or {}).get("versions") or ()
    stored = [each["name"] for each in versions if each.get("storage") and each.get("name")][:1]
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored or None}


def store_version(body: Object) -> None:
    """Adds the storage version to those that objects may be stored in, in place."""
    status = body.setdefault("status", {})
    for version in body["spec"].get("versions") or ():
        if version.get("storage") and version["name"] not in (status.get("storedVersions") or ()):
            status["storedVersions"] = [*(status.get("storedVersions") or ()), version["name"]]


def set_condition(body: Object, condition: str, status: str, reason: str, message: str, timestamp: str) -> None:
    """Adds or replaces a condition, in place; its time moves with its status only."""
    found = body["status"].get("conditions") or []
    made = {"type": condition, "status": status, "lastTransitionTime": timestamp, "reason": reason, "message": message}
    for index, each in enumerate(found):
        if each["type"] == condition:
            if each["status"] == status:
                made["lastTransitionTime"] = each["lastTransitionTime"]
            found[index] = made
            break
    else:
        found.append(made)
    body["status"]["conditions"] = found


def mark_definition_deleted(body: Object, timestamp: str) -> None:
    """What a first DELETE makes of a definition, in place: its objects go first."""
    metadata = body["metadata"]
    metadata["deletionTimestamp"] = timestamp
    metadata["finalizers"] = [*metadata.get("finalizers", ()), CLEANUP]
    why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    set_condition(body, "Terminating", "True", "InstanceDeletionPending", why, timestamp)


def defined_types(definition: Mapping[str, Any]) -> Iterator[ResourceType]:
    """One resource per version, whether it is served or not; the stored one comes first."""
    versions = sorted(definition["spec"]["versions"], key=lambda each: not each.get("storage"))
    stored = versions[0]["name"]
    for version in versions:
        yield _defined_type(definition, version, stored)


def served_versions(definition: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(each["name"] for each in definition["spec"]["versions"] if each.get("served"))


def _defined_type(definition: Mapping[str, Any], version: Mapping[str, Any], stored: str) -> ResourceType:
    spec = definition["spec"]
    names, subresources = spec["names"], version.get("subresources") or {}
    root = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    schema, resource = Schema(root), Resource(spec["group"], version["name"], names["plural"])
    scale = subresources.get("scale")
    return ResourceType(
        resource,
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        status="status" in subresources,
        generation=True,
        unconditional_update=False,
        subresources=tuple(custom_subresources(names["kind"], subresources)),
        list_kind=names.get("listKind", ""),
        storage_version_hash=storage_version_hash(spec["group"], stored, names["kind"]),
        selectable=tuple(each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()),
        schema=schema,
        structure=structure_of(root),
        scale=ScalePaths.declared(scale) if scale is not None else None,
        deprecation=_deprecation(spec, version),
        terminating="deletionTimestamp" in definition["metadata"],
        conversion=None if version["name"] == stored else Pruning(resource.api_version, schema.read),
    )


def _deprecation(spec: Mapping[str, Any], version: Mapping[str, Any]) -> str:
    """The warning of a version; "" for one that is not deprecated. It names the best version that is not."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        text: str = version["deprecationWarning"]
        return text
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    better = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
    better = [each for each in better if _priority(each) > _priority(name)]
    advice = f"; use {group}/{max(better, key=_priority)} {kind}" if better else ""
    return f"{group}/{name} {kind} is deprecated{advice}"


def _priority(version: str) -> tuple[int, int, int, str]:
    """The order of versions: v2, v1, v2beta1, v1alpha2, and then names of another form backwards."""
    found = _VERSION.fullmatch(version)
    if not found:
        return 0, 0, 0, "".join(chr(0x10FFFF - ord(each)) for each in version)
    return {None: 3, "beta": 2, "alpha": 1}[found[2]], int(found[1]), int(found[3] or 0), ""


class _Whole(Structure):
    """Of a whole custom resource: the structure of its schema, and around it what every object has."""

    @cached_property
    def properties(self) -> Mapping[str, Structure]:
        common = {"apiVersion": Structure(_TEXT, {}), "kind": Structure(_TEXT, {}), "metadata": _metadata()}
        own = self.schema.get("properties") or {}
        return {name: Structure(each, {}) for name, each in own.items()} | common


@cache
def _metadata() -> Structure:
    return Structure(_OBJECT_META, schemas())


def definition_warnings(body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> Iterator[str]:
    """What the server says of formats that it does not know, of sets of objects, and of rules that stay unevaluated.

    old: had them already.
    """
    known = set(definition_warnings(old)) if old is not None else set()
    found: list[str] = []
    sets: set[str] = set()
    for index, version in enumerate(body["spec"].get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        _look(schema, found, sets)
        found += rule_warnings(schema or {}, f"spec.versions[{index}].schema.openAPIV3Schema")
    yield from (each for each in [*found, *sorted(sets)] if each not in known)


def _look(schema: Any, formats: list[str], sets: set[str]) -> None:
    if not isinstance(schema, Mapping):
        return
    name = schema.get("format", "")
    if name and not supported(schema.get("type", ""), name):
        formats.append(f'unrecognized format "{name}"')
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") == "set" and isinstance(items, Mapping):
        kind = items.get("type")
        if kind in ("object", "array"):
            why = "is not supported by server-side apply or CEL validation rules"
            sets.add(f'x-kubernetes-list-type: set for items of type "{kind}" {why}')
    logic = [each for name in ("allOf", "anyOf", "oneOf") for each in schema.get(name) or ()]
    parts = [items, *logic, schema.get("not"), *(schema.get("properties") or {}).values()]
    for each in [*parts, schema.get("additionalProperties")]:
        _look(each, formats, sets)


def structure_of(root: Mapping[str, Any]) -> Structure:
    """Of a whole custom resource: its schema, with the metadata of every object."""
    return _Whole(root, {})
