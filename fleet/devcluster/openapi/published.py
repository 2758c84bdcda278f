"""The schema of a custom resource as the server publishes it: a CRD's schema with the fields of every object. Pure.

As apiextensions-apiserver, pkg/controller/openapi (builder and v2/conversion).
"""

from __future__ import annotations

from typing import Any

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.openapi.operations import PREFIX, Document

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION: Document = {
    "description": "APIVersion defines the versioned schema of this representation of an object. Servers should "
    "convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
    f"{_CONVENTIONS}#resources",
    "type": "string",
}
_KIND: Document = {
    "description": "Kind is a string value representing the REST resource this object represents. Servers may infer "
    "this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    f"{_CONVENTIONS}#types-kinds",
    "type": "string",
}
_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")


def published_name(kind: ResourceType) -> str:
    """ "com.example.v1.Website" for the group example.com."""
    reversed_group = ".".join(reversed(kind.resource.group.split(".")))
    return f"{reversed_group}.{kind.resource.version}.{kind.kind}"


def published(kind: ResourceType) -> dict[str, Document]:
    """Schemas of the object and of its list, by name. A kind whose schema is unknown accepts anything."""
    name, raw = published_name(kind), dict(kind.structure.schema)
    schema: Document = _completed(raw) if raw else {"type": "object", _PRESERVE: True}
    schema["type"] = "object"
    metadata = {"description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"}
    own = {"apiVersion": _API_VERSION, "kind": _KIND, "metadata": metadata | _reference("ObjectMeta")}
    properties: Document = schema.get("properties", {})
    schema["properties"] = {**properties, **own}
    schema[_GROUP_VERSION_KIND] = [_group_version_kind(kind, kind.kind)]
    items = {
        "description": f"List of {kind.resource.plural}. More info: {_CONVENTIONS}",
        "type": "array",
        "items": {"$ref": PREFIX + name},
    }
    metadata = {"description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"}
    listing = {
        "description": f"{kind.kind}List is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": _API_VERSION,
            "items": items,
            "kind": _KIND,
            "metadata": metadata | _reference("ListMeta"),
        },
        _GROUP_VERSION_KIND: [_group_version_kind(kind, kind.list_kind or f"{kind.kind}List")],
    }
    return {name: schema, f"{name}List": listing}


def published_v2(schema: Document) -> Document:
    """The same for OpenAPI v2, which kubectl understands less of: what it would refuse wrongly is left out."""
    if schema.get(_PRESERVE):
        return {"type": "object", _GROUP_VERSION_KIND: schema[_GROUP_VERSION_KIND]}
    return _lenient(schema)


def _reference(name: str) -> Document:
    return {"allOf": [{"$ref": f"{PREFIX}{_META}{name}"}]}


def _group_version_kind(kind: ResourceType, name: str) -> Document:
    return {"group": kind.resource.group, "version": kind.resource.version, "kind": name}


def _completed(schema: Any) -> Document:
    """A copy in which a number or a string says so in the words of OpenAPI."""
    made: Document = dict(schema)
    if "properties" in made:
        made["properties"] = {name: _completed(each) for name, each in made["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _completed(made[name])
    if made.get(_INT_OR_STRING) and "anyOf" not in made:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


def _lenient(schema: Document) -> Document:
    made = {name: value for name, value in schema.items() if name not in (*_JUNCTORS, "nullable")}
    if "allOf" in schema and "$ref" in schema["allOf"][0]:
        return dict(schema)
    if schema.get("nullable") or schema.get(_PRESERVE):
        for name in ("items", "properties"):
            made.pop(name, None)
    if schema.get("nullable") or (made.get("type") == "array" and "items" not in made) or schema.get(_PRESERVE):
        made.pop("type", None)
    properties = made.get("properties", {})
    if properties:
        made["properties"] = {name: _lenient(each) for name, each in properties.items()}
        required = [each for each in made.pop("required", ()) if not properties.get(each, {}).get("nullable")]
        if required:
            made["required"] = required
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _lenient(made[name])
    return made
