"""Discovery: which groups, versions and resources there are, in the old form and in the aggregated one (KEP-3352)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fleet.devcluster.kinds.catalogue import Entry, Subresource, entries
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.kinds.rules import UNSERVED_SUBRESOURCES, VIRTUAL
from fleet.devcluster.printing.accept import YAML
from fleet.devcluster.wire import statuses

Document = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERSION = re.compile(r"^v(\d+)(?:(alpha|beta)(\d+))?$")
_STAGES = {None: 2, "beta": 1, "alpha": 0}
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_QUALITY = re.compile(r"[0-9]{1,4}(\.[0-9]{0,9})?")
_MEDIA_TYPES = ("application/json", YAML, "application/*", "*/*")
_NOT_ACCEPTED = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)


def discovery_answer(registry: Registry, path: str, accept: str = "") -> tuple[bytes, str]:
    """Body in JSON, and the content type that is wanted, of a path below /api and /apis.

    Raises StatusError 404, 406.
    """
    parts = path.strip("/").split("/")
    if "" in parts:
        built_in = parts[0] == "api" or (parts[1] != "" and registry.has_built_in(parts[1]))
        raise statuses.no_such_resource() if built_in else statuses.no_such_path()
    if len(parts) == 1:
        form = accepted_form(accept, aggregated=True)
        if form == AGGREGATED:
            return _encoded(aggregated(registry, core=parts == ["api"])), AGGREGATED
        return _encoded(_CORE_VERSIONS if parts == ["api"] else group_list(registry)), form
    form = accepted_form(accept)
    if parts[0] == "apis" and len(parts) == 2:
        return _encoded(_group(registry, parts[1])), form
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    return _encoded(resource_list(registry, group, version)), form


def accepted_form(accept: str, *, aggregated: bool = False) -> str:
    """The media type of an Accept header that is wanted most and can be given. Raises StatusError 406."""
    clauses = [clause.replace(" ", "").split(";") for clause in accept.split(",") if clause.strip()]
    for media, *parameters in sorted(clauses, key=_weight, reverse=True):
        wanted = {part for part in parameters if not part.startswith(("q=", "profile=", "charset="))}
        if aggregated and media == "application/json" and wanted == set(AGGREGATED.split(";")[1:]):
            return AGGREGATED
        if media in _MEDIA_TYPES and not any("as=" in part for part in wanted):
            return YAML if media == YAML else "application/json"
    if clauses:
        raise statuses.StatusError(406, "NotAcceptable", _NOT_ACCEPTED)
    return "application/json"


def _weight(clause: list[str]) -> float:
    """The q of a media type; 1 where it is missing or no number."""
    text = next((part[2:] for part in clause[1:] if part.startswith("q=")), "1")
    return float(text) if _QUALITY.fullmatch(text) else 1.0


def group_versions(registry: Registry) -> dict[str, list[str]]:
    """Versions of every group, best first: the built-in groups in the server's order, then the custom ones by name."""
    built_in: dict[str, list[str]] = {}
    for entry in _virtual_and_stored(registry):
        versions = built_in.setdefault(entry.group, [])
        if entry.version not in versions:
            versions.append(entry.version)
    custom: dict[str, set[str]] = {}
    for kind in registry:
        if kind.custom:
            custom.setdefault(kind.resource.group, set()).add(kind.resource.version)
    return {**built_in, **{group: sorted(custom[group], key=_rank) for group in sorted(custom)}}


