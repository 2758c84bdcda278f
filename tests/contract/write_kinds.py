"""Writes what a real server says of its built-in kinds into fleet/devcluster/kinds, for the embedded server.

Run again when the version of the test cluster changes: `python -m tests.contract.write_kinds KUBECONFIG`.
The contract tests say when the files are not what the real server answers any more.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.contract.go_types import facts

DATA = Path(__file__).parents[2] / "fleet" / "devcluster" / "kinds"
RESOURCES = DATA / "resources.jsonl"
SCHEMAS = DATA / "schemas.jsonl"
VALUES = DATA / "values.jsonl"

_REQUIRED = re.compile(r"^\s*k8s\.io/(\S+) (v\S+)", re.M)
_PREFIX = "#/components/schemas/"
_GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_META_TYPES = tuple(_META + each for each in ("APIResourceList", "DeleteOptions", "Patch", "Status"))

Document = dict[str, Any]
Ask = Callable[[str], Document]
"""Answers the decoded JSON of a path."""


def asking(kubeconfig: Path) -> Ask:
    """Requests with the first cluster and user of a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def ask(path: str) -> Document:
        request = urllib.request.Request(
            cluster["server"] + path,
            headers={"Authorization": f"Bearer {user['token']}", "Accept": "application/json"},
        )
        with urllib.request.urlopen(request, context=context) as response:
            answer: Document = json.load(response)
        return answer

    return ask


def group_versions(ask: Ask) -> list[str]:
    """All that are built in, in the order of the server: "api/v1", "apis/apps/v1"."""
    definitions = ask("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    custom = {each["spec"]["group"] for each in definitions}
    groups = [group for group in ask("/apis")["groups"] if group["name"] not in custom]
    return ["api/v1", *(f"apis/{version['groupVersion']}" for group in groups for version in group["versions"])]


def resources(ask: Ask) -> Iterator[Document]:
    """One entry per resource, its subresources inside."""
    for path in group_versions(ask):
        group, version = path.split("/")[1:-1], path.split("/")[-1]
        entry: Document = {}
        for found in ask(f"/{path}")["resources"]:
            subresource = found["name"].partition("/")[2]
            if subresource:
                kept = {key: value for key, value in found.items() if key not in ("name", "singularName", "namespaced")}
                entry["subresources"].append({"name": subresource, **kept})
                continue
            if entry:
                yield entry
            entry = {"group": "".join(group), "version": version, **found, "subresources": []}
        if entry:
            yield entry


def schemas(ask: Ask, kinds: Iterable[Document]) -> Iterator[Document]:
    """The schemas that the kinds, their lists and their subresources reach, by name."""
    known: dict[str, Document] = {}
    for path in group_versions(ask):
        for name, schema in ask(f"/openapi/v3/{path}")["components"]["schemas"].items():
            known[name] = merged(known.get(name), without_descriptions(schema))
    names = {
        (each["group"], each["version"], each["kind"]): name
        for name, schema in known.items()
        for each in schema.get(_GROUP_VERSION_KIND, ())
        if len(schema[_GROUP_VERSION_KIND]) == 1
    }
    waiting = list(_META_TYPES)
    for kind in kinds:
        group, version = kind["group"], kind["version"]
        waiting += [names.get((group, version, kind["kind"] + tail), "") for tail in ("", "List")]
        for each in kind["subresources"]:
            waiting.append(names.get((each.get("group", group), each.get("version", version), each["kind"]), ""))
    reached: set[str] = {""}
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += references(known[name])
    for name in sorted(reached - {""}):
        yield {"name": name, "schema": known[name]}


def merged(known: Document | None, new: Document) -> Document:
    """One schema of two documents: types of all groups, such as Status, are said to be of the document's group only."""
    if known is None:
        return new
    kinds, more = known.get(_GROUP_VERSION_KIND, []), new.get(_GROUP_VERSION_KIND, [])
    together = [*kinds, *(each for each in more if each not in kinds)]
    if {**known, _GROUP_VERSION_KIND: together} != {**new, _GROUP_VERSION_KIND: together}:
        raise AssertionError(f"a schema differs from group to group: {new}")
    return {**known, _GROUP_VERSION_KIND: together} if together else known


def without_descriptions(value: Any) -> Any:
    """The same schema without prose; a field that is called description stays."""
    if isinstance(value, list):
        return [without_descriptions(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_descriptions(each)
        for name, each in value.items()
        if not (name == "description" and isinstance(each, str))
    }


def references(value: Any) -> Iterator[str]:
    """Names of the schemas that a schema refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(_PREFIX)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from references(each)


def values(names: Iterable[str]) -> Iterator[Document]:
    """What the Go types say and no answer tells, from the module cache that the test cluster is built from."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip()
    versions = dict(_REQUIRED.findall((Path(__file__).parents[1] / "cluster" / "go.mod").read_text()))
    modules = {name: Path(cache) / "k8s.io" / f"{name}@{version}" for name, version in versions.items()}
    for name, found in facts(names, modules):
        yield {"name": name, "leftOut": found.left_out, "null": found.null}


def lines(entries: Iterable[Document]) -> str:
    """The text of a data file."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in entries)


def contents(ask: Ask) -> dict[Path, str]:
    """Every data file with what it should say."""
    kinds = list(resources(ask))
    known = list(schemas(ask, kinds))
    names = [each["name"] for each in known]
    return {RESOURCES: lines(kinds), SCHEMAS: lines(known), VALUES: lines(values(names))}


def main(kubeconfig: str) -> None:
    for path, text in contents(asking(Path(kubeconfig))).items():
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
