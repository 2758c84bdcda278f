"""Scripted histories: what a client does, in order. Every server must answer each of them in the same way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from shards.keyrange import SPACE, fnv1a64
from tests.contract.transcripts import JSON_PATCH, MERGE, Document, Stage

History = Callable[[Stage], Awaitable[None]]

CONFIG_MAPS = "v1/configmaps"
LEASES = "coordination.k8s.io/v1/leases"
WEBSITES = "history.shardfleet.dev/v1/websites"
PLAIN = "history.shardfleet.dev/v1/plains"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

_WEBSITE_SCHEMA: Document = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["domain"],
            "properties": {
                "domain": {"type": "string", "minLength": 3, "maxLength": 20, "pattern": "^[a-z.]+$"},
                "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
                "tier": {"type": "string", "enum": ["free", "paid"], "default": "free"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "paths": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {
            "type": "object",
            "properties": {"ready": {"type": "boolean"}, "phase": {"type": "string"}},
        },
    },
}


def definition(plural: str, kind: str, schema: Document, *, status: bool) -> Document:
    version: Document = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.history.shardfleet.dev"},
        "spec": {
            "group": "history.shardfleet.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [version],
        },
    }


async def _define(stage: Stage, plural: str, kind: str, schema: Document, *, status: bool) -> None:
    """Creates the definition once a server, and waits until its resource is served."""
    await stage.ask("POST", DEFINITIONS, definition(plural, kind, schema, status=status), quiet=True)

    def established(answer: Document) -> bool:
        conditions = answer.get("status", {}).get("conditions") or []
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    await stage.until(f"{DEFINITIONS}/{plural}.history.shardfleet.dev", established)
    path = stage.path(f"history.shardfleet.dev/v1/{plural}")
    await stage.until(path, lambda answer: answer.get("kind") == f"{kind}List")


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Document:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "data": data if data is not None else {"a": "1"},
    }


def website(name: str, spec: Document | None = None, **metadata: Any) -> Document:
    return {
        "kind": "Website",
        "apiVersion": "history.shardfleet.dev/v1",
        "metadata": {"name": name, **metadata},
        "spec": spec if spec is not None else {"domain": "a.example"},
    }


async def config_map_lifecycle(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    first = await stage.ask("POST", collection, config_map("one", labels={"app": "x"}, annotations={}))
    await stage.ask("POST", collection, config_map("one"))
    await stage.ask("GET", one)
    version, uid = first["metadata"]["resourceVersion"], first["metadata"]["uid"]
    await stage.ask("PUT", one, config_map("one", {"a": "2"}, resourceVersion=version))
    await stage.ask("PUT", one, config_map("one", {"a": "3"}, resourceVersion=version))
    await stage.ask("PUT", one, config_map("one", {"a": "4"}))
    await stage.ask("PUT", one, config_map("one", {"a": "4"}))
    await stage.ask("PUT", one, config_map("one", {"a": "5"}, uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("PUT", one, config_map("one", {"a": "5"}, uid=uid))
    await stage.ask("PUT", one, config_map("two", {"a": "5"}))
    await stage.ask("PATCH", one, {"data": {"a": None, "b": "6"}, "x": 1}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"resourceVersion": version}}, content_type=MERGE)
    other = {"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}, "data": {"b": "7"}}
    await stage.ask("PATCH", one, other, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"name": "two"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"app": None}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {}, content_type=MERGE)
    await stage.ask("DELETE", one, _preconditions(uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("DELETE", one, _preconditions(resourceVersion=version))
    await stage.ask("DELETE", one, _preconditions(uid=uid))
    for method in ("GET", "DELETE"):
        await stage.ask(method, one)
    await stage.ask("PUT", one, config_map("one"))
    await stage.ask("PATCH", one, {"data": {"a": "1"}}, content_type=MERGE)


def _preconditions(**wanted: str) -> Document:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": wanted}


async def custom_resource_lifecycle(stage: Stage) -> None:
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    collection, one = stage.path(WEBSITES), stage.path(WEBSITES, "one")
    status = stage.path(WEBSITES, "one", "status")
    made = await stage.ask("POST", collection, website("one") | {"status": {"phase": "ignored"}})
    await stage.ask("POST", collection, website("one"))
    await stage.ask("PUT", one, website("one", {"domain": "b.example"}))
    version = made["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, website("one", {"domain": "b.example"}, resourceVersion=version))
    await stage.ask("PUT", one, website("one", {"domain": "c.example"}, resourceVersion=version))
    await stage.ask("PATCH", one, {"status": {"phase": "ignored"}}, content_type=MERGE)
    await stage.ask("PATCH", status, {"status": {"phase": "Ready", "ready": True}}, content_type=MERGE)
    await stage.ask("PATCH", status, {"status": {"phase": "Ready"}}, content_type=MERGE)
    both = {"spec": {"domain": "d.example"}, "metadata": {"labels": {"a": "b"}}, "status": {"phase": "Both"}}
    patched = await stage.ask("PATCH", status, both, content_type=MERGE)
    newest = patched["metadata"]["resourceVersion"]
    whole = website("one", {"domain": "e.example"}, resourceVersion=newest) | {"status": {"ready": False}}
    await stage.ask("PUT", status, whole)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"replicas": 3}}, content_type=MERGE)
    await stage.ask("GET", status)
    await stage.ask("GET", stage.path(WEBSITES, "one", "scale"))
    await stage.ask("DELETE", one, _preconditions(uid="11111111-2222-4333-8444-555555555555"))
    await stage.ask("PUT", one, website("one", uid="11111111-2222-4333-8444-555555555555", resourceVersion=newest))
    await stage.ask("DELETE", one)
    await stage.ask("GET", one)
    await stage.ask("PATCH", status, {"status": {"phase": "x"}}, content_type=MERGE)


async def custom_resource_validation(stage: Stage) -> None:
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    collection = stage.path(WEBSITES)
    specs: list[Document] = [
        {"domain": "a.example", "unknown": 1, "free": {"kept": 1}, "labels": {"a": "b"}},
        {},
        {"domain": 5},
        {"domain": "ab"},
        {"domain": "abcdefghijklmnopqrstuvwxyz"},
        {"domain": "A.example"},
        {"domain": "a.example", "replicas": 0},
        {"domain": "a.example", "replicas": 10},
        {"domain": "a.example", "replicas": "3"},
        {"domain": "a.example", "replicas": 1.5},
        {"domain": "a.example", "tier": "gold"},
        {"domain": "a.example", "labels": {"a": 1}},
        {"domain": "a.example", "paths": ["a", "b", "c"]},
        {"domain": "a.example", "paths": ["a", 1]},
        {"domain": "a.example", "free": []},
        {"domain": "a.example", "replicas": None},
        {"replicas": 0, "tier": "gold"},
    ]
    for index, spec in enumerate(specs):
        await stage.ask("POST", collection, website(f"site-{index}", spec))
    await stage.ask("POST", collection, {"kind": "Website", "apiVersion": "history.shardfleet.dev/v1", "metadata": {}})
    without_spec = {"kind": "Website", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": "none"}}
    await stage.ask("POST", collection, without_spec)
    one = stage.path(WEBSITES, "site-0")
    await stage.ask("PATCH", one, {"spec": {"replicas": 100}}, content_type=MERGE)
    await stage.ask("PATCH", stage.path(WEBSITES, "site-0", "status"), {"status": {"ready": "x"}}, content_type=MERGE)


async def custom_resource_without_status(stage: Stage) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await _define(stage, "plains", "Plain", schema, status=False)
    body = {"kind": "Plain", "apiVersion": "history.shardfleet.dev/v1", "metadata": {"name": "one"}, "status": {"a": 1}}
    await stage.ask("POST", stage.path(PLAIN), body)
    one = stage.path(PLAIN, "one")
    await stage.ask("PATCH", one, {"status": {"a": 2}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("GET", stage.path(PLAIN, "one", "status"))
    await stage.ask("PUT", stage.path(PLAIN, "one", "status"), body)


async def json_patches(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "2"}))
    one = stage.path(CONFIG_MAPS, "one")
    for operations in (
        [{"op": "add", "path": "/data/c", "value": "3"}, {"op": "remove", "path": "/data/a"}],
        [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "4"}],
        [{"op": "move", "from": "/data/c", "path": "/data/d"}, {"op": "copy", "from": "/data/d", "path": "/data/e"}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a~b": "c"}}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}}],
        [{"op": "remove", "path": "/metadata/labels/a~1b"}],
        [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]}],
        [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"}],
        [{"op": "remove", "path": "/metadata/finalizers"}],
    ):
        await stage.ask("PATCH", one, operations, content_type=JSON_PATCH)
    await stage.ask("PATCH", one, "no JSON", content_type=JSON_PATCH)
    await stage.ask("PATCH", one, "no JSON", content_type=MERGE)
    await stage.ask("PATCH", one, [], content_type=MERGE)
    await stage.ask("PATCH", one, {"data": 3}, content_type="text/plain")


async def refused_json_patches(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1", "b": "2"}))
    one = stage.path(CONFIG_MAPS, "one")
    for operations in (
        [{"op": "test", "path": "/data/b", "value": "9"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "replace", "path": "/data/none", "value": "1"}],
        [{"op": "add", "path": "/none/deep", "value": "1"}],
    ):
        answer = await stage.ask("PATCH", one, operations, content_type=JSON_PATCH, quiet=True)
        # The message quotes the patch library of the server; reason and code are what a client can use.
        stage.note("refused", {name: answer.get(name) for name in ("code", "reason", "status")})


async def finalizers(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    made = await stage.ask("POST", collection, config_map("one", finalizers=["example.com/b", "example.com/a"]))
    query = {"resourceVersion": made["metadata"]["resourceVersion"], "fieldSelector": "metadata.name=one"}
    async with stage.watch(collection, query) as read:
        await stage.ask("DELETE", one)
        await stage.ask("DELETE", one)
        await stage.ask("GET", one)
        more = ["example.com/b", "example.com/c"]
        await stage.ask("PATCH", one, {"metadata": {"finalizers": more}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"deletionTimestamp": None}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"finalizers": ["example.com/a"]}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"data": {"a": "late"}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"metadata": {"finalizers": None}, "data": {"a": "last"}}, content_type=MERGE)
        await stage.ask("GET", one)
        await read(4)


async def finalizers_of_custom_resources(stage: Stage) -> None:
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    one = stage.path(WEBSITES, "one")
    await stage.ask("POST", stage.path(WEBSITES), website("one", finalizers=["example.com/a"]))
    await stage.ask("DELETE", one)
    await stage.ask("PATCH", stage.path(WEBSITES, "one", "status"), {"status": {"phase": "x"}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"finalizers": []}}, content_type=MERGE)
    await stage.ask("GET", one)


async def lists(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name, labels in (
        ("a", {"app": "x", "tier": "1"}),
        ("b", {"app": "y", "tier": "2"}),
        ("a-b", {"app": "z"}),
        ("c", {"tier": "3"}),
        ("d", {}),
    ):
        await stage.ask("POST", collection, config_map(name, labels=labels), quiet=True)
    root = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}
    await stage.ask("GET", collection, query=root)
    for selector in (
        "app",
        "!app",
        "app=x",
        "app==x",
        "app!=x",
        "app in (x, z)",
        "app notin (x,z)",
        "app in (x),tier",
        "tier>1",
        "tier<2",
        "app=",
        "app in ()",
        "app,",
        "app=x y",
        "app in x",
        "=x",
        "-a=x",
        "app=-x",
        "tier>z",
    ):
        await stage.ask("GET", collection, query=root | {"labelSelector": selector})
    for selector in (
        "metadata.name=a",
        "metadata.name=a,metadata.namespace=none",
        "metadata.name==b",
        "spec.none=a",
        "metadata.name",
        "data.a=1",
    ):
        await stage.ask("GET", collection, query={"fieldSelector": selector})


async def pages(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b", "c", "d", "e"):
        await stage.ask("POST", collection, config_map(name, labels={"page": "yes"}), quiet=True)
    wanted = {"labelSelector": "page", "limit": "2"}
    page = await stage.ask("GET", collection, query=wanted)
    await stage.ask("POST", collection, config_map("bb", labels={"page": "yes"}), quiet=True)
    await stage.ask("DELETE", stage.path(CONFIG_MAPS, "d"), quiet=True)
    page = await stage.ask("GET", collection, query=wanted | {"continue": page["metadata"]["continue"]})
    page = await stage.ask("GET", collection, query=wanted | {"continue": page["metadata"]["continue"]})
    await stage.ask("GET", collection, query={"labelSelector": "page", "limit": "5"})
    await stage.ask("GET", collection, query={"labelSelector": "page", "resourceVersion": "0", "limit": "2"})
    refused = await stage.ask("GET", collection, query={"continue": "nonsense"}, quiet=True)
    # The rest of the message is the JSON library's.
    stage.note("refused", (refused["code"], refused["reason"], refused["message"].partition(" is not valid: ")[0]))
    await stage.ask("GET", collection, query={"limit": "-1", "labelSelector": "page"})


async def list_versions(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    first = await stage.ask("POST", collection, config_map("a", labels={"mine": ""}))
    await stage.ask("POST", collection, config_map("b", labels={"mine": ""}))
    version, mine = first["metadata"]["resourceVersion"], {"labelSelector": "mine"}
    for query in (
        {"resourceVersion": version, "resourceVersionMatch": "Exact"},
        {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": version},
        {"resourceVersion": version, "limit": "5"},
        {"resourceVersion": "0"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersion": version, "resourceVersionMatch": "Nonsense"},
        {"resourceVersion": "nonsense"},
        {"resourceVersion": "-1"},
        {"resourceVersion": version, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "900000000", "resourceVersionMatch": "NotOlderThan"},
    ):
        answer = await stage.ask("GET", collection, query=mine | query, quiet=True)
        shown = {key: "<version>" if value == version else value for key, value in query.items()}
        stage.note(f"list {shown}", stage.normalise(answer))


async def watches(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    made = await stage.ask("POST", collection, config_map("a", labels={"w": "1"}))
    version = made["metadata"]["resourceVersion"]
    async with stage.watch(collection, {"resourceVersion": version, "labelSelector": "w=1"}) as read:
        a, b = stage.path(CONFIG_MAPS, "a"), stage.path(CONFIG_MAPS, "b")
        await stage.ask("PATCH", a, {"data": {"a": "2"}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"metadata": {"labels": {"w": "2"}}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"data": {"a": "3"}}, content_type=MERGE)
        await stage.ask("PATCH", a, {"metadata": {"labels": {"w": "1"}}}, content_type=MERGE)
        await stage.ask("POST", collection, config_map("b", labels={"w": "1"}))
        await stage.ask("POST", collection, config_map("c"))
        await stage.ask("DELETE", a)
        await stage.ask("DELETE", b)
        await read(6)
    async with stage.watch(collection, {"resourceVersion": version, "labelSelector": "w=1"}) as read:
        await read(6)


async def watch_lists(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name in ("a", "b"):
        await stage.ask("POST", collection, config_map(name, labels={"w": "1"}))
    streaming = {
        "labelSelector": "w=1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with stage.watch(collection, streaming) as read:
        await read(3)
        await stage.ask("DELETE", stage.path(CONFIG_MAPS, "a"))
        await read(1)
    async with stage.watch(collection, {"labelSelector": "w=1"}) as read:
        await read(1)
    async with stage.watch(collection, {"labelSelector": "w=1", "resourceVersion": "0"}) as read:
        await read(1)
    async with stage.watch(collection, streaming | {"timeoutSeconds": "1"}) as read:
        await read(3)


async def refused_watches(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for query in (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"continue": "x"},
        {"resourceVersion": "nonsense"},
        {"labelSelector": "a in b"},
        {"fieldSelector": "none=b"},
    ):
        await stage.ask("GET", collection, query={"watch": "true", **query})
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    # The history of a custom resource begins with its definition, which is later than version 1 on every server.
    async with stage.watch(stage.path(WEBSITES), {"resourceVersion": "1"}) as read:
        await read(1)


async def leases(stage: Stage) -> None:
    collection, one = stage.path(LEASES), stage.path(LEASES, "one")
    head: Document = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}

    def lease(spec: Document, **metadata: Any) -> Document:
        return {**head, "metadata": {"name": "one", **metadata}, "spec": spec}

    spec: Document = {"holderIdentity": "a", "leaseDurationSeconds": 8, "leaseTransitions": 1}
    await stage.ask("PUT", one, lease(spec))
    await stage.ask("DELETE", one)
    await stage.ask("POST", collection, lease(spec | {"acquireTime": "2026-01-02T03:04:05Z"}))
    times = {"acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:04:05.678901Z"}
    made = await stage.ask("POST", collection, lease(spec | times))
    version = made["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, lease(spec | {"holderIdentity": "b"}))
    moved = await stage.ask("PUT", one, lease(spec | {"holderIdentity": "b"}, resourceVersion=version))
    await stage.ask("PUT", one, lease(spec | {"holderIdentity": "c"}, resourceVersion=version))
    version = moved["metadata"]["resourceVersion"]
    await stage.ask("PUT", one, lease({"holderIdentity": "", "leaseTransitions": 2}, resourceVersion=version))
    await stage.ask("PATCH", one, {"spec": {"leaseDurationSeconds": 0}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"spec": {"leaseTransitions": -1}}, content_type=MERGE)
    bad = await stage.ask("PATCH", one, {"spec": {"renewTime": "yesterday"}}, content_type=MERGE, quiet=True)
    # The message quotes the whole object as Go encodes it.
    stage.note("bad time", (bad["code"], bad["reason"], bad["details"]["causes"][0]["field"]))
    fields = {"preferredHolder": "x", "strategy": "OldestEmulationVersion"}
    changed = {"spec": {**fields, "leaseTransitions": 3}, "status": {"a": 1}}
    await stage.ask("PATCH", one, changed, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}}, "spec": None}, content_type=MERGE)
    await stage.ask("DELETE", one, _preconditions(resourceVersion=version))
    await stage.ask("DELETE", one)


async def refused_objects(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    refused: tuple[Document, ...] = (
        {"name": "Upper"},
        {"name": "a" * 254},
        {},
        {"name": "a", "labels": {"a b": "c"}},
        {"name": "a", "labels": {"a": "-"}},
        {"name": "a", "labels": {"A/b": "c"}},
        {"name": "a", "annotations": {"a b": "c"}},
        {"name": "a", "finalizers": ["a b"]},
        {"name": "a", "finalizers": ["plain"]},
        {"name": "a", "labels": {"a": "b" * 64}},
        {"name": "a", "labels": {"a" * 64: "b"}},
        {"name": "a", "namespace": "elsewhere"},
        {"name": "a", "resourceVersion": "5"},
        {"name": "a", "ownerReferences": [{"kind": "A", "name": "b"}]},
    )
    for metadata in refused:
        await stage.ask("POST", collection, config_map("") | {"metadata": metadata})
    await stage.ask("POST", collection, config_map("a", {"b c": "d"}))
    wrong = await stage.ask("POST", collection, config_map("a", labels={"a": 1}), quiet=True)
    stage.note("label that is a number", (wrong["code"], wrong["reason"]))
    for kind, version in (("Secret", "v1"), ("ConfigMap", "v2")):
        other = {"kind": kind, "apiVersion": version, "metadata": {"name": "a"}}
        answer = await stage.ask("POST", collection, other, quiet=True)
        # The message quotes the server's source code.
        stage.note(f"{version} {kind}", (answer["code"], answer["reason"]))
    await stage.ask("POST", "/api/v1/namespaces/none-such/configmaps", config_map("a"))
    await stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "A"}})
    await stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "a" * 64}})


async def wrong_paths(stage: Stage) -> None:
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    one = stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    for method, path in (
        ("GET", stage.path("v1/nonsense")),
        ("GET", "/apis/none.example/v1/nonsense"),
        ("GET", "/apis/apps/v9/deployments"),
        ("GET", "/apis/history.shardfleet.dev/v1/nonsense"),
        ("GET", "/apis/history.shardfleet.dev/v2/websites"),
        ("GET", "/nonsense"),
        ("GET", stage.path(CONFIG_MAPS, "one", "status")),
        ("GET", stage.path(CONFIG_MAPS, "one", "nonsense")),
        ("POST", one),
        ("PUT", stage.path(CONFIG_MAPS)),
        ("POST", stage.path(WEBSITES, "one")),
        ("PUT", stage.path(WEBSITES)),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("GET", "/api/v1/configmaps/one"),
    ):
        await stage.ask(method, path, config_map("one") if method in ("POST", "PUT") else None)


async def generated_names(stage: Stage) -> None:
    body = config_map("", generateName="some-")
    del body["metadata"]["name"]
    made = [await stage.ask("POST", stage.path(CONFIG_MAPS), body, quiet=True) for _ in range(3)]
    names = [each["metadata"]["name"] for each in made]
    stage.note("distinct", len(set(names)))
    stage.note("shape", [(name[:5], len(name)) for name in names])
    stage.note("kept", [each["metadata"]["generateName"] for each in made])


async def dry_runs(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    dry = {"dryRun": "All"}
    answer = await stage.ask("POST", collection, config_map("one"), query=dry, quiet=True)
    stage.note("dry create", answer["data"])
    await stage.ask("GET", one)
    await stage.ask("POST", collection, config_map("one"))
    await stage.ask("PATCH", one, {"data": {"a": "9"}}, query=dry, content_type=MERGE)
    await stage.ask("DELETE", one, query=dry)
    await stage.ask("GET", one)
    await stage.ask("POST", collection, config_map("two"), query={"dryRun": "some"})


async def collections_deleted(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {"x": "2"})):
        await stage.ask("POST", collection, config_map(name, labels=labels), quiet=True)
    await stage.ask("DELETE", collection, query={"labelSelector": "x=1"})
    await stage.ask("GET", collection, query={"labelSelector": "x"})


async def garbage(stage: Stage) -> None:
    """Needs a garbage collector."""
    collection = stage.path(CONFIG_MAPS)

    async def family(prefix: str) -> str:
        owner = await stage.ask("POST", collection, config_map(f"{prefix}-owner"))
        reference: Document = {"kind": "ConfigMap", "apiVersion": "v1", "name": f"{prefix}-owner"}
        reference |= {"uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
        await stage.ask("POST", collection, config_map(f"{prefix}-child", ownerReferences=[reference]))
        return stage.path(CONFIG_MAPS, f"{prefix}-owner")

    def gone(answer: Document) -> bool:
        return answer.get("code") == 404

    for policy in ("Background", "Foreground"):
        owner = await family(policy.lower())
        await stage.ask("DELETE", owner, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
        await stage.until(stage.path(CONFIG_MAPS, f"{policy.lower()}-child"), gone)
        await stage.until(owner, gone)
    owner = await family("orphan")
    await stage.ask("DELETE", owner, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"})
    await stage.until(owner, gone)
    child = await stage.ask("GET", stage.path(CONFIG_MAPS, "orphan-child"), quiet=True)
    stage.note("owners of the orphan", child["metadata"].get("ownerReferences"))
    nobody = {"kind": "ConfigMap", "apiVersion": "v1", "name": "x", "uid": "11111111-2222-4333-8444-555555555555"}
    await stage.ask("POST", collection, config_map("stray", ownerReferences=[nobody]))
    await stage.until(stage.path(CONFIG_MAPS, "stray"), gone)


async def sharding(stage: Stage) -> None:
    """The answers differ between a server that filters by shard and one that ignores the parameter."""
    await _define(stage, "websites", "Website", _WEBSITE_SCHEMA, status=True)
    for resource, body in ((CONFIG_MAPS, config_map), (WEBSITES, website)):
        collection = stage.path(resource)
        uids: set[str] = set()
        half = SPACE // 2
        while len(uids) < 4 or len({fnv1a64(uid) < half for uid in uids}) < 2:
            made = await stage.ask("POST", collection, body(f"s-{len(uids)}", labels={"s": ""}), quiet=True)
            uids.add(made["metadata"]["uid"])
        for first, end in ((0, half), (half, SPACE), (0, SPACE), (0, 1)):
            selector = f"shardRange(object.metadata.uid, '0x{first:016x}', '0x{end:016x}')"
            query = {"labelSelector": "s", "shardSelector": selector}
            answer = await stage.ask("GET", collection, query=query, quiet=True)
            found = {item["metadata"]["uid"] for item in answer["items"]}
            right = {uid for uid in uids if first <= fnv1a64(uid) < end}
            stage.note("only that range", found == right)
            stage.note("everything", found == uids)
            stage.note("shardInfo", answer["metadata"].get("shardInfo"))
    for selector in _SHARD_SELECTORS:
        await stage.ask("GET", stage.path(CONFIG_MAPS), query={"shardSelector": selector, "labelSelector": "none"})


_FIRST = "0x0000000000000000"
_HALF = "0x8000000000000000"
_END = "0x10000000000000000"
_UID = "object.metadata.uid"

_SHARD_SELECTORS = (
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') || shardRange({_UID}, '{_HALF}', '{_END}')",
    f"(shardRange({_UID}, '{_FIRST}', '{_HALF}') || (shardRange({_UID},'{_HALF}','{_END}')))",
    f'shardRange(object.metadata.namespace, "{_FIRST}", "{_END}")',
    f"shardRange({_UID}, '0x0', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '0x20000000000000000')",
    f"shardRange({_UID}, '{_FIRST}', '0xA000000000000000')",
    f"shardRange({_UID}, '0000000000000000', '{_END}')",
    f"shardRange({_UID}, '0x', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '0x100000000000000000')",
    f"shardRange({_UID}, '{_HALF}', '{_FIRST}')",
    f"shardRange({_UID}, '{_HALF}', '{_HALF}')",
    f"shardRange({_UID}, '{_FIRST}')",
    f"shardRange({_UID}, 0, 1)",
    f"shardRange('{_UID}', '{_FIRST}', '{_END}')",
    f"shardRange(object.metadata.name, '{_FIRST}', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') || shardRange(object.metadata.namespace, '{_HALF}', '{_END}')",
    f"shardRange({_UID}, '{_FIRST}', '{_HALF}') && shardRange({_UID}, '{_HALF}', '{_END}')",
    f"!shardRange({_UID}, '{_FIRST}', '{_HALF}')",
    "other('a')",
    "object",
    "object.metadata.uid",
    "'text'",
    "true",
    " ",
)

HISTORIES: tuple[History, ...] = (
    config_map_lifecycle,
    custom_resource_lifecycle,
    custom_resource_validation,
    custom_resource_without_status,
    json_patches,
    refused_json_patches,
    finalizers,
    finalizers_of_custom_resources,
    lists,
    pages,
    list_versions,
    watches,
    watch_lists,
    refused_watches,
    leases,
    refused_objects,
    wrong_paths,
    generated_names,
    dry_runs,
    collections_deleted,
    garbage,
)
"""Those that every server answers alike, whatever its gates."""