def group_list(registry: Registry) -> Document:
    """APIGroupList."""
    groups = [_group_entry(group, versions) for group, versions in group_versions(registry).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def resource_list(registry: Registry, group: str, version: str) -> Document:
    """APIResourceList. Raises StatusError 404."""
    if version not in group_versions(registry).get(group, ()):
        raise statuses.no_such_resource() if registry.has_built_in(group) else statuses.no_such_path()
    listed: list[Document] = []
    for name, about, subresources in _resources(registry, group, version):
        listed.append({"name": name, **about})
        for each in subresources:
            entry: Document = {"name": f"{name}/{each.name}", "singularName": "", "namespaced": about["namespaced"]}
            if each.group:
                entry |= {"group": each.group, "version": each.version}
            listed.append(entry | {"kind": each.kind, "verbs": each.verbs})
    if not group:
        return {"kind": "APIResourceList", "groupVersion": version, "resources": listed}
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
    return {**head, "resources": listed}


def aggregated(registry: Registry, *, core: bool) -> Document:
    """APIGroupDiscoveryList of the core group, or of all others."""
    items = []
    for group, versions in group_versions(registry).items():
        if (group == "") != core:
            continue
        shown = [
            {"version": each, "resources": _aggregated_version(registry, group, each), "freshness": "Current"}
            for each in versions
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": shown})
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
    return {**head, "items": items}


def _aggregated_version(registry: Registry, group: str, version: str) -> list[Document]:
    custom = not registry.has_built_in(group)
    own = {"group": group, "version": version} if custom else {"group": "", "version": ""}
    shown = []
    for name, about, subresources in _resources(registry, group, version):
        entry: Document = {
            "resource": name,
            "responseKind": {**own, "kind": about["kind"]},
            "scope": "Namespaced" if about["namespaced"] else "Cluster",
            "singularResource": about["singularName"],
            "verbs": about["verbs"],
        }
        entry |= {key: about[key] for key in ("shortNames", "categories") if key in about}
        if subresources:
            entry["subresources"] = [
                {
                    "subresource": each.name,
                    "responseKind": {
                        **({"group": each.group, "version": each.version} if each.group else own),
                        "kind": each.kind,
                    },
                    "verbs": each.verbs,
                }
                for each in subresources
            ]
        shown.append(entry)
    return shown


def _virtual_and_stored(registry: Registry) -> Iterator[Entry]:
    """Catalogue entries of what is served, in the server's order."""
    stored = {each.resource for each in registry}
    served = {(each.group, each.version, each.plural) for each in stored}
    for entry in entries():
        if (entry.group, entry.version, entry.name) in served or (entry.group, entry.name) in VIRTUAL:
            yield entry


def _resources(registry: Registry, group: str, version: str) -> Iterator[tuple[str, Document, tuple[Subresource, ...]]]:
    """Plural, facts in the form of an APIResource, subresources."""
    for entry in _virtual_and_stored(registry):
        if (entry.group, entry.version) == (group, version):
            about: Document = {
                "singularName": entry.singular_name,
                "namespaced": entry.namespaced,
                "kind": entry.kind,
                "verbs": entry.verbs,
            }
            about |= _optional(entry.short_names, entry.categories, entry.storage_version_hash)
            yield (
                entry.name,
                about,
                tuple(each for each in entry.subresources if each.name not in UNSERVED_SUBRESOURCES),
            )
    for kind in registry:
        if kind.custom and (kind.resource.group, kind.resource.version) == (group, version):
            about = {
                "singularName": kind.singular,
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                "verbs": _CUSTOM_VERBS,
            }
            about |= _optional(kind.short_names, kind.categories, kind.storage_version_hash)
            yield kind.resource.plural, about, kind.subresources


def _optional(short_names: tuple[str, ...], categories: tuple[str, ...], storage_version_hash: str) -> Document:
    found = {"shortNames": short_names, "categories": categories, "storageVersionHash": storage_version_hash}
    return {name: value for name, value in found.items() if value}


_CORE_VERSIONS = {
    "kind": "APIVersions",
    "versions": ["v1"],
    "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
}


def _group(registry: Registry, group: str) -> Document:
    versions = group_versions(registry).get(group)
    if not group or versions is None:
        raise statuses.no_such_path()
    return {"kind": "APIGroup", "apiVersion": "v1", **_group_entry(group, versions)}


def _group_entry(group: str, versions: list[str]) -> Document:
    shown = [{"groupVersion": f"{group}/{each}", "version": each} for each in versions]
    return {"name": group, "versions": shown, "preferredVersion": shown[0]}


def _rank(version: str) -> tuple[int, int, int, int, str]:
    """Sorts versions best first: released before beta before alpha, higher numbers first, others last by name."""
    found = _VERSION.match(version)
    if found is None:
        return 1, 0, 0, 0, version
    return 0, -_STAGES[found[2]], -int(found[1]), -int(found[3] or 0), ""


def _encoded(body: Document) -> bytes:
    return msgspec.json.encode(body)
