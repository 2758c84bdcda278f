"""CustomResourceDefinitions: their validation, their status, and the resources that they define."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.schema import Schema
from shards.objects import Object, Resource


def definition_causes(body: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with a definition."""
    spec = body.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    wanted = f"{names.get('plural', '')}.{spec.get('group', '')}"
    name = body["metadata"].get("name", "")
    if name != wanted:
        message = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        yield Cause("FieldValueInvalid", message, "metadata.name")
    for field, value in (
        ("spec.group", spec.get("group")),
        ("spec.scope", spec.get("scope")),
        ("spec.names.plural", names.get("plural")),
        ("spec.names.kind", names.get("kind")),
    ):
        if not value:
            yield Cause("FieldValueRequired", "Required value", field)
    if spec.get("scope") not in (None, "", "Namespaced", "Cluster"):
        message = f'Unsupported value: "{spec["scope"]}": supported values: "Cluster", "Namespaced"'
        yield Cause("FieldValueNotSupported", message, "spec.scope")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        message = "Invalid value: null: must have exactly one version marked as storage version"
        yield Cause("FieldValueInvalid", message, "spec.versions")
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            field = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield Cause("FieldValueRequired", "Required value: schemas are required", field)


def settle_definition(body: Object, timestamp: str) -> None:
    """Completes names and writes the status of a definition that is served at once, in place."""
    spec = body["spec"]
    names = spec["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})
    condition = {"status": "True", "lastTransitionTime": timestamp}
    body["status"] = {
        "conditions": [
            condition | {"type": "NamesAccepted", "reason": "NoConflicts", "message": "no conflicts found"},
            condition
            | {
                "type": "Established",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": dict(names),
        "storedVersions": [version["name"] for version in spec["versions"] if version.get("storage")],
    }


def defined_types(definition: Mapping[str, Any]) -> Iterator[ResourceType]:
    """One resource per served version."""
    spec = definition["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        subresources = version.get("subresources") or {}
        fields = version.get("selectableFields") or []
        yield ResourceType(
            Resource(spec["group"], version["name"], names["plural"]),
            names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            status="status" in subresources,
            generation=True,
            unconditional_update=False,
            selectable=tuple(field["jsonPath"].lstrip(".") for field in fields),
            schema=Schema(version["schema"]["openAPIV3Schema"]),
        )
