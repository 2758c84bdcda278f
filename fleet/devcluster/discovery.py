"""Discovery and health: what kubectl asks before it does anything."""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.resources import Registry, ResourceType

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_JSON = "application/json"
_VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0-shardfleet",
    "platform": "linux/amd64",
}


def discovery_answer(registry: Registry, path: str) -> tuple[int, bytes, str]:
    """Status, body and content type for a path that names no object. Raises StatusError 404."""
    parts = [part for part in path.split("/") if part]
    if parts and parts[0] in ("healthz", "readyz", "livez"):
        return 200, b"ok", "text/plain; charset=utf-8"
    if parts == ["version"]:
        return _json(_VERSION)
    if parts == ["api"]:
        return _json({"kind": "APIVersions", "versions": ["v1"]})
    if parts == ["apis"]:
        return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(registry)})
    if len(parts) == 2 and parts[0] == "apis":
        for group in _groups(registry):
            if group["name"] == parts[1]:
                return _json({"kind": "APIGroup", "apiVersion": "v1", **group})
    if parts[:1] == ["api"] and len(parts) == 2:
        return _resources(registry, "", parts[1])
    if parts[:1] == ["apis"] and len(parts) == 3:
        return _resources(registry, parts[1], parts[2])
    raise statuses.no_such_path()


def _json(body: Any) -> tuple[int, bytes, str]:
    return 200, msgspec.json.encode(body), _JSON


def _groups(registry: Registry) -> list[dict[str, Any]]:
    versions: dict[str, list[str]] = {}
    for kind in registry:
        known = versions.setdefault(kind.resource.group, [])
        if kind.resource.version not in known:
            known.append(kind.resource.version)
    groups = []
    for group, names in versions.items():
        if not group:
            continue
        entries = [{"groupVersion": f"{group}/{name}", "version": name} for name in sorted(names)]
        groups.append({"name": group, "versions": entries, "preferredVersion": entries[0]})
    return groups


def _resources(registry: Registry, group: str, version: str) -> tuple[int, bytes, str]:
    """Raises StatusError 404."""
    if not registry.has_group_version(group, version):
        raise statuses.no_such_path()
    entries: list[dict[str, Any]] = []
    for kind in registry:
        if (kind.resource.group, kind.resource.version) != (group, version):
            continue
        entries.append(_entry(kind))
        if kind.status:
            status = {"name": f"{kind.resource.plural}/status", "verbs": ["get", "patch", "update"]}
            entries.append({"singularName": "", "namespaced": kind.namespaced, "kind": kind.kind, **status})
    group_version = f"{group}/{version}" if group else version
    body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}
    return _json(body)


def _entry(kind: ResourceType) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kind.resource.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _VERBS,
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry
