"""The paths of a resource with their operations, in the form of OpenAPI v3. Pure.

Left out: prose, operation ids, watch paths, and media types other than JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

PREFIX = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_LIST_QUERY = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch"),
)
_DELETE_QUERY = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents"),
    "propagationPolicy",
)
_WRITE_QUERY = ("dryRun", "fieldManager", "fieldValidation")
_BOOLEAN = (
    *("allowWatchBookmarks", "sendInitialEvents", "watch", "orphanDependents", "force"),
    "ignoreStoreReadErrorWithClusterBreakingPotential",
)
_INTEGER = ("limit", "timeoutSeconds", "gracePeriodSeconds")
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_DELETE_COLLECTION_QUERY = (
    *(name for name in _LIST_QUERY if name not in ("allowWatchBookmarks", "watch")),
    *_DELETE_QUERY,
)


@dataclass(frozen=True, slots=True)
class Below:
    """A subresource. schema: the name of its schema. own_kind: group, version and kind that its operations name."""

    name: str
    schema: str
    own_kind: tuple[str, str, str]
    verbs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Served:
    """What the paths of a resource are made of. schema, list_schema: names of schemas."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    custom: bool
    verbs: Sequence[str]
    schema: str
    list_schema: str
    below: Sequence[Below] = ()

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def own_kind(self) -> tuple[str, str, str]:
        return self.group, self.version, self.kind


def paths_of(served: Served) -> Iterator[tuple[str, Document]]:
    """Every path of a resource, its subresources included."""
    within = f"{served.root}/namespaces/{{namespace}}" if served.namespaced else served.root
    collection, one = f"{within}/{served.plural}", f"{within}/{served.plural}/{{name}}"
    outer = [_path_parameter("namespace")] if served.namespaced else []
    if served.namespaced and "list" in served.verbs:
        listing = {"get": _operation("list", served, served.list_schema)}
        yield f"{served.root}/{served.plural}", {**listing, "parameters": _query((*_LIST_QUERY, "pretty"))}
    operations = _collection_operations(served)
    if operations:
        yield collection, {**operations, "parameters": [*outer, *_query(("pretty",))]}
    named = [_path_parameter("name"), *outer, *_query(("pretty",))]
    operations = _object_operations(served)
    if operations:
        yield one, {**operations, "parameters": named}
    for each in served.below:
        operations = _below_operations(served, each)
        yield f"{one}/{each.name}", {**operations, "parameters": named}


def _collection_operations(served: Served) -> Document:
    found: Document = {}
    if "list" in served.verbs:
        found["get"] = _operation("list", served, served.list_schema, query=_LIST_QUERY)
    if "create" in served.verbs:
        found["post"] = _operation("post", served, served.schema, query=_WRITE_QUERY, body=served.schema)
    if "deletecollection" in served.verbs:
        query = _DELETE_COLLECTION_QUERY if not served.custom else _LIST_QUERY
        body = "" if served.custom else _META + "DeleteOptions"
        found["delete"] = _operation("deletecollection", served, _META + "Status", query=sorted(query), body=body)
    return found


def _object_operations(served: Served) -> Document:
    found: Document = {}
    if "get" in served.verbs:
        query = ("resourceVersion",) if served.custom else ()
        found["get"] = _operation("get", served, served.schema, query=query)
    if "update" in served.verbs:
        found["put"] = _operation("put", served, served.schema, query=_WRITE_QUERY, body=served.schema)
    if "delete" in served.verbs:
        options = _META + "DeleteOptions"
        found["delete"] = _operation("delete", served, _META + "Status", query=_DELETE_QUERY, body=options)
    if "patch" in served.verbs:
        found["patch"] = _patch(served, served.schema, served.own_kind)
    return found


def _below_operations(served: Served, below: Below) -> Document:
    found: Document = {}
    for verb, method, action in (("get", "get", "get"), ("update", "put", "put"), ("create", "post", "post")):
        if verb in below.verbs:
            writing = verb != "get"
            query = _WRITE_QUERY if writing else ("resourceVersion",) if served.custom else ()
            body = below.schema if writing else ""
            found[method] = _operation(action, served, below.schema, query=query, body=body, of=below.own_kind)
    if "patch" in below.verbs:
        found["patch"] = _patch(served, below.schema, below.own_kind)
    return found


def _patch(served: Served, schema: str, of: tuple[str, str, str]) -> Document:
    made = _operation("patch", served, schema, query=(*_WRITE_QUERY, "force"), of=of)
    types = _PATCHES if served.custom else (*_PATCHES, _STRATEGIC)
    content = {each: {"schema": {"$ref": f"{PREFIX}{_META}Patch"}} for each in types}
    return {**made, "requestBody": {"content": content, "required": True}}


def _operation(
    action: str,
    served: Served,
    schema: str,
    *,
    query: Sequence[str] = (),
    body: str = "",
    of: tuple[str, str, str] | None = None,
) -> Document:
    group, version, kind = of or served.own_kind
    answer = {"description": "OK", "content": {"application/json": {"schema": {"$ref": PREFIX + schema}}}}
    made: Document = {"responses": {"200": answer}, "x-kubernetes-action": action}
    made["x-kubernetes-group-version-kind"] = {"group": group, "version": version, "kind": kind}
    if query:
        made["parameters"] = _query(query)
    if body:
        made["requestBody"] = {"content": {"*/*": {"schema": {"$ref": PREFIX + body}}}}
    return made


def _query(names: Sequence[str]) -> list[Document]:
    return [
        {"name": name, "in": "query", "schema": {"type": _type(name), "uniqueItems": True}} for name in sorted(names)
    ]


def _type(name: str) -> str:
    return "boolean" if name in _BOOLEAN else "integer" if name in _INTEGER else "string"


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
