"""What clients ask before anything else: discovery in both forms and OpenAPI documents of what both servers serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleet.devcluster.discovery.discovery import AGGREGATED
from fleet.devcluster.kinds.catalogue import entries
from fleet.devcluster.kinds.rules import UNSERVED_SUBRESOURCES, VIRTUAL
from tests.contract.histories.objects import DEFINITIONS
from tests.contract.transcripts import JSON, Document, Stage
from tests.contract.write_kinds import without_descriptions

_CONNECTING = ("attach", "exec", "log", "portforward", "proxy")
_METHODS = ("get", "put", "post", "delete", "patch")


def _unserved() -> set[tuple[str, str, str]]:
    """Resources of the real server that the embedded one leaves out."""
    return {
        (each.group, each.version, each.name)
        for each in entries()
        if not each.stored and (each.group, each.name) not in VIRTUAL
    }


def _shown(name: str, group: str, version: str) -> bool:
    plural, _, subresource = name.partition("/")
    return (group, version, plural) not in _unserved() and subresource not in UNSERVED_SUBRESOURCES


def _group_versions() -> list[str]:
    served = [each for each in entries() if (each.group, each.version, each.name) not in _unserved()]
    paths = [f"/apis/{each.group}/{each.version}" if each.group else f"/api/{each.version}" for each in served]
    return list(dict.fromkeys(paths))


def _parted(path: str) -> tuple[str, str]:
    parts = path.split("/")
    return ("", parts[2]) if parts[1] == "api" else (parts[2], parts[3])


async def built_in_discovery(stage: Stage) -> None:
    """Groups, versions and resources; custom groups of other histories are not looked at."""
    for path in _group_versions():
        group, version = _parted(path)
        answer = await stage.ask("GET", path, quiet=True)
        kept = [each for each in answer["resources"] if _shown(each["name"], group, version)]
        stage.note(path, {**answer, "resources": kept})
        if group and group != "autoscaling":
            await stage.ask("GET", f"/apis/{group}")
    groups = (await stage.ask("GET", "/apis", quiet=True))["groups"]
    known = [each for each in groups if each["name"] in {path.split("/")[2] for path in _group_versions()}]
    stage.note("groups", [each for each in known if each["name"] != "autoscaling"])
    for path in ("/api", "/apis"):
        answer = await stage.ask("GET", path, accept=f"{AGGREGATED},{JSON}", quiet=True)
        stage.note(f"aggregated {path}", {**answer, "items": list(_aggregated(answer["items"]))})
    for path in ("/apis/nothing", "/apis/nothing/v1", "/apis/apps/v2", "/api/v2", "/apis/apps/v1/nothing", "/nothing"):
        await stage.ask("GET", path)
    await stage.ask("GET", "/apis/apps/v1", accept=AGGREGATED)


def _aggregated(items: list[Document]) -> Iterator[Document]:
    served = {path.split("/")[2] if path.startswith("/apis") else "" for path in _group_versions()}
    for item in items:
        group = item["metadata"].get("name", "")
        if group not in served or group == "autoscaling":
            continue
        versions = []
        for each in item["versions"]:
            kept = [one for one in each["resources"] if _shown(one["resource"], group, each["version"])]
            for one in kept:
                one["subresources"] = [
                    below for below in one.get("subresources", ()) if below["subresource"] not in UNSERVED_SUBRESOURCES
                ]
            versions.append({**each, "resources": kept})
        yield {**item, "versions": versions}


async def custom_discovery(stage: Stage) -> None:
    """A custom resource comes and goes in discovery and OpenAPI."""
    group = stage.unique("gizmos") + ".dev"
    await stage.ask("GET", f"/apis/{group}")
    await stage.ask("POST", DEFINITIONS, _gizmos(group), quiet=True)
    await stage.until(f"/apis/{group}/v1", lambda answer: len(answer.get("resources", ())) == 3)
    await stage.until("/openapi/v3", lambda answer: f"apis/{group}/v1" in answer["text"])
    await stage.ask("GET", f"/apis/{group}")
    for version in ("v1", "v1beta1"):
        resources = (await stage.ask("GET", f"/apis/{group}/{version}", quiet=True))["resources"]
        # The hash is of the group, whose name differs from run to run.
        hashes = [len(each.pop("storageVersionHash", "")) for each in resources]
        stage.note(f"resources of {version}", (hashes, resources))
    answer = await stage.ask("GET", "/apis", accept=f"{AGGREGATED},{JSON}", quiet=True)
    stage.note("aggregated", [stage.normalise(each) for each in answer["items"] if each["metadata"]["name"] == group])
    for version in ("v1", "v1beta1"):
        document = await stage.ask("GET", f"/openapi/v3/apis/{group}/{version}", quiet=True)
        stage.note(f"paths of {version}", stage.normalise(_operations(document["paths"], group, version)))
        published = {name: each for name, each in document["components"]["schemas"].items() if "Gizmo" in name}
        stage.note(f"schemas of {version}", stage.normalise(without_descriptions(published)))
    await stage.ask("DELETE", f"{DEFINITIONS}/gizmos.{group}", quiet=True)
    await stage.until("/openapi/v3", lambda answer: f"apis/{group}/v1" not in answer["text"])
    await stage.until("/apis", lambda answer: group not in [each["name"] for each in answer["groups"]])


def _gizmos(group: str) -> Document:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "port": {"x-kubernetes-int-or-string": True}},
        },
    }
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "default": 3},
            "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "ports": ports,
            "note": {"type": "string", "nullable": True},
        },
    }
    status = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "gizmos", "kind": "Gizmo", "shortNames": ["gz"], "categories": ["all"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                },
                {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": free}},
            ],
        },
    }


async def openapi_version_3(stage: Stage) -> None:
    """The documents of all built-in groups, but for prose, watch paths and subresources that open a connection."""
    for path in _group_versions():
        document = await stage.ask("GET", f"/openapi/v3{path}", quiet=True)
        stage.note(f"paths {path}", _operations(document["paths"], *_parted(path)))
        stage.note(f"title {path}", document["openapi"])
        kinds = [each for each in entries() if path.endswith(f"{each.group}/{each.version}".lstrip("/"))]
        known = without_descriptions(document["components"]["schemas"])
        wanted = {each.kind for each in kinds if _shown(each.name, each.group, each.version)}
        stage.note(f"schemas {path}", {name: each for name, each in known.items() if name.rpartition(".")[2] in wanted})
    await stage.ask("GET", "/openapi/v3/apis/nothing/v1")


def _operations(paths: Document, group: str, version: str) -> Document:
    """Per path and method: what it does to which kind, and with which parameters."""
    found: Document = {}
    root = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    for path, item in sorted(paths.items()):
        parts = path.removeprefix(root).replace("namespaces/{namespace}/", "").split("/")
        subresource = parts[2] if len(parts) > 2 else ""
        if path == root or parts[0] == "watch" or subresource in _CONNECTING:
            continue
        if not _shown(f"{parts[0]}/{subresource}", group, version):
            continue
        found[path] = {method: _operation(item[method], item) for method in _METHODS if method in item}
    return found


def _operation(operation: Document, item: Document) -> dict[str, Any]:
    together = [*operation.get("parameters", ()), *item.get("parameters", ())]
    return {
        "action": operation["x-kubernetes-action"],
        "kind": operation["x-kubernetes-group-version-kind"],
        "parameters": sorted(map(without_descriptions, together), key=lambda each: str(each["name"])),
    }


HISTORIES = (built_in_discovery, custom_discovery, openapi_version_3)
