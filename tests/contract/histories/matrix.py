"""Every verb on every sort of resource, whether it makes sense or not; and each body in each content type."""

from __future__ import annotations

from tests.contract.histories.objects import (
    CONFIG_MAPS,
    DEFINITIONS,
    WEBSITE_SCHEMA,
    WEBSITES,
    config_map,
    define,
    website,
)
from tests.contract.transcripts import APPLY, JSON, JSON_PATCH, MERGE, PARTIAL, STRATEGIC, TABLE, YAML, Document, Stage

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATCH_TYPES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)


async def verbs_on_paths(stage: Stage) -> None:
    """What is not there, with every method."""
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    bodies = {CONFIG_MAPS: config_map("none"), WEBSITES: website("none")}
    for resource, body in bodies.items():
        for path in (
            stage.path(resource, "none", "status"),
            stage.path(resource, "none", "nonsense"),
            stage.path(resource, "none"),
            stage.cluster_path(resource),
            stage.cluster_path(resource, "none"),
        ):
            for verb in VERBS:
                if (verb, path) == ("PUT", stage.path(resource, "none")):
                    continue  # creates a ConfigMap, not a custom resource: told in the life of each
                if (verb, path) == ("GET", stage.cluster_path(resource)):
                    continue  # the objects of other histories
                content_type = MERGE if verb == "PATCH" else JSON
                await stage.ask(verb, path, None if verb == "GET" else body, content_type=content_type)


async def verbs_on_cluster_scoped_objects(stage: Stage) -> None:
    name = stage.unique("role")
    path = stage.cluster_path("rbac.authorization.k8s.io/v1/clusterroles")
    role: Document = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    made = await stage.ask("POST", path, role | {"rules": rules})
    await stage.ask("POST", path, role)
    await stage.ask("GET", f"{path}/{name}")
    await stage.ask("GET", f"{path}/{name}", accept=PARTIAL)
    await stage.ask("PUT", f"{path}/{name}", role | {"rules": []})
    stale = role | {"metadata": {"name": name, "resourceVersion": made["metadata"]["resourceVersion"]}}
    await stage.ask("PUT", f"{path}/{name}", stale)
    await stage.ask("PATCH", f"{path}/{name}", {"rules": rules}, content_type=MERGE)
    await stage.ask("PATCH", f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}}, content_type=STRATEGIC)
    await stage.ask("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{stage.namespace}/clusterroles", role)
    await stage.ask("GET", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{stage.namespace}/clusterroles/{name}")
    await stage.ask("GET", path, query={"fieldSelector": f"metadata.name={name}"})
    await stage.ask("DELETE", f"{path}/{name}")
    await stage.ask("GET", f"{path}/{name}")
    namespace = stage.cluster_path("v1/namespaces", stage.namespace)
    await stage.ask("GET", namespace)
    await stage.ask("PATCH", namespace, {"metadata": {"labels": {"team": "a"}}}, content_type=MERGE)
    await stage.ask("GET", f"{namespace}/status")
    await stage.ask("GET", f"{DEFINITIONS}/none.example.com")


async def patches_in_turn(stage: Stage) -> None:
    """Each kind of patch on the same object, so that each meets what the others left."""
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one", {"a": "1"}))
    one = stage.path(CONFIG_MAPS, "one")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    for number in range(3):
        value = str(number)
        await stage.ask("PATCH", one, [{"op": "add", "path": "/data/json", "value": value}], content_type=JSON_PATCH)
        await stage.ask("PATCH", one, {"data": {"merge": value, "a": None}}, content_type=MERGE)
        await stage.ask("PATCH", one, {"data": {"strategic": value, "json": None}}, content_type=STRATEGIC)
        for manager, force in (("first", "false"), ("second", "false"), ("second", "true")):
            query = {"fieldManager": manager, "force": force}
            body = applied | {"data": {"apply": value, f"by-{manager}": value}}
            await stage.ask("PATCH", one, body, query=query, content_type=APPLY)
        await stage.ask("PATCH", one, applied, query={"fieldManager": "first"}, content_type=APPLY)
    await stage.ask("GET", one)


async def content_types(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    await stage.ask("POST", stage.path(WEBSITES), website("one"))
    for resource in (CONFIG_MAPS, WEBSITES):
        for content_type in (JSON, YAML, "text/plain", "application/xml", "application/json; charset=utf-8"):
            await stage.ask("PATCH", stage.path(resource, "one"), {"metadata": {}}, content_type=content_type)
        for content_type in ("text/plain", "application/xml", MERGE):
            await stage.ask("POST", stage.path(resource), config_map("x"), content_type=content_type)
    await stage.ask("PATCH", stage.path(WEBSITES, "one"), {"spec": {"replicas": 3}}, content_type=STRATEGIC)
    for accept in ("application/xml", "text/html", "*/*", "application/*", f"application/xml, {JSON}", TABLE, PARTIAL):
        await stage.ask("GET", stage.path(CONFIG_MAPS, "one"), accept=accept)


async def broken_bodies(stage: Stage) -> None:
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("one"))
    for method, path in (("POST", stage.path(CONFIG_MAPS)), ("PUT", stage.path(CONFIG_MAPS, "one"))):
        for body in ("", "{", "[]", "null", "{}", '{"kind":"ConfigMap"}', '{"apiVersion":"v1"}'):
            answer = await stage.ask(method, path, body, quiet=True)
            # The messages are those of the server's own decoders.
            stage.note(f"{method} {body}", {name: answer.get(name) for name in ("code", "reason", "status")})
    for content_type in PATCH_TYPES:
        for body in ("", "{", "3", "null"):
            query = {"fieldManager": "someone"}
            answer = await stage.ask(
                "PATCH", stage.path(CONFIG_MAPS, "one"), body, content_type=content_type, query=query, quiet=True
            )
            stage.note(f"{content_type} {body}", {name: answer.get(name) for name in ("code", "reason", "status")})


HISTORIES = (
    verbs_on_paths,
    verbs_on_cluster_scoped_objects,
    patches_in_turn,
    content_types,
    broken_bodies,
)
