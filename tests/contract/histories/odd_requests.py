"""Requests that no well-behaved client sends: every one gets an answer, and the same one from both servers."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, WEBSITE_SCHEMA, WEBSITES, config_map, define
from tests.contract.transcripts import APPLY, JSON_PATCH, MERGE, STRATEGIC, YAML, Stage

INGRESSES = "networking.k8s.io/v1/ingresses"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
DRY = {"dryRun": "All"}
TOO_DEEP = 10_001


async def odd_paths(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    for path in (
        *("//api", "//api/v1/pods", "/apis//", "/api//v1", "/apis//apps", "/apis/apps//v1"),
        *("/healthz/", "/livez/", "/readyz/", "/version/x", "/metrics/", "/openapi/v2/"),
        *("/api/v1/namespaces/default//configmaps", "/api/v1/namespaces/" + "a" * 3000),
    ):
        await stage.ask("GET", path)
    for resource in (CONFIG_MAPS, WEBSITES):
        for method in ("GET", "DELETE", "PUT"):
            await stage.ask(method, stage.path(resource, "a%25b"))
            await stage.ask(method, stage.path(resource, "a%2Fb"))
    for method in ("HEAD", "OPTIONS", "TRACE", "PROPFIND"):
        for path in ("/version", "/api/v1", "/apis/apps", stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "a")):
            await stage.ask(method, path)
    await stage.ask("DELETE", "/api/v1/namespaces")
    await stage.ask("GET", stage.path(CONFIG_MAPS, "none"), {"a": "body"})


async def odd_numbers(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    texts = ("1e3", "+5", " 5", "5 ", "-1", "1_0", "0x10", "1.0", "00005", "9" * 19, "9" * 20, "9" * 4500, "true", "")
    for text in (*texts, '"', "\\", "ä", "\t", "\u2028"):
        for name in ("limit", "timeoutSeconds"):
            await stage.ask("GET", collection, query={name: text})
        await stage.ask("GET", collection, query={"labelSelector": f"a>{text}"})
    for text in ("1e3", "+1", "-1", "9" * 21, "9" * 4500):
        await stage.ask("GET", collection, query={"resourceVersion": text})
        await stage.ask("GET", stage.path(CONFIG_MAPS, "a"), query={"resourceVersion": text})
    for query in ("limit=1&limit=x", "limit=x&limit=1", "watch=false&watch=true", "pretty=x&pretty=true"):
        await stage.ask("GET", f"{collection}?{query}")


async def odd_options(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    collection = stage.path(CONFIG_MAPS)
    for query in ("dryRun=", "dryRun=x&dryRun=All", 'dryRun="', "dryRun=x&fieldManager=%01&fieldValidation=y"):
        await stage.ask("POST", f"{collection}?{query}", "{")
        await stage.ask("PUT", f"{collection}/a?{query}", "{")
    for query in ("fieldSelector==", "fieldSelector=!%3D", "fieldSelector==a", "fieldSelector==,a=b", "continue=AAAA"):
        await stage.ask("GET", f"{collection}?{query}")
    for query in ("limit=x&timeoutSeconds=y", "resourceVersion=x", "continue=x", "fieldSelector=x"):
        await stage.ask("DELETE", f"{collection}?{query}")
        await stage.ask("DELETE", f"{collection}?{query}", {"kind": "X"})
    await stage.ask("PATCH", stage.path(WEBSITES), "{}")
    await stage.ask("PATCH", stage.path(WEBSITES), "{}", content_type=MERGE)
    for path in (f"{stage.path(WEBSITES)}/a/b/c", f"{stage.cluster_path(WEBSITES)}/a/b/c", "/apis//batch/v1/jobs"):
        for method in ("GET", "POST", "OPTIONS"):
            await stage.ask(method, path)
    for path in ("/apis/apps", "/apis/apps/v1"):
        for accept in (YAML, f"{YAML};q=0.5, application/json"):
            await stage.ask("GET", path, accept=accept)
    for method in ("GET", "POST"):
        await stage.ask(method, "/version", accept="text/html")


async def odd_bodies(stage: Stage) -> None:
    await define(stage, "websites", "Website", WEBSITE_SCHEMA, status=True)
    await stage.ask("POST", stage.path(CONFIG_MAPS), config_map("a"))
    for opening in ("[", '{"a":'):
        deep = opening * TOO_DEEP
        for path in (stage.path(CONFIG_MAPS), stage.path(WEBSITES), REVIEWS, TOKEN_REVIEWS):
            await stage.ask("POST", path, deep)
        await stage.ask("DELETE", stage.path(CONFIG_MAPS, "a"), deep)
        for content_type in (MERGE, JSON_PATCH, STRATEGIC):
            await stage.ask("PATCH", stage.path(CONFIG_MAPS, "a"), deep, content_type=content_type)
    whole = '{"kind":"ConfigMap","apiVersion":"v1","x":' + "[" * TOO_DEEP + "]" * TOO_DEEP + "}"
    await stage.ask("POST", stage.path(CONFIG_MAPS), whole, content_type=YAML)
    await stage.ask("PATCH", stage.path(CONFIG_MAPS, "a"), whole, content_type=APPLY, query={"fieldManager": "a"})


async def odd_reviews(stage: Stage) -> None:
    for path in (REVIEWS, TOKEN_REVIEWS):
        for body in ("", "null", "1", "[]", '"x"', "{", '{"spec":5}', '{"metadata":5}', '{"kind":5}', '{"kind":"X"}'):
            await stage.ask("POST", path, body)
        await stage.ask("POST", path, {"apiVersion": "v2"})
        await stage.ask("POST", path, "{}", content_type="text/plain")
    await stage.ask("POST", REVIEWS, {"spec": {"resourceAttributes": []}})
    await stage.ask("POST", REVIEWS, {"spec": {"resourceAttributes": {"verb": 1}}})
    await stage.ask("POST", REVIEWS, "spec: {resourceAttributes: {verb: get}}", content_type=YAML)
    local = stage.path("authorization.k8s.io/v1/localsubjectaccessreviews")
    for spec in (
        {},
        {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}},
        {"user": "u", "resourceAttributes": {"verb": "get"}},
        {"resourceAttributes": {"verb": "get", "namespace": 'a"'}},
    ):
        await stage.ask("POST", local, {"spec": spec})
    await stage.ask("POST", local, {"metadata": {"namespace": "elsewhere"}})
    for path in (local, REVIEWS, "/apis/authorization.k8s.io/v1/subjectaccessreviews"):
        await stage.ask("POST", path, {"metadata": {"name": "a", "namespace": ""}})


async def nulls_in_lists(stage: Stage) -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "a"}}
    for rules in ([{"host": "a.b", "http": {"paths": [None]}}], [None]):
        await stage.ask("POST", stage.path(INGRESSES), ingress | {"spec": {"rules": rules}}, query=DRY)
    owned = config_map("b") | {"metadata": {"name": "b", "ownerReferences": [None], "finalizers": [None]}}
    await stage.ask("POST", stage.path(CONFIG_MAPS), owned, query=DRY)


async def namespaces_that_stay(stage: Stage) -> None:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        await stage.ask("DELETE", f"/api/v1/namespaces/{name}", query=DRY, quiet=name == "kube-node-lease")
    await stage.ask("DELETE", "/api/v1/namespaces/default", {"propagationPolicy": "x"})
    await stage.ask("DELETE", "/api/v1/namespaces/default", {"gracePeriodSeconds": 0})
    answer = await stage.ask("DELETE", "/api/v1/namespaces/kube-node-lease", query=DRY, quiet=True)
    stage.note("kube-node-lease may go", answer["kind"])


async def finalizers_of_namespaces(stage: Stage) -> None:
    for name, finalizers in (("first", ["kubernetes", "example.com/wait"]), ("second", ["example.com/wait"])):
        body = {"metadata": {"name": stage.unique(name)}, "spec": {"finalizers": finalizers}}
        await stage.ask("POST", "/api/v1/namespaces", body)


HISTORIES = (
    odd_paths,
    odd_numbers,
    odd_options,
    odd_bodies,
    odd_reviews,
    nulls_in_lists,
    namespaces_that_stay,
    finalizers_of_namespaces,
)
